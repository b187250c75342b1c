// Failures of graph runs. A task's failure propagates along the edges to its successors.
#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "core/failure/told.hpp"
#include "core/operation/calls.hpp"
#include "cpu/graph/order.hpp"

namespace heddle::detail::cpu {

/// Fails the tasks whose streams had failed before the run.
void GraphRun::start_failed() noexcept {
    if (parent_ != nullptr) return;  // else the conditional node would not have run
    for (const PartBegin& one : begins_) fail(one.node, past_failure(one.part));
    if (!parts_.empty() || !stream_.has(stream_flag::poisoned)) return;
    const Failure before = stream_.known_failure();
    for (std::uint32_t task = 0; task < plan_->tasks.size(); ++task) fail(task, before);
}

void GraphRun::fail(std::uint32_t task, Failure failure) noexcept {
    if (failure == nullptr) return;
    const std::lock_guard lock(lock_);
    std::uint32_t cause = 1;
    if (first_failure_ == nullptr) {
        first_failure_ = std::move(failure);
    } else if (first_failure_ != failure) {
        const auto known = std::ranges::find(more_failures_, failure);
        cause = static_cast<std::uint32_t>(known - more_failures_.begin()) + 2;
        try {
            if (known == more_failures_.end()) more_failures_.push_back(std::move(failure));
        } catch (...) {
            --cause;  // out of memory: this failure gets the previous one's number
        }
    }
    std::uint32_t none_yet = 0;
    states_[task].cause.compare_exchange_strong(none_yet, cause, std::memory_order_relaxed);
    failed_.store(true, std::memory_order_release);
}

/// Returns a failure by its number. Call with lock_ held.
Failure GraphRun::failure_of_cause(std::uint32_t cause) noexcept {
    return cause == 1 ? first_failure_ : more_failures_[cause - 2];
}

Failure GraphRun::failure(std::uint32_t task) noexcept {
    if (!is_failed(task)) return nullptr;
    const std::lock_guard lock(lock_);
    return failure_of_cause(states_[task].cause.load(std::memory_order_relaxed));
}

Failure GraphRun::past_failure(std::size_t part) noexcept {
    if (part != 0) return parts_[part].past.failure();
    return stream_.has(stream_flag::poisoned) ? stream_.known_failure() : nullptr;
}

Failure GraphRun::first_failure() noexcept {
    const std::lock_guard lock(lock_);
    return first_failure_;
}

Failure GraphRun::first_failure(const Part& part) noexcept {
    for (const std::uint32_t one : part.begins)
        if (Failure before = past_failure(one)) return before;
    std::uint32_t first = 0;
    for (const std::uint32_t task : part.last_ops) {
        const std::uint32_t cause = states_[task].cause.load(std::memory_order_relaxed);
        if (cause != 0 && (first == 0 || cause < first)) first = cause;
    }
    if (first == 0) return nullptr;
    const std::lock_guard lock(lock_);
    return failure_of_cause(first);
}

Failure GraphRun::failure_of(const Plan::Task& task) noexcept {
    note_in_all(&GraphRun::has_thrown_);
    if (task.branch == nullptr && task.type != nullptr)
        return failure_of_throw(stream_, *task.type, task.where, std::current_exception(),
                                task.name.get());
    // No user function runs here, so only a lack of memory can have caused the exception.
    return failure_for_want_of_memory(stream_, "launch", task.where);
}

Failure GraphRun::failure_beside() noexcept {
    for (GraphRun* run = this; run != nullptr; run = run->parent_)
        if (run->failed_.load(std::memory_order_acquire)) return run->first_failure();
    return nullptr;
}

}  // namespace heddle::detail::cpu
