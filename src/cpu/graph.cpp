#include "cpu/graph.hpp"

#include <algorithm>

#include "core/registry.hpp"
#include "cpu/backend.hpp"

namespace heddle::detail::cpu {

GraphRun::GraphRun(std::shared_ptr<const Plan> plan, StreamRecord& stream, int level, CompletionRef done,
                   CompletionRef over, GraphRun* parent)
    : Runnable(level), plan_(std::move(plan)), stream_(stream), done_(std::move(done)),
      over_(std::move(over)), parent_(parent),
      waits_for_(std::make_unique<std::atomic<std::int32_t>[]>(plan_->tasks.size())),
      left_(plan_->tasks.size()) {
    plan_->runs.fetch_add(1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < plan_->tasks.size(); ++i)
        waits_for_[i].store(plan_->tasks[i].waits_for, std::memory_order_relaxed);
    records_.resize(plan_->events.size());
    waits_ = std::make_unique<EventWait[]>(plan_->events.size());
    if (plan_->branches != 0) passes_ = std::make_unique<Pass[]>(plan_->branches);
    // Events mean what they mean at the launch: a wait the record that is newest now, a record what others wait for from now on.
    for (std::size_t i = 0; i < plan_->events.size(); ++i) {
        EventState& event = *plan_->tasks[plan_->events[i]].event;
        if (plan_->tasks[plan_->events[i]].kind == NodeKind::wait_event) {
            records_[i] = newest_record(event);
        } else {
            records_[i] = make_completion();
            set_record(event, records_[i]);
        }
    }
}

void GraphRun::start() noexcept {
    Ready ready;
    try {
        if (parent_ != nullptr ? parent_->is_failed() : stream_.has(stream_flag::poisoned))
            failed_.store(true, std::memory_order_relaxed);
        if (plan_->has_priorities) {
            for (const std::uint32_t root : plan_->roots) ready.push_back({root});
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
                graph.fail(reached.failure());
                Ready next;
                graph.arrive(own.task, next);
                graph.share(next, 0);
                graph.release();
            };
            references_.fetch_add(1, std::memory_order_relaxed);
            if (records_[i] && records_[i]->add(wait)) continue;
            if (records_[i]) fail(records_[i]->failure());
            arrive(task, ready);
            references_.fetch_sub(1, std::memory_order_relaxed);  // not the last: start() has one
        }
    } catch (...) {
        fail(make_failure({}));  // out of memory
    }
    if (ready.size() > 1) share(ready, plan_->has_priorities ? 0 : 1);
    if (shared_count_.load(std::memory_order_relaxed) > 1 && executor().workers() > 1) ask_for_help();
    const InHostFunction mark;
    while (has_more(ready)) {
        run_next(ready);
        if (!ready.leave && !executor().more_urgent_ready(level())) continue;
        leave(ready);  // others go on, or a worker later
        break;
    }
    release();
}

void GraphRun::run() noexcept {
    {
        const std::lock_guard lock(lock_);
        listed_ = false;
    }
    join();
    release();
}

void GraphRun::join() noexcept {
    const InHostFunction mark;
    Ready ready;
    while (has_more(ready)) {
        run_next(ready);
        if (ready.leave || executor().more_urgent_ready(level()))  // others go on, or this one later
            return leave(ready);
    }
}

bool GraphRun::has_more(Ready& ready) noexcept {
    if (!ready.empty()) return true;
    settle(ready);
    return !ready.empty() || take(ready);
}

void GraphRun::run_next(Ready& ready) noexcept {
    const Item item = ready.back();
    ready.pop_back();
    // What arrived at a successor is only held back while more for the same one comes.
    const Plan::Task& task = plan_->tasks[item.task];
    if (ready.arrivals != 0 &&
        (task.successors != 1 || plan_->successors[task.first_successor] != ready.successor))
        arrive(ready);
    run_item(item, ready);
    if (plan_->has_priorities) share(ready, 0);
}

void GraphRun::leave(Ready& ready) noexcept {
    settle(ready);
    share(ready, 0);
    ask_for_help();
}

/// Tells the others what this thread has finished: not task by task, because many threads write to the same places.
void GraphRun::settle(Ready& ready) noexcept {
    arrive(ready);
    const std::size_t finished = std::exchange(ready.finished, 0);
    if (finished == 0 || left_.fetch_sub(finished, std::memory_order_acq_rel) != finished) return;
    Failure failure;
    {
        const std::lock_guard lock(lock_);
        failure = std::move(failure_);
    }
    done_->complete(std::move(failure));
    if (over_) over_->complete();
}

void GraphRun::arrive(Ready& ready) noexcept {
    const std::int32_t arrivals = std::exchange(ready.arrivals, 0);
    if (arrivals == 0) return;
    if (waits_for_[ready.successor].fetch_sub(arrivals, std::memory_order_acq_rel) == arrivals)
        ready.push_back({ready.successor});
}

bool GraphRun::take(Ready& ready) noexcept {
    if (shared_count_.load(std::memory_order_acquire) == 0) return false;
    bool list = false;
    {
        const std::lock_guard lock(lock_);
        const std::size_t left = shared_.size() + plan_->roots.size() - next_root_;
        if (left == 0) return false;
        // A fair part, so that the others who come find something too.
        const auto workers = static_cast<std::size_t>(executor().workers());
        const std::size_t fair =
            plan_->has_priorities ? 1 : std::clamp<std::size_t>(left / (2 * workers), 1, 64);
        if (plan_->has_priorities)
            std::ranges::pop_heap(shared_,
                                  [&](const Item& a, const Item& b) { return is_less_urgent(a, b); });
        const std::size_t some = std::min(fair, shared_.size());
        ready.assign(shared_.end() - static_cast<std::ptrdiff_t>(some), shared_.end());
        shared_.resize(shared_.size() - some);
        const std::size_t roots = std::min(fair - some, plan_->roots.size() - next_root_);
        next_root_ += roots;
        for (std::size_t i = 1; i <= roots; ++i) ready.push_back({plan_->roots[next_root_ - i]});
        shared_count_.store(left - some - roots, std::memory_order_release);
        if (left > some + roots && !listed_ && workers > 1) listed_ = list = true;
    }
    if (list) {
        references_.fetch_add(1, std::memory_order_relaxed);
        executor().schedule(*this);
    }
    return true;
}

void GraphRun::share(Ready& ready, std::size_t keep) noexcept {
    if (ready.size() <= keep) return;
    bool list = false;
    {
        const std::lock_guard lock(lock_);
        if (!plan_->has_priorities) {
            shared_.insert(shared_.end(), ready.begin() + static_cast<std::ptrdiff_t>(keep), ready.end());
        } else {
            for (std::size_t i = keep; i < ready.size(); ++i) {
                shared_.push_back(ready[i]);
                std::ranges::push_heap(shared_,
                                       [&](const Item& a, const Item& b) { return is_less_urgent(a, b); });
            }
        }
        shared_count_.store(shared_.size() + plan_->roots.size() - next_root_, std::memory_order_release);
        if (!listed_) listed_ = list = true;
    }
    ready.resize(keep);
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

void GraphRun::fail(Failure failure) noexcept {
    if (failure == nullptr) return;
    const std::lock_guard lock(lock_);
    if (failure_ == nullptr) failure_ = std::move(failure);
    failed_.store(true, std::memory_order_release);
}

void GraphRun::run_item(const Item& item, Ready& ready) noexcept {
    const Plan::Task& task = plan_->tasks[item.task];
    try {
        if (item.wide != nullptr) {
            if (!failed_.load(std::memory_order_relaxed)) task.type->run(task.self, item.begin, item.end);
        } else if (!run_task(item.task, ready)) {
            return;
        }
    } catch (...) {
        fail(failure_from_exception(stream_, *task.type, task.where, task.name.get()));
    }
    if (item.wide != nullptr) {
        if (item.wide->pieces.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        delete item.wide;
    }
    finish(item.task, ready);
}

bool GraphRun::run_task(std::uint32_t index, Ready& ready) {
    const Plan::Task& task = plan_->tasks[index];
    if (task.kind == NodeKind::record_event) {
        const auto at = std::ranges::find(plan_->events, index) - plan_->events.begin();
        records_[static_cast<std::size_t>(at)]->complete(failure(),
                                                         task.event->options.timing ? now_ns() : 0);
        return true;
    }
    if (task.branch != nullptr) return run_branch(index, ready);
    if (task.type == nullptr || !task.enabled || task.count == 0) return true;
    if (task.type->complete != nullptr) {
        const Failure before = failure();
        task.type->complete(task.self, before != nullptr ? told(before, &stream_) : nullptr);
        return true;
    }
    if (failed_.load(std::memory_order_relaxed) && !task.type->is_cleanup) return true;
    const auto workers = static_cast<std::size_t>(executor().workers());
    if (task.count == 1 || workers == 1) {
        task.type->run(task.self, 0, task.count);
        return true;
    }
    double index_ns = 0;
    const std::size_t done = run_first(*task.type, task.self, task.count, index_ns);
    if (done == task.count) return true;
    const std::size_t left = task.count - done;
    const std::size_t grain = left / (workers * 4) + 1, pieces = (left + grain - 1) / grain;
    auto* wide = new Wide{index, {pieces}};
    Ready items;
    items.reserve(pieces);
    for (std::size_t at = done; at < task.count; at += grain)
        items.push_back({index, wide, at, std::min(task.count, at + grain)});
    share(items, 1);
    ready.push_back(items.front());
    return false;
}

void GraphRun::arrive(std::uint32_t task, Ready& ready) {
    if (waits_for_[task].fetch_sub(1, std::memory_order_acq_rel) == 1) ready.push_back({task});
}

void GraphRun::finish(std::uint32_t index, Ready& ready) noexcept {
    constexpr std::int32_t many = 64;
    const Plan::Task& task = plan_->tasks[index];
    const std::uint32_t* next = plan_->successors.data() + task.first_successor;
    if (task.successors == 1 && plan_->tasks[*next].waits_for >= many) {
        if (ready.successor != *next) arrive(ready);
        ready.successor = *next;
        ++ready.arrivals;
    } else {
        for (std::uint32_t i = 0; i < task.successors; ++i) arrive(next[i], ready);
    }
    ++ready.finished;
    // One is kept, the rest is for others, unless they have enough.
    if (ready.size() > 1 && shared_count_.load(std::memory_order_relaxed) == 0 && executor().workers() > 1)
        share(ready, (ready.size() + 1) / 2);
}

void GraphRun::release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (left_.load(std::memory_order_acquire) == 0) delete this;
    // Else nobody is inside, and an event or a shared item that is on its way brings somebody: it holds a reference of its own.
}

}  // namespace heddle::detail::cpu
