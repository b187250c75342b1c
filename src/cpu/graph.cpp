#include "cpu/graph.hpp"

#include <algorithm>

#include "core/registry.hpp"
#include "cpu/backend.hpp"

namespace heddle::detail::cpu {

namespace {

void set_task(Plan::Task& task, const NodeData& node) {
    task.kind = node.kind;
    task.event = node.event;
    task.enabled = node.enabled;
    task.where = node.where;
    switch (node.kind) {
    case NodeKind::kernel:
    case NodeKind::host_function:
        task.type = node.work.type;
        task.closure = node.work.closure;
        task.count = node.work.count;
        break;
    case NodeKind::copy: task.closure = copy_closure(node.to, node.from, task.type, task.count); break;
    case NodeKind::fill:
        task.closure = fill_closure(node.to, node.value.data(), node.value.size(), task.type, task.count);
        break;
    default: break;
    }
}

/// Starts a run when its stream comes to it.
struct StartOp {
    GraphRun* run;
    static void go(void* self, std::size_t, std::size_t) { static_cast<StartOp*>(self)->run->start(); }
    static const OpType type;
};
// It runs on failed streams too: the run has to come to its end, though its nodes then do nothing.
const OpType StartOp::type = op_type<StartOp>(&StartOp::go, true, "launch", "graph", true);

}  // namespace

GraphRun::GraphRun(std::shared_ptr<const Plan> plan, StreamRecord& stream, int level, CompletionRef done)
    : Runnable(level), plan_(std::move(plan)), stream_(stream), done_(std::move(done)),
      waits_for_(std::make_unique<std::atomic<std::int32_t>[]>(plan_->tasks.size())),
      left_(plan_->tasks.size()) {
    plan_->runs.fetch_add(1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < plan_->tasks.size(); ++i)
        waits_for_[i].store(plan_->tasks[i].waits_for, std::memory_order_relaxed);
    records_.resize(plan_->events.size());
    waits_ = std::make_unique<EventWait[]>(plan_->events.size());
    // Events mean what they mean at the launch: a wait the record that is newest now, a record what others wait for from now on.
    for (std::size_t i = 0; i < plan_->events.size(); ++i) {
        EventState& event = *plan_->tasks[plan_->events[i]].event;
        auto*& native = reinterpret_cast<CompletionRef*&>(event.native);
        if (plan_->tasks[plan_->events[i]].kind == NodeKind::wait_event) {
            records_[i] = native != nullptr ? *native : CompletionRef();
        } else {
            records_[i] = make_completion();
            if (native == nullptr) native = new CompletionRef(records_[i]);
            else *native = records_[i];
        }
    }
}

void GraphRun::start() noexcept {
    std::vector<Item> ready;
    try {
        if (stream_.has(stream_flag::poisoned)) failed_.store(true, std::memory_order_relaxed);
        for (const std::uint32_t root : plan_->roots) ready.push_back({root});
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
                std::vector<Item> next;
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
        fail(std::make_shared<const ErrorInfo>());  // out of memory
    }
    share(ready, ready.size() > 1 ? 1 : ready.size());
    const InHostFunction mark;
    while (!ready.empty()) {
        const Item item = ready.back();
        ready.pop_back();
        run_item(item, ready);
        if (ready.empty()) take(ready);
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
    std::vector<Item> ready;
    while (take(ready))
        while (!ready.empty()) {
            const Item item = ready.back();
            ready.pop_back();
            run_item(item, ready);
            if (executor().more_urgent_ready(level())) {  // others go on, or this one later
                share(ready, 0);
                return;
            }
        }
}

bool GraphRun::take(std::vector<Item>& ready) noexcept {
    if (shared_count_.load(std::memory_order_acquire) == 0) return false;
    bool list = false;
    {
        const std::lock_guard lock(lock_);
        if (shared_.empty()) return false;
        // A fair part, so that the others who come find something too.
        const auto workers = static_cast<std::size_t>(executor().workers());
        const std::size_t some = std::clamp<std::size_t>(shared_.size() / (2 * workers), 1, 64);
        ready.assign(shared_.end() - static_cast<std::ptrdiff_t>(some), shared_.end());
        shared_.resize(shared_.size() - some);
        shared_count_.store(shared_.size(), std::memory_order_release);
        if (!shared_.empty() && !listed_ && workers > 1) listed_ = list = true;
    }
    if (list) {
        references_.fetch_add(1, std::memory_order_relaxed);
        executor().schedule(*this);
    }
    return true;
}

void GraphRun::share(std::vector<Item>& ready, std::size_t keep) noexcept {
    if (ready.size() <= keep) return;
    bool list = false;
    {
        const std::lock_guard lock(lock_);
        shared_.insert(shared_.end(), ready.begin() + static_cast<std::ptrdiff_t>(keep), ready.end());
        shared_count_.store(shared_.size(), std::memory_order_release);
        if (!listed_) listed_ = list = true;
    }
    ready.resize(keep);
    if (list) {
        references_.fetch_add(1, std::memory_order_relaxed);
        executor().schedule(*this);
    }
}

void GraphRun::fail(Failure failure) noexcept {
    if (failure == nullptr) return;
    const std::lock_guard lock(lock_);
    if (failure_ == nullptr) failure_ = std::move(failure);
    failed_.store(true, std::memory_order_release);
}

void GraphRun::run_item(const Item& item, std::vector<Item>& ready) noexcept {
    const Plan::Task& task = plan_->tasks[item.task];
    try {
        if (item.wide != nullptr) {
            if (!failed_.load(std::memory_order_relaxed))
                task.type->run(task.closure.get(), item.begin, item.end);
        } else if (!run_task(item.task, ready)) {
            return;
        }
    } catch (...) {
        fail(failure_from_exception(stream_, *task.type, task.where));
    }
    if (item.wide != nullptr) {
        if (item.wide->pieces.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        delete item.wide;
    }
    finish(item.task, ready);
}

bool GraphRun::run_task(std::uint32_t index, std::vector<Item>& ready) {
    const Plan::Task& task = plan_->tasks[index];
    if (task.kind == NodeKind::record_event) {
        const auto at = std::ranges::find(plan_->events, index) - plan_->events.begin();
        Failure failure;
        if (failed_.load(std::memory_order_acquire)) {
            const std::lock_guard lock(lock_);
            failure = failure_;
        }
        records_[static_cast<std::size_t>(at)]->complete(failure, task.event->options.timing ? now_ns() : 0);
        return true;
    }
    if (task.type == nullptr || !task.enabled || task.count == 0) return true;
    if (failed_.load(std::memory_order_relaxed) && !task.type->is_cleanup) return true;
    const auto workers = static_cast<std::size_t>(executor().workers());
    if (task.count == 1 || workers == 1) {
        task.type->run(task.closure.get(), 0, task.count);
        return true;
    }
    double index_ns = 0;
    const std::size_t done = run_first(*task.type, task.closure.get(), task.count, index_ns);
    if (done == task.count) return true;
    const std::size_t left = task.count - done;
    const std::size_t grain = left / (workers * 4) + 1, pieces = (left + grain - 1) / grain;
    auto* wide = new Wide{index, {pieces}};
    std::vector<Item> items;
    items.reserve(pieces);
    for (std::size_t at = done; at < task.count; at += grain)
        items.push_back({index, wide, at, std::min(task.count, at + grain)});
    share(items, 1);
    ready.push_back(items.front());
    return false;
}

void GraphRun::arrive(std::uint32_t task, std::vector<Item>& ready) {
    if (waits_for_[task].fetch_sub(1, std::memory_order_acq_rel) == 1) ready.push_back({task});
}

void GraphRun::finish(std::uint32_t index, std::vector<Item>& ready) noexcept {
    const Plan::Task& task = plan_->tasks[index];
    const std::uint32_t* next = plan_->successors.data() + task.first_successor;
    for (std::uint32_t i = 0; i < task.successors; ++i) arrive(next[i], ready);
    // One is kept, the rest is for others, unless they have enough.
    if (ready.size() > 1 && shared_count_.load(std::memory_order_relaxed) == 0 && executor().workers() > 1)
        share(ready, (ready.size() + 1) / 2);
    if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    Failure failure;
    {
        const std::lock_guard lock(lock_);
        failure = failure_;
    }
    done_->complete(failure);
}

void GraphRun::release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (left_.load(std::memory_order_acquire) == 0) delete this;
    // Else nobody is inside, and an event or a shared item that is on its way brings somebody: it holds a reference of its own.
}

CpuGraphExec::CpuGraphExec(const GraphData& graph, const SourceLocation&) : plan_(std::make_shared<Plan>()) {
    const std::size_t count = graph.nodes.size();
    Plan& plan = *plan_;
    plan.tasks.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        set_task(plan.tasks[i], *graph.nodes[i]);
        plan.tasks[i].waits_for = static_cast<std::int32_t>(graph.dependencies[i].size());
        for (const std::uint32_t first : graph.dependencies[i]) ++plan.tasks[first].successors;
        const NodeKind kind = graph.nodes[i]->kind;
        if (kind == NodeKind::record_event || kind == NodeKind::wait_event)
            plan.events.push_back(static_cast<std::uint32_t>(i));
        if (kind == NodeKind::wait_event) ++plan.tasks[i].waits_for;
        if (plan.tasks[i].waits_for == 0) plan.roots.push_back(static_cast<std::uint32_t>(i));
    }
    std::uint32_t at = 0;
    for (Plan::Task& task : plan.tasks) {
        task.first_successor = at;
        at += std::exchange(task.successors, 0);
    }
    plan.successors.resize(at);
    for (std::size_t i = 0; i < count; ++i)
        for (const std::uint32_t first : graph.dependencies[i]) {
            Plan::Task& task = plan.tasks[first];
            plan.successors[task.first_successor + task.successors++] = static_cast<std::uint32_t>(i);
        }
}

void CpuGraphExec::launch(StreamRecord& stream, const SourceLocation& where) {
    Queue& queue = queue_of(stream);
    CompletionRef done = make_completion();
    auto run = std::make_unique<GraphRun>(plan_, stream, queue.level(), done);
    // One launch after the other, also on different streams: nodes count on not running beside themselves.
    if (last_ && !last_->is_done()) queue.push_wait(last_, where);
    StartOp op{run.release()};
    queue.push(Step::work, StartOp::type, &op, 1, where, true);
    queue.push_wait(done, where);
    last_ = std::move(done);
}

void CpuGraphExec::update(const NodeData& node, const SourceLocation&) {
    // What was launched keeps the plan it was launched with.
    if (plan_->runs.load(std::memory_order_acquire) != 0) plan_ = std::make_shared<Plan>(*plan_);
    set_task(plan_->tasks[node.index], node);
}

std::shared_ptr<GraphExec> CpuBackend::instantiate(const GraphData& graph, const SourceLocation& where) {
    for (const auto& node : graph.nodes)
        if (node->device.is_cuda())
            throw_error({.code = ErrorCode::usage,
                         .message = label_of(*node) + " is on " + node->device.name() + ", the graph on " +
                                    graph.device.name(),
                         .call = "instantiate",
                         .where = where});
    return std::make_shared<CpuGraphExec>(graph, where);
}

}  // namespace heddle::detail::cpu
