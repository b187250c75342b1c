#include "core/base/background.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <list>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

namespace heddle::detail {

namespace {

class Background {
public:
    const pid_t process = getpid();

    void run(std::function<void()> job) {
        const std::lock_guard lock(mutex_);
        if (ended_) return;
        jobs_.push_back(std::move(job));
        const unsigned most = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
        if (jobs_.size() > idle_ && workers_.size() < most)
            workers_.emplace_back([this] { work(); });
        changed_.notify_one();
    }

    void poll(std::function<bool()> look) {
        const std::lock_guard lock(mutex_);
        if (ended_) return;
        polls_.push_back(std::move(look));
        if (!poller_.joinable()) poller_ = std::thread([this] { look_around(); });
        polls_changed_.notify_one();
    }

    void end() noexcept {
        std::vector<std::thread> threads;
        std::deque<std::function<void()>> jobs;
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
            threads.swap(workers_);
            jobs.swap(jobs_);
            if (poller_.joinable()) threads.push_back(std::move(poller_));
        }
        changed_.notify_all();
        polls_changed_.notify_all();
        jobs.clear();  // destroying a job notifies its waiters
        for (std::thread& thread : threads) {
            if (thread.get_id() == std::this_thread::get_id())
                thread.detach();  // a job called exit()
            else thread.join();
        }
    }

private:
    void work() {
        std::unique_lock lock(mutex_);
        while (!ended_) {
            if (jobs_.empty()) {
                ++idle_;
                changed_.wait(lock);
                --idle_;
                continue;
            }
            std::function<void()> job = std::move(jobs_.front());
            jobs_.pop_front();
            lock.unlock();
            job();
            job = nullptr;
            lock.lock();
        }
    }

    /// Polls after 50 us at first, and backs off to 1 ms. So the end of short work is detected
    /// early, and long work costs few polls.
    void look_around() {
        using namespace std::chrono_literals;
        std::chrono::microseconds pause = 50us;
        std::unique_lock lock(mutex_);
        while (!ended_) {
            if (polls_.empty()) {
                polls_changed_.wait(lock);
                pause = 50us;
                continue;
            }
            std::list<std::function<bool()>> looking;
            looking.swap(polls_);
            lock.unlock();
            const std::size_t before = looking.size();
            looking.remove_if([](const auto& look) { return look(); });
            pause = looking.size() < before
                        ? 50us
                        : std::min<std::chrono::microseconds>(pause * 5 / 4, 1ms);
            lock.lock();
            if (!polls_.empty()) pause = 50us;
            polls_.splice(polls_.begin(), looking);
            if (!polls_.empty() && !ended_) polls_changed_.wait_for(lock, pause);
        }
        std::list<std::function<bool()>> dropped;
        dropped.swap(polls_);
        lock.unlock();
    }

    std::mutex mutex_;
    std::condition_variable changed_, polls_changed_;
    std::deque<std::function<void()>> jobs_;
    std::list<std::function<bool()>> polls_;
    std::vector<std::thread> workers_;
    std::thread poller_;
    std::size_t idle_ = 0;
    bool ended_ = false;
};

std::atomic<Background*> current{nullptr};
std::atomic<void (*)() noexcept> other_end{nullptr};

void end_background() noexcept {
    if (auto* const end = other_end.load(std::memory_order_acquire)) end();
    Background* b = current.load(std::memory_order_acquire);
    if (b != nullptr && b->process == getpid()) b->end();
}

/// Ends the background threads when the main thread calls exit(). Libraries that jobs use may
/// register atexit() handlers at any time, and those handlers would run before heddle's. exit()
/// destroys the calling thread's thread_local objects before it runs any handler, so this
/// destructor ends the threads in time.
struct EndOfMainThread {
    bool touched = false;
    ~EndOfMainThread() {
        if (gettid() == getpid()) end_background();
    }
};
thread_local EndOfMainThread end_of_main_thread;
[[maybe_unused]] const bool initialised = end_of_main_thread.touched = true;

/// Returns this process's instance, which is never destroyed. The child of a fork has none of its
/// parent's threads, so it makes its own instance.
Background& background() {
    Background* seen = current.load(std::memory_order_acquire);
    if (seen != nullptr && seen->process == getpid()) return *seen;
    // Constructs `end_of_main_thread` in this thread. The main thread of a forked child is the
    // thread that called fork().
    end_of_main_thread.touched = true;
    auto* fresh = new Background;
    if (current.compare_exchange_strong(seen, fresh, std::memory_order_acq_rel)) {
        end_background_at_exit();
        return *fresh;
    }
    delete fresh;
    return *seen;
}

}  // namespace

void in_background(std::function<void()> job) { background().run(std::move(job)); }
void poll_in_background(std::function<bool()> poll) { background().poll(std::move(poll)); }

void end_with_background(void (*end)() noexcept) {
    other_end.store(end, std::memory_order_release);
    (void)background();
}

void end_background_at_exit() noexcept {
    std::atexit([] { end_background(); });
}

}  // namespace heddle::detail
