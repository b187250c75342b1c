// Makes plans from graphs on CPU devices, and launches them.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "core/base/errors.hpp"
#include "core/failure/failure.hpp"
#include "core/graph/shape.hpp"
#include "core/observe/calls.hpp"
#include "core/stream/recorded_calls.hpp"
#include "cpu/backend.hpp"
#include "cpu/graph.hpp"
#include "cpu/graph_order.hpp"

namespace heddle::detail::cpu {

constinit std::atomic<int> batches_being_sent{0};

namespace {

/// Prepares a conditional node. `told_as` is the node's index for observers.
std::shared_ptr<const Branch> make_branch(const Conditional& conditional, std::size_t index,
                                          std::uint32_t told_as) {
    auto branch = std::make_shared<Branch>();
    branch->kind = conditional.kind;
    branch->value = static_cast<const int*>(conditional.value.data);
    branch->index = index;
    std::uint32_t first = told_as + 1;
    for (const auto& body : conditional.bodies) {
        branch->bodies.push_back(make_plan(*body, first));
        for (const auto& node : body->nodes) first += told_nodes(*node);
    }
    return branch;
}

/// Starts a run when the stream reaches it.
struct StartOp {
    GraphRun* run;
    static void go(void* self, std::size_t, std::size_t) {
        static_cast<StartOp*>(self)->run->start();
    }
};

/// Marks, while it exists, that a batch's other streams wait for completions that no enqueued
/// operation promises yet.
class SendsBatch {
public:
    explicit SendsBatch(int count) noexcept : count_(count) {
        if (count_ != 0) batches_being_sent.fetch_add(count_);
    }
    ~SendsBatch() {
        if (count_ != 0) batches_being_sent.fetch_sub(count_);
    }
    SendsBatch(const SendsBatch&) = delete;
    SendsBatch& operator=(const SendsBatch&) = delete;

private:
    const int count_;
};

}  // namespace

// Also runs on failed streams: the run must end, although its nodes do nothing then.
const OpType start_type = op_type<StartOp>(&StartOp::go, true, "launch", "graph", true);

void set_task(Plan& plan, const NodeData& node) {
    Plan::Task task = plan.tasks[node.index];
    task.kind = node.kind;
    task.event = node.event;
    task.enabled = node.enabled;
    task.where = node.where;
    if (!node.name.empty()) task.name = std::make_shared<const std::string>(node.name);
    task.priority = node.priority;
    const bool has_no_bytes = node.kind != NodeKind::kernel && node.has_no_work();
    switch (has_no_bytes ? NodeKind::empty : node.kind) {
    case NodeKind::empty:  // the task may have had work before
        task.type = nullptr;
        task.closure = nullptr;
        task.count = 0;
        break;
    case NodeKind::kernel:
    case NodeKind::host_function:
        task.type = node.work.type->op;
        task.closure = node.work.closure;
        task.count = node.work.count;
        break;
    case NodeKind::copy:
        task.closure = copy_closure(node.to, node.from, task.type, task.count);
        break;
    case NodeKind::fill:
        task.closure =
            fill_closure(node.to, node.value.data(), node.value.size(), task.type, task.count);
        break;
    case NodeKind::conditional:
        task.branch = make_branch(*node.conditional,
                                  task.branch != nullptr ? task.branch->index : plan.branches++,
                                  task.told_as);
        break;
    default: break;
    }
    task.self = task.closure.get();
    plan.has_priorities |= node.priority != 0;
    plan.tasks[node.index] = std::move(task);  // no exception is thrown after this line
}

namespace {
/// Places small trivially copyable closures side by side.
void gather_closures(Plan& plan) {
    constexpr std::size_t largest = 256, align = 16;
    const auto is_plain = [](const Plan::Task& task) {
        return task.closure != nullptr && task.type->move == nullptr &&
               task.type->destroy == nullptr && task.type->size <= largest &&
               task.type->align <= align;
    };
    const auto room = [](const Plan::Task& task) {
        return (task.type->size + align - 1) / align * align;
    };
    std::size_t bytes = 0;
    for (const Plan::Task& task : plan.tasks)
        if (is_plain(task)) bytes += room(task);
    if (bytes == 0) return;
    plan.closures = std::make_shared<std::byte[]>(bytes);
    std::byte* at = plan.closures.get();
    for (Plan::Task& task : plan.tasks) {
        if (!is_plain(task)) continue;
        std::memcpy(at, task.self, task.type->size);
        task.self = at;
        at += room(task);
        task.closure = nullptr;
    }
}
}  // namespace

std::shared_ptr<Plan> make_plan(const GraphData& graph, std::uint32_t told_as) {
    auto made = std::make_shared<Plan>();
    Plan& plan = *made;
    const std::size_t count = graph.nodes.size();
    // An empty graph is one task that does nothing.
    plan.tasks.resize(std::max<std::size_t>(count, 1));
    if (count == 0) plan.roots.push_back(0);
    for (std::size_t i = 0; i < count; ++i) {
        plan.tasks[i].told_as = told_as;
        told_as += told_nodes(*graph.nodes[i]);
        set_task(plan, *graph.nodes[i]);
        plan.tasks[i].waits_for = static_cast<std::int32_t>(graph.dependencies[i].size());
        for (const std::uint32_t first : graph.dependencies[i]) ++plan.tasks[first].successors;
        const NodeKind kind = graph.nodes[i]->kind;
        if (kind == NodeKind::record_event || kind == NodeKind::wait_event)
            plan.events.push_back(static_cast<std::uint32_t>(i));
        if (kind == NodeKind::wait_event) ++plan.tasks[i].waits_for;
        if (plan.tasks[i].waits_for == 0) plan.roots.push_back(static_cast<std::uint32_t>(i));
    }
    gather_closures(plan);
    if (tsan::is_here()) choose_lanes(plan, graph);
    std::uint32_t at = 0;
    for (Plan::Task& task : plan.tasks) {
        task.first_successor = at;
        at += std::exchange(task.successors, 0);
    }
    plan.successors.resize(at);
    for (std::size_t i = 0; i < count; ++i)
        for (const std::uint32_t first : graph.dependencies[i]) {
            Plan::Task& task = plan.tasks[first];
            plan.successors[task.first_successor + task.successors++] =
                static_cast<std::uint32_t>(i);
        }
    return made;
}

CpuGraphExec::CpuGraphExec(const GraphData& graph, const SourceLocation&)
    : plan_(make_plan(graph)) {}

void CpuGraphExec::launch(StreamRecord& stream, const SourceLocation& where) {
    launch(stream, {}, {}, where);
}

void CpuGraphExec::launch_batch(std::span<StreamPart> parts, std::span<const PartBegin> begins,
                                std::span<PartMark>, const SourceLocation& where) {
    StreamRecord& stream = *parts.front().stream;
    // The waits are enqueued first, because they can be completed at once if the launch throws.
    const auto others = parts.subspan(1);
    const SendsBatch mark(others.empty() ? 0 : 1);
    try {
        for (StreamPart& one : others)
            if (one.stream != nullptr) one.after = make_completion();
        for (const StreamPart& one : others)
            if (one.stream != nullptr) queue_of(*one.stream).push_wait(one.after, where);
        launch(stream, parts, begins, where);
        for (StreamPart& one : others)
            one.first_given = stream.submissions.load(std::memory_order_acquire);
        // These streams already wait, and until now there was no stream to lend their levels to.
        for (const StreamPart& one : others)
            if (one.after && one.stream != nullptr) lend_from(*one.stream, *one.after);
    } catch (...) {
        for (StreamPart& one : others)
            if (one.after) std::exchange(one.after, {})->complete();
        throw;
    }
}

void CpuGraphExec::launch(StreamRecord& stream, std::span<StreamPart> parts,
                          std::span<const PartBegin> begins, const SourceLocation& where) {
    if (last_ && !last_->is_done() && last_on_->has(stream_flag::forked))
        coded_error(
            ErrorCode::forked, {"launch", where, stream.device},
            "this graph is running in the parent process, and would have to come after that");
    Queue& queue = queue_of(stream);
    CompletionRef done = make_completion(), over = make_completion();
    auto run = std::make_unique<GraphRun>(plan_, stream, queue.level(), done, over);
    run->tell_observers(function_id(), timed_id() != 0);
    run->set_parts(parts, begins);
    run->note_facts();
    run->order_after_caller();
    StartOp op{run.get()};
    CompletionRef last = last_;
    const std::vector<GraphRun::Record> made = run->records();
    std::vector<EventRecord> records;
    records.reserve(made.size());
    for (const GraphRun::Record& one : made) records.emplace_back(one.event, stream);
    const auto push = [&](std::initializer_list<Queue::Entry> entries) {
        while (!queue.push_all_unless_joined(entries))
            if (!make_way(stream, where)) return queue.push_all(entries);
    };
    // Enqueues all entries or none. A launch waits for the previous one, even on another stream,
    // because nodes may rely on not running concurrently with themselves. This is order only: a
    // failure of the previous launch stays on its stream.
    if (last && (tsan::is_here() || !last->is_done()))
        push({{Step::wait, wait_type, &last, where},
              {Step::work, start_type, &op, where},
              {Step::wait, wait_type, &done, where}});
    else push({{Step::work, start_type, &op, where}, {Step::wait, wait_type, &done, where}});
    (void)run.release();
    const std::uint64_t at = queue.pushed();
    over->promise(stream, at);
    for (const GraphRun::Record& one : made) one.done->promise(stream, at);
    for (const StreamPart& one : parts)
        if (one.after) one.after->promise(stream, at);
    for (std::size_t i = 0; i < made.size(); ++i) records[i].make(made[i].done);
    last_ = std::move(over);
    last_on_ = &stream;
}

bool CpuGraphExec::update(const NodeData& node, const SourceLocation&) {
    // A launch in progress keeps the plan that it was launched with.
    if (plan_->runs.load(std::memory_order_acquire) != 0) plan_ = std::make_shared<Plan>(*plan_);
    else tsan::acquire(plan_->order());
    set_task(*plan_, node);
    return false;
}

std::shared_ptr<GraphExec> CpuBackend::instantiate(const GraphData& graph,
                                                   const SourceLocation& where) {
    for (const auto& node : graph.nodes)
        if (node->device.is_cuda())
            usage_error({"instantiate", where}, "{} is on {}, the graph on {}", label_of(*node),
                        node->device, graph.device);
    return std::make_shared<CpuGraphExec>(graph, where);
}

}  // namespace heddle::detail::cpu
