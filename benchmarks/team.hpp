// Threads that each run a share of the work.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

/// A team of threads. run() calls a function for each share, and runs the first share on the
/// calling thread. If calls throw, run() throws one of the exceptions.
class Team {
public:
    /// Starts the threads. 0 means one thread for each processor.
    explicit Team(unsigned threads = 0)
        : size_(threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency())),
          begin_(size_), end_(size_) {
        for (std::ptrdiff_t i = 1; i < size_; ++i)
            threads_.emplace_back([this, i] {
                for (;;) {
                    begin_.arrive_and_wait();
                    if (!work_) return;
                    share(i);
                    end_.arrive_and_wait();
                }
            });
    }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    ~Team() {
        work_ = nullptr;
        begin_.arrive_and_wait();
        for (std::thread& thread : threads_) thread.join();
    }
    void run(const std::function<void(std::ptrdiff_t index, std::ptrdiff_t of)>& work) {
        work_ = work;
        begin_.arrive_and_wait();
        share(0);
        end_.arrive_and_wait();
        if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    }

private:
    void share(std::ptrdiff_t index) {
        try {
            work_(index, size_);
        } catch (...) {
            const std::lock_guard lock(mutex_);
            error_ = std::current_exception();
        }
    }

    const std::ptrdiff_t size_;
    std::function<void(std::ptrdiff_t, std::ptrdiff_t)> work_;
    std::barrier<> begin_, end_;
    std::mutex mutex_;
    std::exception_ptr error_;
    std::vector<std::thread> threads_;
};

}  // namespace bench
