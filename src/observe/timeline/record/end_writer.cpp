#include "timeline/record/end_writer.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <new>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.hpp"
#include "core/base/report.hpp"
#include "core/base/signals_blocked.hpp"
#include "core/base/thread_sanitizer.hpp"
#include "timeline/record/read_lock.hpp"

namespace heddle::detail {

namespace {

constexpr int end_signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGINT, SIGTERM};
/// Returns whether the signal is a request to end, for example by Ctrl-C. A program may ignore or
/// handle such a request.
constexpr bool is_request(int signal) noexcept { return signal == SIGINT || signal == SIGTERM; }
struct sigaction actions_before[std::size(end_signals)];
std::terminate_handler next_handler = nullptr;
void (*write_file)() = nullptr;
pid_t recorded_process = 0;
sem_t is_wanted;
constinit std::atomic<bool> is_asked{false}, is_done{false};
/// The time until which the process waits for the writer. 0 while the process is not ending.
constinit std::atomic<std::int64_t> deadline_ns{0};

/// A message that the copy writes into memory shared with the process.
struct Words {
    std::size_t size;
    char text[4096 - sizeof(std::size_t)];
};
Words* words = nullptr;  ///< null if no memory was available for the message

void print(std::string_view text) noexcept {
    while (!text.empty()) {
        const auto written = ::write(STDERR_FILENO, text.data(), text.size());
        if (written <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

/// Waits until the writer is done, for a limited time. The calling thread may hold any lock, so
/// this function must be async-signal-safe.
void write_now() noexcept {
    constexpr std::int64_t patience = 2'000'000'000, pause = 1'000'000;
    // Only the recorded process writes, not a forked child.
    if (getpid() != recorded_process) return;
    // std::terminate() calls this function twice: the second time through abort().
    std::int64_t none = 0;
    (void)deadline_ns.compare_exchange_strong(none, decision_ns() + patience);
    if (!is_asked.exchange(true)) (void)sem_post(&is_wanted);
    while (!is_done.load()) {
        if (decision_ns() >= deadline_ns.load()) {
            if (!is_done.exchange(true))
                print("heddle: HEDDLE_TIMELINE: a separate process continues to write the file\n");
            return;
        }
        decision_pause(pause);
    }
}

/// Writes the file, and then restores the previous handler of the signal. If an instruction caused
/// the signal, the instruction runs again after the return, and the previous handler receives its
/// address. If the signal was sent, raises it again.
void on_signal(int signal, siginfo_t* info, void*) {
    const int error = errno;
    write_now();
    for (std::size_t i = 0; i < std::size(end_signals); ++i)
        if (end_signals[i] == signal) (void)sigaction(signal, &actions_before[i], nullptr);
    const bool is_fault = signal != SIGABRT && !is_request(signal) && info->si_code > 0;
    if (!is_fault) (void)raise(signal);  // will be delivered when this handler returns
    errno = error;
}

void on_terminate() {
    write_now();
    if (next_handler != nullptr) next_handler();
    std::abort();
}

// The copy ------------------------------------------------------------------------------------

/// Closes all files. Otherwise, a program that reads this process's output would wait for the copy,
/// too.
void close_files() noexcept {
    // The number of close_range() on all machines. The call exists since Linux 5.9.
    constexpr long close_range = 436;
    if (syscall(close_range, 0U, ~0U, 0U) != 0) {
        rlimit limit{};
        (void)getrlimit(RLIMIT_NOFILE, &limit);
        const auto most = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1 << 16));
        for (int i = 0; i < most; ++i) (void)close(i);
    }
    for (int i = 0; i <= STDERR_FILENO; ++i) (void)open("/dev/null", O_RDWR);
}

void keep(std::string_view text) noexcept {
    if (words == nullptr) return;
    words->size = std::min(text.size(), sizeof words->text);
    std::memcpy(words->text, text.data(), words->size);
}

[[noreturn]] void be_copy() noexcept {
    constexpr unsigned longest_s = 20;
    is_end_copy.store(true);
    constexpr rlimit no_core{0, 0};
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    for (const int signal : end_signals) (void)::signal(signal, SIG_DFL);
    (void)::signal(SIGALRM, SIG_DFL);
    sigset_t ends;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGALRM);
    (void)pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);
    (void)alarm(longest_s);
    close_files();
    int status = 0;
    try {
        write_file();
    } catch (const std::exception& error) {
        keep(error.what());
        status = 1;
    } catch (...) {
        status = 1;
    }
    _exit(status);
}

/// Makes a copy of the process and waits for it. Returns false if the copy did not end by
/// be_copy(). Allocates nothing.
bool write_in_copy() noexcept {
    constexpr std::int64_t pause = 1'000'000;
    // Makes the copy without fork(), which calls handlers of the program and waits for malloc()'s
    // locks.
    const auto copy = static_cast<pid_t>(syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L));
    if (copy == 0) be_copy();
    if (copy < 0) {
        print("heddle: HEDDLE_TIMELINE: the process that writes the file cannot be started\n");
        return true;
    }
    int status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(copy, &status, __WALL | WNOHANG)) == 0 || (ended < 0 && errno == EINTR))
        decision_pause(pause);
    return ended < 0 || (WIFEXITED(status) && WEXITSTATUS(status) <= 1);
}

void run_writer() noexcept {
    // Makes malloc() assign this thread an arena of its own. No other thread locks that arena.
    void* volatile own = std::malloc(1);
    std::free(own);
    while (sem_wait(&is_wanted) != 0) {}
    if constexpr (tsan::is_compiled_in) {
        try {
            write_file();
        } catch (...) {
            report(std::current_exception());
        }
    } else {
        // Tries twice. The first copy may have failed because another thread was just changing
        // data. By the second try, that thread has finished the change.
        if (!write_in_copy() && !write_in_copy())
            print("heddle: HEDDLE_TIMELINE: the process that writes the file has failed\n");
        if (words != nullptr && words->size != 0) {
            print({words->text, words->size});
            print("\n");
        }
    }
    is_done.store(true);
}

}  // namespace

void write_at_bad_end(void (*function)()) {
    write_file = function;
    recorded_process = getpid();
    (void)sem_init(&is_wanted, 0, 0);
    void* const shared =
        mmap(nullptr, sizeof(Words), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared != MAP_FAILED) words = ::new (shared) Words{};
    {
        const SignalsBlocked blocked;
        std::thread(run_writer).detach();
    }
    next_handler = std::set_terminate(&on_terminate);
    struct sigaction action {};
    action.sa_sigaction = &on_signal;
    action.sa_flags = SA_ONSTACK | SA_SIGINFO;
    (void)sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < std::size(end_signals); ++i) {
        (void)sigaction(end_signals[i], nullptr, &actions_before[i]);
        const bool is_default = actions_before[i].sa_handler == SIG_DFL;
        if (is_default || !is_request(end_signals[i]))
            (void)sigaction(end_signals[i], &action, nullptr);
    }
}

}  // namespace heddle::detail
