#include "timeline/record/end_writer.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <iterator>
#include <thread>

#include <semaphore.h>
#include <unistd.h>

namespace heddle::detail {

namespace {

constexpr int bad_signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction actions_before[std::size(bad_signals)];
std::terminate_handler next_handler = nullptr;
void (*write_file)() = nullptr;
pid_t writing_process = 0;
sem_t is_wanted;
constinit std::atomic<bool> is_asked{false}, is_done{false};

/// Waits until the writer is done, but not for ever. Async-signal-safe: the thread that comes here
/// may hold any lock.
void write_now() noexcept {
    constexpr timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
    constexpr int most_pauses = 20'000;
    if (getpid() != writing_process) return;  // its parent writes
    if (!is_asked.exchange(true)) (void)sem_post(&is_wanted);
    for (int i = 0; i < most_pauses && !is_done.load(); ++i) (void)nanosleep(&pause, nullptr);
}

/// Writes, and lets the signal do what it would have done. An instruction that faulted does so
/// again when this returns, and the handler of before is told its address; a signal that was sent
/// is sent again.
void on_signal(int signal, siginfo_t* info, void*) {
    const int error = errno;
    write_now();
    for (std::size_t i = 0; i < std::size(bad_signals); ++i)
        if (bad_signals[i] == signal) (void)sigaction(signal, &actions_before[i], nullptr);
    const bool is_fault = signal != SIGABRT && info->si_code > 0;
    if (!is_fault) (void)raise(signal);  // comes when this handler returns
    errno = error;
}

void on_terminate() {
    write_now();
    if (next_handler != nullptr) next_handler();
    std::abort();
}

void run_writer() noexcept {
    while (sem_wait(&is_wanted) != 0) {}
    write_file();
    is_done.store(true);
}

}  // namespace

void write_at_bad_end(void (*function)()) {
    write_file = function;
    writing_process = getpid();
    (void)sem_init(&is_wanted, 0, 0);
    // The writer inherits the mask: signals are for the program's threads.
    sigset_t all, old;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    try {
        std::thread(run_writer).detach();
    } catch (...) {
        (void)pthread_sigmask(SIG_SETMASK, &old, nullptr);
        throw;
    }
    (void)pthread_sigmask(SIG_SETMASK, &old, nullptr);
    next_handler = std::set_terminate(&on_terminate);
    struct sigaction action {};
    action.sa_sigaction = &on_signal;
    action.sa_flags = SA_ONSTACK | SA_SIGINFO;
    (void)sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < std::size(bad_signals); ++i)
        (void)sigaction(bad_signals[i], &action, &actions_before[i]);
}

}  // namespace heddle::detail
