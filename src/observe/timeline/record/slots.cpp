#include "timeline/record/slots.hpp"

#include <new>

namespace heddle::detail {

bool SlotList::add_chunk() noexcept {
    const std::lock_guard lock(mutex_);
    if (last_ != nullptr) limit_.held.fetch_add(last_->entries, std::memory_order_relaxed);
    const std::size_t oldest = chunks_.empty() ? 0 : chunks_[first_]->entries;
    const bool is_full = limit_.held.load(std::memory_order_relaxed) >= limit_.most + oldest;
    if (!is_full || chunks_.size() < 2) {
        try {
            auto chunk = std::make_unique_for_overwrite<Chunk>();
            // The chunks are a ring that may begin at any index. So the new chunk is inserted
            // behind the newest one.
            chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(first_), std::move(chunk));
            last_ = chunks_[first_].get();
            first_ = (first_ + 1) % chunks_.size();
        } catch (const std::bad_alloc&) {
            if (chunks_.empty()) return false;
            last_ = nullptr;
        }
    } else {
        last_ = nullptr;
    }
    if (last_ == nullptr) {  // reuses the oldest chunk as the newest one
        last_ = chunks_[first_].get();
        first_ = (first_ + 1) % chunks_.size();
        limit_.held.fetch_sub(last_->entries, std::memory_order_relaxed);
    }
    last_->entries = 0;
    last_->used.store(0, std::memory_order_release);
    last_used_ = 0;
    return true;
}

}  // namespace heddle::detail
