#include "virtual_time.hpp"

#include "core/base/clock.hpp"

#include <algorithm>
#include <atomic>
#include <climits>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace heddle_test::virtual_time {

namespace {

using std::chrono::nanoseconds;

constexpr std::int64_t step_ns = nanoseconds(step).count();

int this_thread() { return static_cast<int>(syscall(SYS_gettid)); }

/// Returns the ids of this process's threads.
std::vector<int> all_threads() {
    std::vector<int> all;
    DIR* const tasks = opendir("/proc/self/task");
    if (tasks == nullptr) return all;
    while (const dirent* const task = readdir(tasks))
        if (const int thread = std::atoi(task->d_name); thread != 0) all.push_back(thread);
    closedir(tasks);
    return all;
}

/// Returns the contents of a thread's file in /proc. Returns "" if the thread does not exist.
std::string read_file(int thread, const char* file) {
    char path[64], text[4096];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/%s", thread, file);
    const int opened = open(path, O_RDONLY | O_CLOEXEC);
    if (opened < 0) return {};
    const ssize_t size = read(opened, text, sizeof text);
    close(opened);
    return {text, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

/// Returns the system call in which the thread sleeps, in the format of proc(5): its number is
/// first. Returns "running" if the thread runs, could run, or is about to sleep.
std::string call_of(int thread) { return read_file(thread, "syscall"); }

/// Returns how often the thread has left its core. Returns nullopt if it does not sleep. A thread
/// that was woken counts as running at once, while "syscall" may still show its last call.
std::optional<std::string> switches_of_sleeper(int thread) {
    const std::string status = read_file(thread, "status");
    if (status.find("\nState:\tS") == std::string::npos) return std::nullopt;
    return status.substr(std::min(status.find("voluntary_ctxt_switches:"), status.size()));
}

bool is_wait_for_a_thread(const std::string& call) { return std::atol(call.c_str()) == SYS_futex; }

class Clock final : public heddle::detail::DecisionClock {
public:
    /// First starts a thread, because a sanitizer may then start a thread of its own, which must be
    /// ignored.
    void begin() {
        std::thread([] {}).join();
        const std::lock_guard lock(mutex_);
        ignored_ = all_threads();
        std::erase(ignored_, this_thread());
    }

    std::int64_t now_ns() noexcept override { return now_.load(); }
    std::int64_t spin_ns(std::int64_t) noexcept override { return 0; }
    void wait(std::atomic<std::uint32_t>& word, std::uint32_t seen,
              std::int64_t ns) noexcept override {
        if (ns <= 0) return;
        Sleeper self{&word};
        {
            const std::lock_guard lock(mutex_);
            const std::int64_t until = now_.load() - began_ns_ + ns;
            self.until_ns = began_ns_ + (until + step_ns - 1) / step_ns * step_ns;
            sleepers_.push_back(&self);
            if (!has_thread_) start_thread();
        }
        has_sleepers_.notify_one();
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
        const std::lock_guard lock(mutex_);
        std::erase(sleepers_, &self);
    }

    nanoseconds passed() const noexcept { return nanoseconds(now_.load() - began_ns_); }
    void jump(nanoseconds duration) noexcept { now_.fetch_add(duration.count()); }

    void before_fork() { mutex_.lock(); }
    void after_fork() { mutex_.unlock(); }
    void in_child() {
        sleepers_.clear();
        ignored_.clear();
        has_thread_ = false;
        // In a forked child, the parent's clock thread may still be registered as waiting.
        new (&has_sleepers_) std::condition_variable;
        mutex_.unlock();
    }

private:
    struct Sleeper {
        std::atomic<std::uint32_t>* word;
        std::int64_t until_ns = 0;
    };

    /// Call with the mutex held.
    void start_thread() {
        sigset_t all, old;
        sigfillset(&all);  // so that only the program's own threads handle signals
        (void)pthread_sigmask(SIG_SETMASK, &all, &old);
        std::thread([this] { run(); }).detach();
        (void)pthread_sigmask(SIG_SETMASK, &old, nullptr);
        has_thread_ = true;
    }

    [[noreturn]] void run() {
        constexpr std::chrono::microseconds first_pause{20}, longest_pause{2000};
        constexpr std::chrono::seconds patience{30};
        auto last_step = std::chrono::steady_clock::now();
        for (auto pause = first_pause;;) {
            {
                std::unique_lock lock(mutex_);
                has_sleepers_.wait(lock, [&] { return !sleepers_.empty(); });
            }
            if (are_all_at_rest()) {
                advance();
                pause = first_pause;
                last_step = std::chrono::steady_clock::now();
                continue;
            }
            std::this_thread::sleep_for(pause);
            pause = std::min(2 * pause, longest_pause);
            if (std::chrono::steady_clock::now() - last_step < patience) continue;
            say_why();
            last_step = std::chrono::steady_clock::now();
        }
    }

    /// Returns whether there was a moment at which every thread slept, and only another thread
    /// could wake it.
    bool are_all_at_rest() const {
        // A thread that sleeps at both looks, and has not left its core in between, slept all the
        // time. If this is true of all threads, they all slept at the same moment.
        const std::optional<std::string> before = look();
        return before && before == look();
    }
    /// Returns a text that changes when a thread runs. Returns nullopt if a thread does not sleep.
    std::optional<std::string> look() const {
        std::string all;
        for (const int thread : all_threads()) {
            if (is_own_or_ignored(thread)) continue;
            const std::string call = call_of(thread);
            if (!is_wait_for_a_thread(call)) return std::nullopt;
            const std::optional<std::string> switches = switches_of_sleeper(thread);
            if (!switches) return std::nullopt;
            all += std::to_string(thread) + " " + call + *switches;
        }
        return all;
    }
    bool is_own_or_ignored(int thread) const {
        return thread == this_thread() || std::ranges::find(ignored_, thread) != ignored_.end();
    }

    /// Advances time to the earliest end of a wait, and wakes the threads whose waits end then.
    /// Also wakes threads whose waits ended before, because they may have begun to wait only now.
    void advance() {
        const std::lock_guard lock(mutex_);
        std::int64_t first = INT64_MAX;
        for (const Sleeper* const one : sleepers_) first = std::min(first, one->until_ns);
        if (sleepers_.empty()) return;
        if (first > now_.load()) now_.store(first);
        for (const Sleeper* const one : sleepers_)
            if (one->until_ns <= now_.load())
                syscall(SYS_futex, one->word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
    }

    void say_why() const {
        std::fprintf(stderr, "virtual time has stood still for long:\n");
        for (const int thread : all_threads()) {
            const std::string call = call_of(thread);
            if (is_own_or_ignored(thread) || is_wait_for_a_thread(call)) continue;
            std::fprintf(stderr, "  %s  in the system call %s", read_file(thread, "comm").c_str(),
                         call.c_str());
        }
    }

    const std::int64_t began_ns_ = heddle::detail::now_ns();
    std::atomic<std::int64_t> now_{began_ns_};
    std::mutex mutex_;  ///< guards the members below
    std::condition_variable has_sleepers_;
    std::vector<Sleeper*> sleepers_;
    std::vector<int> ignored_;  ///< threads that existed before; set before the clock thread starts
    bool has_thread_ = false;
};

Clock* set_clock = nullptr;  ///< never destroyed

}  // namespace

std::string reason_not() {
    const std::string here = call_of(this_thread());
    return here.empty() ? "virtual time needs /proc/self/task/*/syscall" : "";
}

void begin() {
    if (set_clock != nullptr) return set_clock->begin();
    set_clock = new Clock;
    set_clock->begin();
    pthread_atfork([] { set_clock->before_fork(); }, [] { set_clock->after_fork(); },
                   [] { set_clock->in_child(); });
    heddle::detail::DecisionClock::set(set_clock);
}

milliseconds now() { return std::chrono::floor<milliseconds>(set_clock->passed()); }

void sleep(milliseconds duration) {
    std::atomic<std::uint32_t> unchanged{0};
    for (const milliseconds end = now() + duration; now() < end;)
        set_clock->wait(unchanged, 0, nanoseconds(end - now()).count());
}

void jump(milliseconds duration) { set_clock->jump(duration); }

}  // namespace heddle_test::virtual_time
