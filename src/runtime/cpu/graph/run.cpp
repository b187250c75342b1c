#include "cpu/graph/order.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "core/base/host_function_mark.hpp"
#include "core/failure/told.hpp"
#include "core/operation/activity.hpp"
#include "core/operation/calls.hpp"
#include "cpu/executor/slice.hpp"

namespace heddle::detail::cpu {

void GraphRun::tell_run(std::int64_t node, RunResult result, std::int64_t from_ns,
                        int workers) const noexcept {
    if (!is_timed_) [[likely]]
        return;
    if (result == RunResult::dropped)
        return notify_run({.id = launch_id_, .node = node, .result = result});
    notify_run({.id = launch_id_,
                .node = node,
                .start_ns = from_ns,
                .end_ns = now_ns(),
                .workers = static_cast<std::uint32_t>(workers),
                .result = result});
}

RunResult GraphRun::result() const noexcept {
    if (has_thrown_.load(std::memory_order_relaxed)) return RunResult::failed;
    const bool is_dropped =
        failed_.load(std::memory_order_relaxed) && !has_run_.load(std::memory_order_relaxed);
    return is_dropped ? RunResult::dropped : RunResult::succeeded;
}

namespace {
/// Registers `waiter` with `awaited`, and lends `level` to the stream of `awaited` until `awaited`
/// completes. Returns false if `awaited` has completed.
bool park(Completion& awaited, Waiter& waiter, int level) noexcept {
    if (!awaited.add(waiter)) return false;
    if (level < levels - 1) lend(awaited, level);
    return true;
}
}  // namespace

void GraphRun::start() noexcept {
    timed_from_ = time();
    if (parent_ == nullptr)
        facts_.serial.store(queue_of(stream_).note_run(this), std::memory_order_release);
    queue_of(stream_).add(*this);
    Ready ready;
    if (order() != nullptr && parent_ == nullptr) order()->begin(*queue_of(stream_).fiber());
    start_failed();
    if (plan_->has_priorities) {
        for (const std::uint32_t root : plan_->roots) push(ready, root);
        next_root_ = plan_->roots.size();
    }
    shared_count_.store(plan_->roots.size() - next_root_, std::memory_order_release);
    for (std::size_t i = 0; i < plan_->events.size(); ++i) {
        const std::uint32_t task = plan_->events[i];
        if (plan_->tasks[task].kind != NodeKind::wait_event) continue;
        EventWait& wait = waits_[i];
        wait.run = this;
        wait.task = task;
        wait.wake = [](Waiter& self, const Completion& reached) noexcept {
            const auto& own = static_cast<EventWait&>(self);
            GraphRun& graph = *own.run;
            graph.fail(own.task, reached.failure());
            Ready next;
            graph.arrive(own.task, next);
            graph.share(next, 0);
            graph.release();
        };
        references_.fetch_add(1, std::memory_order_relaxed);
        if (records_[i] && park(*records_[i], wait, level())) continue;
        if (records_[i]) fail(task, records_[i]->failure());
        arrive(task, ready);
        // Not the last reference: start() holds one.
        references_.fetch_sub(1, std::memory_order_relaxed);
    }
    if (ready.size > 1) share(ready, plan_->has_priorities ? 0 : 1);
    if (shared_count_.load(std::memory_order_relaxed) > 1 && executor().workers() > 1)
        ask_for_help();
    const InHostFunction mark;
    const RunsOperation parent(launch_id_);
    Slice slice(*this);
    while (has_more(ready)) {
        run_next(ready);
        if (!ready.leave && !slice.is_over()) continue;
        leave(ready);  // other threads continue the run, or a worker does later
        break;
    }
    release();
}

void GraphRun::run() noexcept { (void)take_part(); }

bool GraphRun::take_part() noexcept {
    {
        const std::lock_guard lock(lock_);
        listed_ = false;
    }
    const bool stayed = join();
    release();
    return stayed;
}

bool GraphRun::join() noexcept {
    const InHostFunction mark;
    const RunsOperation parent(launch_id_);
    Ready ready;
    Slice slice(*this);
    while (has_more(ready)) {
        run_next(ready);
        // The run continues on other threads, or later on this one.
        if (!ready.leave && !slice.is_over()) continue;
        leave(ready);
        return false;
    }
    return true;
}

bool GraphRun::has_more(Ready& ready) noexcept {
    const auto has_some = [&] { return ready.size != 0 || ready.subrange.wide != nullptr; };
    if (has_some()) return true;
    publish(ready);
    return has_some() || take(ready);
}

void GraphRun::run_next(Ready& ready) noexcept {
    const Subrange subrange = std::exchange(ready.subrange, {});
    std::uint32_t index = none;
    if (subrange.wide != nullptr) {
        index = subrange.wide->task;
    } else {
        index = std::exchange(ready.first, links_[ready.first]);
        --ready.size;
    }
    // Arrivals are held back only while the next tasks have the same successor.
    const Plan::Task& task = plan_->tasks[index];
    if (ready.arrivals != 0 &&
        (task.successors != 1 || plan_->successors[task.first_successor] != ready.successor))
        arrive(ready);
    if (subrange.wide != nullptr) run_subrange(subrange, ready);
    else run_item(index, ready);
    if (plan_->has_priorities) share(ready, 0);
}

void GraphRun::leave(Ready& ready) noexcept {
    publish(ready);
    share(ready, 0);
    ask_for_help();
}

/// Publishes the tasks that this thread has finished. One step for all of them costs less than one
/// for each, because all threads write to the same cache lines.
void GraphRun::publish(Ready& ready) noexcept {
    arrive(ready);
    const std::size_t finished = std::exchange(ready.finished, 0);
    if (finished == 0 || left_.fetch_sub(finished, std::memory_order_acq_rel) != finished) return;
    end();
}

void GraphRun::arrive(Ready& ready) noexcept {
    const std::int32_t arrivals = std::exchange(ready.arrivals, 0);
    if (arrivals == 0) return;
    if (states_[ready.successor].waits_for.fetch_sub(arrivals, std::memory_order_acq_rel) ==
        arrivals)
        push(ready, ready.successor);
}

void GraphRun::push(Tasks& tasks, std::uint32_t task) noexcept {
    links_[task] = std::exchange(tasks.first, task);
    ++tasks.size;
}

void GraphRun::move_newest(Tasks& from, std::size_t count, Tasks& to) noexcept {
    if (count == 0) return;
    const std::uint32_t first = from.first;
    std::uint32_t last = first;
    for (std::size_t i = 1; i < count; ++i) last = links_[last];
    from.first = links_[last];
    from.size -= count;
    links_[last] = std::exchange(to.first, first);
    to.size += count;
}

std::size_t GraphRun::count_shared() const noexcept {
    std::size_t count = shared_.size + heap_.size() + plan_->roots.size() - next_root_;
    for (const Wide* wide = wide_; wide != nullptr; wide = wide->other) count += wide->left();
    return count;
}

bool GraphRun::take_subrange(Ready& ready) noexcept {
    Wide** most_urgent = &wide_;
    for (Wide** at = &wide_; *at != nullptr; at = &(*at)->other)
        if (is_less_urgent((*most_urgent)->task, (*at)->task)) most_urgent = at;
    Wide* const wide = *most_urgent;
    if (wide == nullptr || (!heap_.empty() && is_less_urgent(wide->task, heap_.front())))
        return false;
    const std::size_t begin = wide->next;
    wide->next = std::min(wide->end, begin + wide->grain);
    ready.subrange = {wide, begin, wide->next};
    if (wide->next == wide->end) *most_urgent = wide->other;
    return true;
}

bool GraphRun::take(Ready& ready) noexcept {
    if (shared_count_.load(std::memory_order_acquire) == 0) return false;
    bool list = false;
    {
        const std::lock_guard lock(lock_);
        const std::size_t left = count_shared();
        if (left == 0) return false;
        // Takes only a fair share: threads that join later also need work.
        const auto workers = static_cast<std::size_t>(executor().workers());
        if (take_subrange(ready)) {
        } else if (plan_->has_priorities) {
            std::ranges::pop_heap(
                heap_, [&](std::uint32_t a, std::uint32_t b) { return is_less_urgent(a, b); });
            push(ready, heap_.back());
            heap_.pop_back();
        } else {
            const std::size_t fair = std::clamp<std::size_t>(left / (2 * workers), 1, 64);
            const std::size_t some = std::min(fair, shared_.size);
            move_newest(shared_, some, ready);
            const std::size_t roots = std::min(fair - some, plan_->roots.size() - next_root_);
            next_root_ += roots;
            for (std::size_t i = 1; i <= roots; ++i) push(ready, plan_->roots[next_root_ - i]);
        }
        const std::size_t still = count_shared();
        shared_count_.store(still, std::memory_order_release);
        if (still != 0 && !listed_ && workers > 1) listed_ = list = true;
    }
    if (list) {
        references_.fetch_add(1, std::memory_order_relaxed);
        executor().schedule(*this);
    }
    return true;
}

void GraphRun::share(Ready& ready, std::size_t keep) noexcept {
    if (ready.size <= keep) return;
    bool list = false;
    {
        const std::lock_guard lock(lock_);
        if (!plan_->has_priorities) {
            move_newest(ready, ready.size - keep, shared_);
        } else {
            for (; ready.size > keep; --ready.size) {
                heap_.push_back(std::exchange(ready.first, links_[ready.first]));
                std::ranges::push_heap(
                    heap_, [&](std::uint32_t a, std::uint32_t b) { return is_less_urgent(a, b); });
            }
        }
        shared_count_.store(count_shared(), std::memory_order_release);
        if (!listed_) listed_ = list = true;
    }
    if (list) {
        references_.fetch_add(1, std::memory_order_relaxed);
        executor().schedule(*this);
    }
}

void GraphRun::ask_for_help() noexcept {
    {
        const std::lock_guard lock(lock_);
        if (listed_ || shared_count_.load(std::memory_order_relaxed) == 0) return;
        listed_ = true;
    }
    references_.fetch_add(1, std::memory_order_relaxed);
    executor().schedule(*this);
}

void GraphRun::run_subrange(const Subrange& subrange, Ready& ready) noexcept {
    const std::uint32_t index = subrange.wide->task;
    const Plan::Task& task = plan_->tasks[index];
    {
        const TakenFiber part(order() != nullptr ? &order()->fibers() : nullptr);
        if (part.get() != nullptr) part.get()->acquire(subrange.wide->begin_order());
        const WorkMark work(stream_, *task.type, task.where, WorkMark::Of::graph);
        try {
            if (!is_failed(index))
                run_on(part.get(), *task.type, task.self, subrange.begin, subrange.end);
        } catch (...) {
            fail(index, failure_of(task));
        }
        if (part.get() != nullptr) part.get()->release(subrange.wide->end_order());
    }
    if (subrange.wide->subranges.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    tell_task(index, is_failed(index) ? RunResult::failed : RunResult::succeeded,
              subrange.wide->from_ns, executor().workers());
    if (Fiber* const own = fiber(index)) own->acquire(subrange.wide->end_order());
    delete subrange.wide;
    finish(index, ready);
}

void GraphRun::run_item(std::uint32_t index, Ready& ready) noexcept {
    const std::int64_t from_ns = time();
    const OpType* const type = plan_->tasks[index].type;
    const bool is_dropped = is_timed_ && type != nullptr && is_failed(index) && !type->is_cleanup &&
                            type->complete == nullptr;
    RunResult result = is_dropped ? RunResult::dropped : RunResult::succeeded;
    try {
        if (order() != nullptr) (void)order()->enter(index);
        if (!run_task(index, from_ns, ready)) return;
    } catch (...) {
        fail(index, failure_of(plan_->tasks[index]));
        result = RunResult::failed;
    }
    if (type != nullptr) tell_task(index, result, from_ns);
    finish(index, ready);
}

bool GraphRun::run_task(std::uint32_t index, std::int64_t from_ns, Ready& ready) {
    const Plan::Task& task = plan_->tasks[index];
    Fiber* const own = fiber(index);
    if (task.kind == NodeKind::record_event) {
        const CompletionRef& done = record_of_task(index);
        if (own != nullptr) own->release(done->order());
        done->complete(failure(index), task.event->options.timing ? now_ns() : 0,
                       Completion::Told::already);
        return true;
    }
    if (own != nullptr && task.kind == NodeKind::wait_event)
        if (const CompletionRef& done = record_of_task(index)) own->acquire(done->order());
    if (task.branch != nullptr) return run_branch(index, ready);
    if (task.type == nullptr || !task.enabled || task.count == 0) return true;
    const WorkMark work(stream_, *task.type, task.where, WorkMark::Of::graph);
    if (task.type->complete != nullptr) {
        const Failure before = failure(index);
        complete_on(own, *task.type, task.self,
                    before != nullptr ? told(before, &stream_) : nullptr);
        return true;
    }
    if (is_failed(index) && !task.type->is_cleanup) return true;
    if (task.count == 1 || executor().workers() == 1) {
        run_on(own, *task.type, task.self, 0, task.count);
        return true;
    }
    return run_many(index, from_ns, ready);
}

bool GraphRun::run_many(std::uint32_t index, std::int64_t from_ns, Ready& ready) {
    const Plan::Task& task = plan_->tasks[index];
    Fiber* const own = fiber(index);
    const auto workers = static_cast<std::size_t>(executor().workers());
    double index_ns = 0;
    const std::size_t done = run_first(own, *task.type, task.self, task.count, index_ns);
    if (done == task.count) return true;
    const std::size_t left = task.count - done;
    const std::size_t grain = left / (workers * 4) + 1, subranges = (left + grain - 1) / grain;
    auto* wide = new (std::nothrow) Wide{index, done, task.count, grain, {subranges}, from_ns};
    if (wide == nullptr) {
        run_on(own, *task.type, task.self, done, task.count);  // runs all indices on this thread
        return true;
    }
    if (own != nullptr) own->release(wide->begin_order());
    // All subranges are shared; this thread takes its next subrange as any other thread does.
    share(ready, 0);
    bool list = false;
    {
        const std::lock_guard lock(lock_);
        wide->other = std::exchange(wide_, wide);
        shared_count_.store(count_shared(), std::memory_order_release);
        if (!listed_) listed_ = list = true;
    }
    if (list) {
        references_.fetch_add(1, std::memory_order_relaxed);
        executor().schedule(*this);
    }
    return false;
}

void GraphRun::arrive(std::uint32_t task, Ready& ready) noexcept {
    if (states_[task].waits_for.fetch_sub(1, std::memory_order_acq_rel) == 1) push(ready, task);
}

void GraphRun::finish(std::uint32_t index, Ready& ready) noexcept {
    constexpr std::int32_t many = 64;
    if (order() != nullptr) order()->leave(index, *done_, over_.get());
    const Plan::Task& task = plan_->tasks[index];
    const std::uint32_t* next = plan_->successors.data() + task.first_successor;
    if (failed_.load(std::memory_order_relaxed) && is_failed(index)) [[unlikely]] {
        const std::uint32_t cause = states_[index].cause.load(std::memory_order_relaxed);
        for (std::uint32_t i = 0; i < task.successors; ++i) {
            std::uint32_t none_yet = 0;
            states_[next[i]].cause.compare_exchange_strong(none_yet, cause,
                                                           std::memory_order_relaxed);
        }
    }
    if (task.successors == 1 && plan_->tasks[*next].waits_for >= many) {
        if (ready.successor != *next) arrive(ready);
        ready.successor = *next;
        ++ready.arrivals;
    } else {
        for (std::uint32_t i = 0; i < task.successors; ++i) arrive(next[i], ready);
    }
    ++ready.finished;
    // Keeps half of the tasks and shares the other half, unless tasks are already shared.
    if (ready.size > 1 && shared_count_.load(std::memory_order_relaxed) == 0 &&
        executor().workers() > 1)
        share(ready, (ready.size + 1) / 2);
}

void GraphRun::release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (left_.load(std::memory_order_acquire) == 0) delete this;
    // While tasks are left, a thread, an awaited event or the executor's lists hold a reference to
    // the run.
}

}  // namespace heddle::detail::cpu
