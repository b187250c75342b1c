#include "core/base/host_function_mark.hpp"
#include "core/base/errors.hpp"

#include <utility>

#include <heddle/stream/detail/thread_state.hpp>

namespace heddle::detail {

void check_may_wait(const char* call, const SourceLocation& where) {
    if (!thread_states.in_host_function) [[likely]]
        return;
    usage_error({call, where},
                "a host function or CPU kernel must not wait: enqueue the later work on the "
                "function's stream, or on a stream that waits for that stream");
}

InHostFunction::InHostFunction() noexcept
    : before_(std::exchange(thread_states.in_host_function, true)) {}
InHostFunction::~InHostFunction() {
    // The next host function must not see a current device or stream that this host function set.
    if (!before_ && thread_states.of[1].touched) {
        ThreadState& state = thread_states.of[1];
        ScopeOwner* const owner = state.owner;
        const std::uint64_t serial = state.last_serial;
        state = ThreadState{};
        state.owner = owner;
        state.last_serial = serial;  // a scope's number is never used again
    }
    thread_states.in_host_function = before_;
}

}  // namespace heddle::detail
