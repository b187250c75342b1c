// A queue as CPU programs write it without a library.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

/// The simplest queue: a vector, guarded by a mutex. A thread removes all functions at once, and
/// runs them.
class PlainQueue {
public:
    PlainQueue() : thread_([this] { run(); }) {}
    PlainQueue(const PlainQueue&) = delete;
    PlainQueue& operator=(const PlainQueue&) = delete;
    ~PlainQueue() {
        push(nullptr);
        thread_.join();
    }

    static constexpr const char* name = "a thread with a queue (mutex, condition variable)";

    /// Adds work. A null function makes the thread end.
    void push(std::function<void()> work) {
        bool wake;
        {
            const std::lock_guard lock(mutex_);
            wake = pending_.empty();
            pending_.push_back(std::move(work));
            ++pushed_;
        }
        if (wake) ready_.notify_one();
    }

    void synchronize() {
        std::unique_lock lock(mutex_);
        idle_.wait(lock, [this] { return done_ == pushed_; });
    }

private:
    void run() {
        std::vector<std::function<void()>> batch;
        std::unique_lock lock(mutex_);
        for (;;) {
            ready_.wait(lock, [this] { return !pending_.empty(); });
            std::swap(batch, pending_);
            lock.unlock();
            for (const std::function<void()>& work : batch) {
                if (!work) return;
                work();
            }
            lock.lock();
            done_ += batch.size();
            batch.clear();
            if (done_ == pushed_) idle_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable ready_, idle_;
    std::vector<std::function<void()>> pending_;
    std::size_t pushed_ = 0, done_ = 0;
    std::thread thread_;
};

}  // namespace bench
