#include "core/operation/function_mark.hpp"

#include <mutex>

#include "core/base/fork.hpp"
#include "core/base/ids.hpp"

namespace heddle::detail {

namespace {
constinit std::mutex mutex;
constinit FunctionMark* marks = nullptr;  ///< the marks of all threads; guarded by the mutex
const ForkRegistration marks_registered{ForkOrder::function_marks, mutex};
/// Removes the marks, because the other threads do not exist in the child of a fork.
void forget_marks() noexcept { marks = nullptr; }
const ForkStepRegistration marks_in_children{ForkStep::function_marks, &forget_marks};
}  // namespace

void FunctionMark::begin() noexcept {
    ThreadCall& call = this_call();
    is_timed_ = call.id != 0;
    if (!is_timed_) call.id = next_id();
    id_ = call.id;
    const std::lock_guard lock(mutex);
    next_ = marks;
    if (next_ != nullptr) next_->before_ = this;
    marks = this;
}

void FunctionMark::end() noexcept {
    if (!is_timed_) this_call().id = 0;
    const std::lock_guard lock(mutex);
    if (next_ != nullptr) next_->before_ = before_;
    if (before_ != nullptr) before_->next_ = next_;
    else if (marks == this) marks = next_;
}

bool is_being_enqueued(std::uint64_t id) noexcept {
    const std::lock_guard lock(mutex);
    for (const FunctionMark* mark = marks; mark != nullptr; mark = mark->next_)
        if (mark->id_ == id) return true;
    return false;
}

}  // namespace heddle::detail
