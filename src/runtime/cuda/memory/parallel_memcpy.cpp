#include "cuda/memory/parallel_memcpy.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/base/made_once.hpp"

namespace heddle::detail::cu {

namespace {

constexpr std::size_t alone_bytes = 256 * 1024;  ///< copies up to this size use no helpers
constexpr std::size_t share_bytes = 128 * 1024;  ///< a thread copies this much at a time
constexpr unsigned most_helpers = 7;

#if defined(__SSE2__)
/// memcpy() with stores that bypass the caches. A cached store first reads the line that it
/// replaces, and evicts other lines.
void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    constexpr std::size_t line = 64, ahead = 1024;
    const std::size_t head =
        std::min(bytes, (line - reinterpret_cast<std::uintptr_t>(to) % line) % line);
    std::memcpy(to, from, head);
    std::size_t at = head;
    for (; at + line <= bytes; at += line) {
        _mm_prefetch(reinterpret_cast<const char*>(from + at + ahead),
                     _MM_HINT_T0);  // never faults
        const auto* const source = reinterpret_cast<const __m128i*>(from + at);
        auto* const target = reinterpret_cast<__m128i*>(to + at);
        const __m128i x[] = {_mm_loadu_si128(source), _mm_loadu_si128(source + 1),
                             _mm_loadu_si128(source + 2), _mm_loadu_si128(source + 3)};
        for (int i = 0; i < 4; ++i) _mm_stream_si128(target + i, x[i]);
    }
    std::memcpy(to + at, from + at, bytes - at);
    _mm_sfence();  // no other instruction orders these stores
}
#endif

void copy_row(std::byte* to, const std::byte* from, std::size_t bytes,
              [[maybe_unused]] Stores stores) noexcept {
#if defined(__SSE2__)
    if (stores == Stores::past_caches) return copy_past_caches(to, from, bytes);
#endif
    std::memcpy(to, from, bytes);
}

void copy_rows(const MemoryRange& to, const MemoryRange& from, Stores stores) noexcept {
    auto* const target = const_cast<std::byte*>(static_cast<const std::byte*>(to.data));
    const auto* const source = static_cast<const std::byte*>(from.data);
    if (!to.is_strided() && !from.is_strided()) return copy_row(target, source, to.total(), stores);
    for (std::size_t r = 0; r < to.rows; ++r)
        copy_row(target + r * to.pitch, source + r * from.pitch, to.bytes, stores);
}

/// One copy, divided into shares: parts of a single row, or groups of rows.
struct Job {
    MemoryRange to{}, from{};
    std::size_t share = 0;  ///< size of a share: in bytes if there is one row, else in rows
    std::size_t shares = 0;
    Stores stores = Stores::cached;

    void run(std::size_t i) const noexcept {
        const std::size_t first = i * share;
        const std::size_t count = std::min(share, (to.rows == 1 ? to.bytes : to.rows) - first);
        copy_rows(to.part(first, count), from.part(first, count), stores);
    }
};

class Crew {
public:
    void run(const Job& job) noexcept {
        // If another copy uses the helpers, this thread copies alone, because sharing the helpers
        // would not be faster.
        std::unique_lock mine(busy_, std::try_to_lock);
        if (!mine || !have_helpers()) {
            for (std::size_t i = 0; i < job.shares; ++i) job.run(i);
            return;
        }
        job_ = job;
        next_.store(0, std::memory_order_relaxed);
        open_.store(true);
        calls_.fetch_add(1);
        calls_.notify_all();
        take_shares();
        // A helper increments inside_ before it reads open_. So once open_ is false and inside_ is
        // 0, no helper uses the job any more. (All these accesses are sequentially consistent.)
        open_.store(false);
        while (inside_.load() != 0) pause();
    }

private:
    static void pause() noexcept {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#else
        std::this_thread::yield();
#endif
    }

    bool have_helpers() noexcept {
        if (started_) return helpers_ != 0;
        started_ = true;
        const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
        // Up to half of the processors copy, and the rest serve the program. With eight or fewer
        // processors, up to four copy.
        const unsigned wanted = std::min(
            most_helpers, processors > 8 ? processors / 2 - 1 : std::min(3u, processors - 1));
        try {
            // Helpers exist as long as the process, so none of their state is destroyed.
            for (; helpers_ < wanted; ++helpers_) std::thread([this] { help(); }).detach();
        } catch (const std::system_error&) {
            // continues with fewer threads
        }
        return helpers_ != 0;
    }

    void help() noexcept {
        std::uint32_t seen = 0;
        for (;;) {
            // Polls for a while before sleeping: the pieces of a copy follow each other closely,
            // and a wake-up costs as much as copying a piece.
            using Clock = std::chrono::steady_clock;
            const auto until = Clock::now() + std::chrono::microseconds(100);
            while (calls_.load() == seen && Clock::now() < until)
                for (int i = 0; i < 32; ++i) pause();
            calls_.wait(seen);
            seen = calls_.load();
            inside_.fetch_add(1);
            if (open_.load()) take_shares();
            inside_.fetch_sub(1);
        }
    }

    void take_shares() noexcept {
        for (;;) {
            const std::size_t i = next_.fetch_add(1, std::memory_order_relaxed);
            if (i >= job_.shares) return;
            job_.run(i);
        }
    }

    std::mutex busy_;  ///< held by the thread whose job runs; guards the next three
    bool started_ = false;
    unsigned helpers_ = 0;
    Job job_;
    std::atomic<std::size_t> next_{0};
    std::atomic<bool> open_{false};
    std::atomic<int> inside_{0};
    std::atomic<std::uint32_t> calls_{0};
};

constinit NeverDestroyed<Crew> instance;
Crew& crew() noexcept { return instance.get(); }

}  // namespace

void copy_on_host(const MemoryRange& to, const MemoryRange& from, Stores stores) noexcept {
    if (to.total() <= alone_bytes) return copy_rows(to, from, stores);
    Job job{to, from, 0, 0, stores};
    if (!to.is_strided() && !from.is_strided()) {
        job.to = {to.data, to.total(), 1, to.total()};
        job.from = {from.data, from.total(), 1, from.total()};
    }
    const std::size_t bytes = job.to.bytes, rows = job.to.rows;
    job.share = rows == 1 ? share_bytes : std::max<std::size_t>(share_bytes / bytes, 1);
    const std::size_t all = rows == 1 ? bytes : rows;
    job.shares = (all + job.share - 1) / job.share;
    crew().run(job);
}

}  // namespace heddle::detail::cu
