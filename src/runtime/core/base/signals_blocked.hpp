// Threads of heddle leave signals to the program's threads.
#pragma once

#include <csignal>

namespace heddle::detail {

/// Blocks all signals on this thread while it exists. A thread that is started meanwhile inherits
/// the mask for its whole life, so the program's signal handlers never run on it.
class SignalsBlocked {
public:
    SignalsBlocked() noexcept {
        sigset_t all;
        sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
    sigset_t before_{};
};

}  // namespace heddle::detail
