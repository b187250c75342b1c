#include "cpu/graph/order.hpp"

#include <utility>

namespace heddle::detail::cpu {

void RunOrder::begin(Fiber& before) noexcept {
    before.acquire(this);
    before.release(this);
}

Fiber* RunOrder::enter(std::uint32_t task) {
    Fiber*& fiber = chains_[plan_.tasks[task].chain];
    if (fiber == nullptr) fiber = fibers_.take();
    fiber->acquire(this);
    fiber->acquire(&keys_[task]);
    return fiber;
}

void RunOrder::leave(std::uint32_t index, const Completion& done, const Completion* over) noexcept {
    const Plan::Task& task = plan_.tasks[index];
    Fiber*& fiber = chains_[task.chain];
    if (fiber == nullptr) return;
    for (std::uint32_t i = 0; i < task.successors; ++i)
        fiber->release(&keys_[plan_.successors[task.first_successor + i]]);
    if (task.successors == 0) {
        fiber->release(done.order());
        if (over != nullptr) fiber->release(over->order());
        for (const Completion* const end : ends_) fiber->release(end->order());
        fiber->release(plan_.order());
    }
    if (task.chain >= most) fibers_.give(std::exchange(fiber, nullptr));
}

void RunOrder::end() noexcept {
    for (Fiber*& fiber : chains_)
        if (fiber != nullptr) fibers_.give(std::exchange(fiber, nullptr));
}

void choose_chains(Plan& plan, const GraphData& graph) {
    std::vector<bool> is_continued(plan.tasks.size());
    plan.chains = 0;
    for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
        Plan::Task& task = plan.tasks[i];
        task.chain = plan.chains;
        if (i < graph.nodes.size())
            for (const std::uint32_t first : graph.dependencies[i])
                if (first < i && !is_continued[first]) {
                    is_continued[first] = true;
                    task.chain = plan.tasks[first].chain;
                    break;
                }
        if (task.chain == plan.chains) ++plan.chains;
    }
}

}  // namespace heddle::detail::cpu
