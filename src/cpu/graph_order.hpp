// What ThreadSanitizer is told of the order of a graph's tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/fibers.hpp"
#include "cpu/graph.hpp"

namespace heddle::detail::cpu {

/// The tasks of one run as fibers: those that the graph does not order are on different ones, also
/// if one worker runs all. Tasks share a fiber along a path (Plan::Task::lane).
class RunOrder {
public:
    RunOrder(const Plan& plan, Fibers& fibers)
        : plan_(plan), fibers_(fibers), keys_(plan.tasks.size()), lanes_(plan.lanes) {}

    /// Orders the run after what the calling thread has done.
    void add_caller() noexcept { tsan::release(this); }
    /// Adds a completion that the run's end is ordered before. It must live as long.
    void add_end(const Completion& end) { ends_.push_back(&end); }
    /// Orders all tasks after what precedes the run.
    void begin(Fiber& before) noexcept;
    /// Orders a task after its predecessors. Returns its fiber. Throws OutOfMemory.
    Fiber* enter(std::uint32_t task);
    /// Returns the fiber of a task that has been entered; null if that failed.
    Fiber* fiber(std::uint32_t task) const noexcept { return lanes_[plan_.tasks[task].lane]; }
    /// Orders the task's successors after it, or, if it has none, the run's end.
    void leave(std::uint32_t task, const Completion& done, const Completion* over) noexcept;
    /// Gives the fibers back. Call it when all tasks are done, before the stream is told.
    void end() noexcept;
    Fibers& fibers() const noexcept { return fibers_; }

private:
    /// Fibers that a run keeps. The tasks beyond use any that is free, and of two that used the
    /// same the later one then counts as ordered.
    static constexpr std::size_t most = 64;

    const Plan& plan_;
    Fibers& fibers_;
    std::vector<char> keys_;  ///< their addresses: where a task's predecessors are noted
    std::vector<Fiber*> lanes_;
    std::vector<const Completion*> ends_;
};

/// Sets Plan::Task::lane of all tasks.
void choose_lanes(Plan& plan, const GraphData& graph);

}  // namespace heddle::detail::cpu
