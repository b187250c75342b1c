#include "backend/call_log.hpp"

#include <algorithm>

namespace heddle_test {

namespace {

/// The low byte of an entry is the call + 1, and the other bytes are the stream's id.
std::uint64_t entry_of(SeamCall call, std::uint64_t stream_id) noexcept {
    return stream_id << 8 | (static_cast<std::uint64_t>(call) + 1);
}

}  // namespace

void CallLog::add(SeamCall call, std::uint64_t stream_id) noexcept {
    counts_[static_cast<std::size_t>(call)].fetch_add(1, std::memory_order_relaxed);
    const std::size_t at = added_.fetch_add(1, std::memory_order_relaxed) % capacity;
    entries_[at].store(entry_of(call, stream_id), std::memory_order_relaxed);
}

std::uint64_t CallLog::count(SeamCall call) const noexcept {
    return counts_[static_cast<std::size_t>(call)].load(std::memory_order_relaxed);
}

std::vector<SeamCall> CallLog::newest(std::uint64_t stream_id) const {
    std::vector<SeamCall> calls;
    const std::size_t added = added_.load(std::memory_order_relaxed);
    for (std::size_t i = added - std::min(added, capacity); i < added; ++i) {
        const std::uint64_t entry = entries_[i % capacity].load(std::memory_order_relaxed);
        if (entry != 0 && entry >> 8 == stream_id)
            calls.push_back(static_cast<SeamCall>((entry & 0xff) - 1));
    }
    return calls;
}

}  // namespace heddle_test
