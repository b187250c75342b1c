#include "interrupt.hpp"

#include <csignal>
#include <initializer_list>

namespace heddle::tool {
namespace {

std::atomic<int> caught{0};
static_assert(std::atomic<int>::is_always_lock_free, "set by a signal handler");

void on_signal(int number) { caught.store(number, std::memory_order_relaxed); }

}  // namespace

const std::atomic<int>& catch_interrupts() {
    for (const int number : {SIGINT, SIGTERM}) {
        struct sigaction action {};
        if (sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
        action = {};
        action.sa_handler = &on_signal;
        action.sa_flags = static_cast<int>(SA_RESETHAND);
        sigaction(number, &action, nullptr);
    }
    return caught;
}

}  // namespace heddle::tool
