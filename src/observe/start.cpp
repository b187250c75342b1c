// Passes the observers to the runtime. A program refers to nothing in this file: the linker keeps
// it because of an option of heddle::observe, which names `heddle_observers`.
#include "start.hpp"

#include "core/operation/start.hpp"

extern "C" {
extern const heddle::detail::EnvironmentObservers heddle_observers;
constinit const heddle::detail::EnvironmentObservers heddle_observers{
    .start_timeline = &heddle::detail::start_timeline,
    .start_check = &heddle::detail::start_check,
    .start_watch = &heddle::detail::start_watch};
}

namespace {

// Before all constructors without a priority: one of them may make the first stream.
[[gnu::constructor(101)]] void pass_observers() {
    heddle::detail::environment_observers = &heddle_observers;
}

}  // namespace
