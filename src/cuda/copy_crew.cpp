#include "cuda/copy_crew.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>

namespace heddle::detail::cu {

namespace {

constexpr std::size_t share_bytes = 256 * 1024;  ///< what a thread takes at a time
constexpr unsigned most_helpers = 3;

void copy_rows(Rows to, Rows from, std::size_t bytes, std::size_t rows) noexcept {
    if (rows == 1 || (to.pitch == bytes && from.pitch == bytes)) {
        std::memcpy(to.data, from.data, bytes * rows);
        return;
    }
    for (std::size_t r = 0; r < rows; ++r)
        std::memcpy(to.data + r * to.pitch, from.data + r * from.pitch, bytes);
}

/// One copy, cut into shares: parts of the one row, or groups of rows.
struct Job {
    Rows to{}, from{};
    std::size_t bytes = 0, rows = 0;
    std::size_t share = 0;  ///< bytes of a row, or rows
    std::size_t shares = 0;

    void run(std::size_t i) const noexcept {
        const std::size_t first = i * share;
        if (rows == 1)
            copy_rows({to.data + first, 0}, {from.data + first, 0}, std::min(share, bytes - first), 1);
        else
            copy_rows({to.data + first * to.pitch, to.pitch}, {from.data + first * from.pitch, from.pitch},
                      bytes, std::min(share, rows - first));
    }
};

class Crew {
public:
    void run(const Job& job) noexcept {
        // Somebody else has the helpers: they would not make this copy faster than its own thread does alone.
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
        // A helper first counts itself in and then looks whether the job is open: once it is closed and
        // nobody is counted in, nobody will touch it (both sides are sequentially consistent).
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
        const unsigned processors = std::thread::hardware_concurrency();
        const unsigned wanted = std::min(most_helpers, processors > 1 ? processors - 1 : 0);
        try {
            // They live as long as the process, asleep: nothing of theirs is ever destroyed.
            for (; helpers_ < wanted; ++helpers_) std::thread([this] { help(); }).detach();
        } catch (const std::system_error&) {
            // fewer threads, then
        }
        return helpers_ != 0;
    }

    void help() noexcept {
        std::uint32_t seen = 0;
        for (;;) {
            // The pieces of one copy follow each other closely, and waking up costs as much as copying one.
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

    std::mutex busy_;  ///< held by the thread whose job it is; guards the next three
    bool started_ = false;
    unsigned helpers_ = 0;
    Job job_;
    std::atomic<std::size_t> next_{0};
    std::atomic<bool> open_{false};
    std::atomic<int> inside_{0};
    std::atomic<std::uint32_t> calls_{0};
};

Crew& crew() {
    static auto* all = new Crew;
    return *all;
}

}  // namespace

void copy_on_host(Rows to, Rows from, std::size_t bytes, std::size_t rows) noexcept {
    if (bytes * rows <= share_bytes) return copy_rows(to, from, bytes, rows);
    Job job{to, from, bytes, rows, 0, 0};
    if (rows > 1 && to.pitch == bytes && from.pitch == bytes) {
        job.bytes = bytes * rows;
        job.rows = 1;
    }
    job.share = job.rows == 1 ? share_bytes : std::max<std::size_t>(share_bytes / job.bytes, 1);
    const std::size_t all = job.rows == 1 ? job.bytes : job.rows;
    job.shares = (all + job.share - 1) / job.share;
    crew().run(job);
}

}  // namespace heddle::detail::cu
