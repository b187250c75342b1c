// The order of a graph's tasks as ThreadSanitizer sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/executor/fibers.hpp"
#include "cpu/graph/graph.hpp"

namespace heddle::detail::cpu {

/// Runs the tasks of one run on fibers. Tasks that the graph does not order use different fibers,
/// even if the same worker runs them. Tasks along a path share a fiber (Plan::Task::chain).
class RunOrder {
public:
    RunOrder(const Plan& plan, Fibers& fibers)
        : plan_(plan), fibers_(fibers), keys_(plan.tasks.size()), chains_(plan.chains) {}

    /// Orders the run after the calling thread.
    void add_caller() noexcept { tsan::release(this); }
    /// Adds a completion, which will be ordered after the run's end. The completion must outlive
    /// the run.
    void add_end(const Completion& end) { ends_.push_back(&end); }
    /// Orders all tasks after the work that precedes the run.
    void begin(Fiber& before) noexcept;
    /// Orders a task after its predecessors. Returns its fiber. Throws OutOfMemory.
    Fiber* enter(std::uint32_t task);
    /// Returns the fiber of a task after enter(), or null if enter() failed.
    Fiber* fiber(std::uint32_t task) const noexcept { return chains_[plan_.tasks[task].chain]; }
    /// Orders the task's successors after the task. If it has none, orders the run's end after it.
    void leave(std::uint32_t task, const Completion& done, const Completion* over) noexcept;
    /// Releases the fibers. Call when all tasks are done, before the stream is notified.
    void end() noexcept;
    Fibers& fibers() const noexcept { return fibers_; }

private:
    /// The maximum number of fibers of a run. If there are more chains, some share a fiber. Of two
    /// tasks on one fiber, the later then counts as ordered after the earlier.
    static constexpr std::size_t most = 64;

    const Plan& plan_;
    Fibers& fibers_;
    std::vector<char> keys_;  ///< for each task: the address at which its predecessors are released
    std::vector<Fiber*> chains_;
    std::vector<const Completion*> ends_;
};

/// Sets Plan::Task::chain of all tasks.
void choose_chains(Plan& plan, const GraphData& graph);

}  // namespace heddle::detail::cpu
