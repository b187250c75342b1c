// Makes plans from graphs on CPU devices.
#include <algorithm>
#include <cstring>
#include <utility>

#include "core/graph/shape.hpp"
#include "cpu/graph/graph.hpp"
#include "cpu/graph/order.hpp"
#include "cpu/memory/memory.hpp"

namespace heddle::detail::cpu {

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

}  // namespace

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
    case NodeKind::empty:  // the task may have had work in an earlier plan
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
    if (tsan::is_here()) choose_chains(plan, graph);
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

}  // namespace heddle::detail::cpu
