// State of a graph launch: made before its tasks run, and completed after them.
#include <algorithm>
#include <utility>

#include "core/base/thread_sanitizer.hpp"
#include "cpu/device/native_event.hpp"
#include "cpu/graph/order.hpp"

namespace heddle::detail::cpu {

GraphRun::GraphRun(std::shared_ptr<const Plan> plan, StreamRecord& stream, int level,
                   CompletionRef done, CompletionRef over, GraphRun* parent)
    : StreamRun(level), plan_(std::move(plan)), stream_(stream), done_(std::move(done)),
      over_(std::move(over)), parent_(parent),
      states_(std::make_unique<TaskState[]>(plan_->tasks.size())),
      links_(std::make_unique_for_overwrite<std::uint32_t[]>(plan_->tasks.size())),
      left_(plan_->tasks.size()) {
    for (std::size_t i = 0; i < plan_->tasks.size(); ++i)
        states_[i].waits_for.store(plan_->tasks[i].waits_for, std::memory_order_relaxed);
    records_.resize(plan_->events.size());
    waits_ = std::make_unique<EventWait[]>(plan_->events.size());
    if (plan_->branches != 0) passes_ = std::make_unique<Pass[]>(plan_->branches);
    if (plan_->has_priorities) heap_.reserve(plan_->tasks.size());
    // The launch resolves events: a wait is for the event's current newest record, and a record
    // becomes the event's newest record now.
    for (std::size_t i = 0; i < plan_->events.size(); ++i) {
        const Plan::Task& task = plan_->tasks[plan_->events[i]];
        records_[i] =
            task.kind == NodeKind::wait_event ? newest_record(*task.event) : make_completion();
    }
    if (tsan::is_here()) [[unlikely]]
        order_ = std::make_unique<RunOrder>(*plan_, queue_of(stream).made_fibers());
    plan_->runs.fetch_add(1, std::memory_order_relaxed);
}

GraphRun::~GraphRun() {
    (void)facts_.serial.exchange(0);  // before memory that look.cpp reads is freed
    plan_->runs.fetch_sub(1, std::memory_order_release);
}

void GraphRun::add_awaited(std::vector<Completion*>& to) const {
    for (std::size_t i = 0; i < plan_->events.size(); ++i)
        if (plan_->tasks[plan_->events[i]].kind == NodeKind::wait_event && records_[i])
            to.push_back(records_[i].get());
}

CompletionRef GraphRun::first_awaited() const noexcept {
    for (std::size_t i = 0; i < plan_->events.size(); ++i)
        if (plan_->tasks[plan_->events[i]].kind == NodeKind::wait_event && records_[i] &&
            !records_[i]->is_done())
            return records_[i];
    return {};
}

void GraphRun::note_facts() noexcept {
    facts_.key = stream_.key.load(std::memory_order_relaxed);
    facts_.done = done_.get();
    facts_.over = over_.get();
    facts_.parts = parts_.data();
    facts_.part_count = parts_.size();
    facts_.events = plan_->events.data();
    facts_.event_count = plan_->events.size();
    facts_.tasks = plan_->tasks.data();
    facts_.records = records_.data();
    facts_.states = states_.get();
}

void GraphRun::set_parts(std::span<const StreamPart> parts, std::span<const PartBegin> begins) {
    parts_.reserve(parts.size());
    for (const StreamPart& one : parts)
        parts_.push_back({{one.last_ops.begin(), one.last_ops.end()},
                          {one.begins.begin(), one.begins.end()},
                          *one.past,
                          one.after});
    begins_.assign(begins.begin(), begins.end());
    if (order() != nullptr)
        for (const Part& one : parts_)
            if (one.after) order()->add_end(*one.after);
}

void GraphRun::order_after_caller() const noexcept {
    if (order() != nullptr) order()->add_caller();
}

Fiber* GraphRun::fiber(std::uint32_t task) const noexcept {
    return order() != nullptr ? order()->fiber(task) : nullptr;
}

CompletionRef& GraphRun::record_of_task(std::uint32_t task) noexcept {
    const auto at = std::ranges::find(plan_->events, task) - plan_->events.begin();
    return records_[static_cast<std::size_t>(at)];
}

std::vector<GraphRun::Record> GraphRun::records() const {
    std::vector<Record> all;
    for (std::size_t i = 0; i < plan_->events.size(); ++i) {
        const Plan::Task& task = plan_->tasks[plan_->events[i]];
        if (task.kind == NodeKind::record_event) all.push_back({*task.event, records_[i]});
    }
    return all;
}

/// Ends the run. Called when all tasks are done.
void GraphRun::end() noexcept {
    if (parent_ == nullptr) tell_run(-1, result(), timed_from_);
    if (order() != nullptr) order()->end();
    Failure failure = first_failure();
    if (!parts_.empty()) {
        // A failure may concern only a stream that has left the batch.
        if (first_failure_ != nullptr) first_failure_->note_taken();
        for (const Failure& one : more_failures_) one->note_taken();
        failure = first_failure(parts_.front());
        for (const Part& one : parts_)
            if (one.after) one.after->complete(first_failure(one), 0, Completion::Told::already);
    }
    queue_of(stream_).remove(*this);
    // Completes `over_` first: once `done_` completes, the stream continues, and look.cpp can no
    // longer find `over_` through the stream.
    if (over_) over_->complete(nullptr, 0, Completion::Told::already);
    done_->complete(std::move(failure), 0, Completion::Told::already);
}

}  // namespace heddle::detail::cpu
