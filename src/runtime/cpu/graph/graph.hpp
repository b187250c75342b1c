// Graphs on CPU devices: plans of tasks, and their runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "core/graph/graph.hpp"
#include "cpu/executor/executor.hpp"
#include "cpu/queue/queue.hpp"

#include <heddle/operation/observer.hpp>

namespace heddle::detail::cpu {

struct Plan;
class RunOrder;

/// A conditional node in a plan.
struct Branch {
    ConditionalKind kind;
    const int* value;
    std::vector<std::shared_ptr<const Plan>> bodies;
    std::size_t index;  ///< position among the plan's conditional nodes

    /// Returns the body that the current value selects, or null if it selects none. `fiber` is the
    /// node's fiber, or null.
    const std::shared_ptr<const Plan>* chosen(Fiber* fiber) const noexcept;
};

/// A graph prepared for execution: closures with successors. Not modified while a run uses it.
struct Plan {
    struct Task {
        const OpType* type = nullptr;  ///< null if the task does nothing
        void* self = nullptr;          ///< the closure
        SharedClosure closure;         ///< owner of the closure; null if the plan owns it
        std::size_t count = 0;
        NodeKind kind = NodeKind::empty;
        EventOwner event;
        std::shared_ptr<const Branch> branch;
        int priority = 0;
        bool enabled = true;
        std::int32_t waits_for = 0;  ///< number of predecessors, plus one if it waits for an event
        std::uint32_t first_successor = 0;
        std::uint32_t successors = 0;
        std::uint32_t told_as = 0;  ///< the node's index for observers
        std::uint32_t chain = 0;    ///< tasks of one chain are on one path (order.hpp)
        SourceLocation where;
        /// The node's name, for failures. Null if it has none.
        std::shared_ptr<const std::string> name;
    };
    /// Trivially copyable closures, in node order. If they were scattered over the heap, each would
    /// cost a cache miss. They are never modified, so copies of the plan share the block.
    std::shared_ptr<std::byte[]> closures;
    std::vector<Task> tasks;
    std::vector<std::uint32_t> successors;
    std::vector<std::uint32_t> roots;
    std::vector<std::uint32_t> events;  ///< tasks that record or wait for an event
    std::uint32_t chains = 0;           ///< 0 without ThreadSanitizer
    std::size_t branches = 0;           ///< number of conditional nodes
    bool has_priorities = false;        ///< whether any task has a priority: see GraphRun::share
    /// The number of runs that use the plan. shared_ptr::use_count() is not enough, because reading
    /// it does not order the last run's accesses before a change of the plan.
    mutable std::atomic<int> runs{0};

    /// The address of the release and acquire that show completed runs to ThreadSanitizer.
    const void* order() const noexcept { return &branches; }

    Plan() = default;
    ~Plan() { tsan::acquire(order()); }
    Plan(const Plan& other)
        : closures(other.closures), tasks(other.tasks), successors(other.successors),
          roots(other.roots), events(other.events), chains(other.chains), branches(other.branches),
          has_priorities(other.has_priorities) {}
};

/// Makes a plan (plan.cpp). `told_as` is the first node's index for observers; see
/// told_nodes().
std::shared_ptr<Plan> make_plan(const GraphData& graph, std::uint32_t told_as = 0);
void set_task(Plan& plan, const NodeData& node);

/// One launch of a graph, or one pass through the body of a conditional node. Workers join the run
/// while it has work for them. The thread that drops the last reference deletes it.
///
/// If a task fails, the tasks that depend on it fail too. Loops stop as well. All other tasks still
/// run.
class GraphRun final : public StreamRun {
public:
    /// At its end, the run completes `over` (unless null) without its failure, and `done` with its
    /// failure. Allocates all memory that the run needs, except for passes through bodies.
    GraphRun(std::shared_ptr<const Plan> plan, StreamRecord& stream, int level, CompletionRef done,
             CompletionRef over, GraphRun* parent = nullptr);
    ~GraphRun() override;

    /// An event that the run records. The launching thread makes `done` the event's newest record.
    struct Record {
        EventState& event;
        CompletionRef done;
    };
    std::vector<Record> records() const;
    /// Sets the graph launch's id under which the run reports to observers. The run reports the
    /// work that its host functions enqueue and, if `is_timed`, the times of the run and of its
    /// tasks. A pass through a conditional node's body belongs to the launch and is not reported
    /// separately. Call before start().
    void tell_observers(std::uint64_t id, bool is_timed) noexcept {
        launch_id_ = id;
        is_timed_ = is_timed;
    }
    /// Orders the run after the calling thread, for ThreadSanitizer.
    void order_after_caller() const noexcept;

    /// Makes this the run of a batch, and copies the parts. `done` will complete with the failure
    /// of the first part. Call before start().
    void set_parts(std::span<const StreamPart> parts, std::span<const PartBegin> begins);
    /// Stores the facts that look/look.cpp reads. Call after set_parts(), before the run is
    /// enqueued.
    void note_facts() noexcept;

    void start() noexcept override;
    void run() noexcept override;  ///< called on a worker that joins the run
    bool take_part() noexcept override;
    void add_awaited(std::vector<Completion*>& to) const override;
    CompletionRef first_awaited() const noexcept override;

private:
    friend class QueueLook;
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    /// A task over many indices, split into subranges.
    struct Wide {
        std::uint32_t task;
        /// Guarded by lock_: the first index of the next subrange.
        std::size_t next;
        std::size_t end;
        std::size_t grain;
        std::atomic<std::size_t> subranges;  ///< number of subranges not yet done
        std::int64_t from_ns = 0;            ///< when the task began, if observers time tasks
        Wide* other = nullptr;               ///< guarded by lock_: the next task in the list wide_

        /// The addresses at which the task's beginning and its finished subranges are released for
        /// ThreadSanitizer.
        const void* begin_order() const noexcept { return &task; }
        const void* end_order() const noexcept { return &grain; }
        std::size_t left() const noexcept { return (end - next + grain - 1) / grain; }
    };
    struct Subrange {
        Wide* wide = nullptr;
        std::size_t begin = 0;
        std::size_t end = 0;
    };
    /// A list of tasks, newest first. links_ links all lists, because a task is in at most one.
    struct Tasks {
        std::uint32_t first = none;
        std::size_t size = 0;
    };
    struct EventWait : Waiter {
        GraphRun* run = nullptr;
        std::uint32_t task = 0;
    };

    /// The work that one participating thread has taken.
    struct Ready : Tasks {
        Subrange subrange{};  ///< set by take(), consumed by run_next()
        bool leave = false;   ///< whether this thread should leave the run for other work
        // Published by publish():
        std::size_t finished = 0;
        std::uint32_t successor = 0;
        /// The number of arrivals at `successor`, a task with many predecessors, that are not
        /// published yet.
        std::int32_t arrivals = 0;
    };
    /// A pass through the body of a conditional node. The thread that starts the pass and the
    /// thread that completes it both set one_is_done. The second one to do so continues the node.
    struct Pass : Waiter {
        GraphRun* run = nullptr;
        std::uint32_t task = 0;
        bool has_run = false;
        CompletionRef done;  ///< completion of the newest pass; only under ThreadSanitizer
        std::atomic<bool> one_is_done{false};
    };

    /// A stream's part of a batch.
    struct Part {
        std::vector<std::uint32_t> last_ops, begins;
        StreamPart::Past past;
        CompletionRef after;
    };
    struct TaskState {
        std::atomic<std::int32_t> waits_for{0};
        /// The number of the task's failure, counted from 1, or 0. Set before the task arrives at
        /// its successors.
        std::atomic<std::uint32_t> cause{0};
    };
    /// The facts that look/look.cpp reads without a lock. They change only together with `serial`,
    /// which is 0 until the run begins. Until then, only the queued operation has the run's
    /// address. When the run begins, the queue stores the run's address and serial. If the run at
    /// that address has another serial, it is a different run.
    struct Facts {
        std::atomic<std::uint64_t> serial{0};
        std::uint64_t key = 0;  ///< StreamState::key
        const void* done = nullptr;
        const void* over = nullptr;
        const Part* parts = nullptr;
        std::size_t part_count = 0;
        const std::uint32_t* events = nullptr;
        std::size_t event_count = 0;
        const Plan::Task* tasks = nullptr;
        const CompletionRef* records = nullptr;
        const TaskState* states = nullptr;
    };

    bool join() noexcept;
    void push(Tasks& tasks, std::uint32_t task) noexcept;
    /// Moves the `count` newest tasks of `from` to the top of `to`, keeping their order.
    void move_newest(Tasks& from, std::size_t count, Tasks& to) noexcept;
    std::size_t count_shared() const noexcept;  ///< call with lock_ held
    bool take_subrange(Ready& ready) noexcept;  ///< call with lock_ held
    void run_subrange(const Subrange& subrange, Ready& ready) noexcept;
    void run_item(std::uint32_t task, Ready& ready) noexcept;
    /// Returns the fiber of a running task, or null without ThreadSanitizer.
    Fiber* fiber(std::uint32_t task) const noexcept;
    /// Returns the order of the tasks for ThreadSanitizer, or null without it.
    RunOrder* order() const noexcept { return tsan::is_compiled_in ? order_.get() : nullptr; }
    Failure failure_of(const Plan::Task& task) noexcept;  ///< call only in a catch handler
    /// These functions run a task. They return false if the task is not finished: it then continues
    /// in subranges, or later.
    bool run_task(std::uint32_t task, std::int64_t from_ns, Ready& ready);
    bool run_many(std::uint32_t task, std::int64_t from_ns, Ready& ready);
    bool run_branch(std::uint32_t task, Ready& ready);
    /// Starts a pass. Returns false if the completion of the pass will continue the node.
    bool run_pass(Pass& pass, const std::shared_ptr<const Plan>& body);
    /// Returns the completion of the event that a task records or waits for.
    CompletionRef& record_of_task(std::uint32_t task) noexcept;
    /// Returns whether the task, or a task ordered before it, has failed. Call when those are done.
    bool is_failed(std::uint32_t task) const noexcept {
        return states_[task].cause.load(std::memory_order_relaxed) != 0;
    }
    Failure failure(std::uint32_t task) noexcept;  ///< the task's failure if is_failed(), or null
    /// Returns the first failure of this run, or of a run whose conditional node started it, or
    /// null.
    Failure failure_beside() noexcept;
    Failure failure_of_cause(std::uint32_t cause) noexcept;
    Failure past_failure(std::size_t part) noexcept;
    /// Return the first failure of the run, or of the tasks that a part's later work is ordered
    /// after. Return null if there is none.
    Failure first_failure() noexcept;
    Failure first_failure(const Part& part) noexcept;
    void start_failed() noexcept;
    void end() noexcept;
    void finish(std::uint32_t task, Ready& ready) noexcept;
    /// Notes that one predecessor of `task` is done.
    void arrive(std::uint32_t task, Ready& ready) noexcept;
    void arrive(Ready& ready) noexcept;  ///< publishes the arrivals counted in `ready`
    void publish(Ready& ready) noexcept;
    /// Returns whether this thread has more work. If not, publishes everything that it has
    /// finished.
    bool has_more(Ready& ready) noexcept;
    void run_next(Ready& ready) noexcept;
    void leave(Ready& ready) noexcept;
    void share(Ready& ready, std::size_t keep) noexcept;
    bool take(Ready& ready) noexcept;
    void ask_for_help() noexcept;  ///< schedules the run if it has shared work
    bool is_less_urgent(std::uint32_t a, std::uint32_t b) const noexcept {
        return plan_->tasks[a].priority > plan_->tasks[b].priority;
    }
    void fail(std::uint32_t task, Failure failure) noexcept;
    void release() noexcept;
    /// Returns the time if observers request times, else 0.
    std::int64_t time() const noexcept { return is_timed_ ? now_ns() : 0; }
    /// Report to observers when and how a task ran, or the whole run did.
    void tell_task(std::uint32_t task, RunResult result, std::int64_t from_ns,
                   int workers = 1) noexcept {
        if (!is_timed_) return;
        if (!is_failed(task)) note_in_all(&GraphRun::has_run_);
        tell_run(plan_->tasks[task].told_as, result, from_ns, workers);
    }
    /// Sets a flag of this run, and of the runs whose conditional nodes started it.
    void note_in_all(std::atomic<bool> GraphRun::*flag) noexcept {
        for (GraphRun* run = this; run != nullptr; run = run->parent_)
            (run->*flag).store(true, std::memory_order_relaxed);
    }
    void tell_run(std::int64_t node, RunResult result, std::int64_t from_ns,
                  int workers = 1) const noexcept;
    /// Returns the result of the whole run, which has ended and is timed. It has succeeded if no
    /// task threw and some ran.
    RunResult result() const noexcept;

    std::shared_ptr<const Plan> plan_;
    StreamRecord& stream_;
    CompletionRef done_;
    CompletionRef over_;
    GraphRun* parent_;
    std::unique_ptr<TaskState[]> states_;
    /// For each task, the next one in its list.
    std::unique_ptr<std::uint32_t[]> links_;
    /// Parallel to Plan::events: the records made or awaited.
    std::vector<CompletionRef> records_;
    std::unique_ptr<EventWait[]> waits_;  ///< parallel to Plan::events, for tasks that wait
    std::unique_ptr<RunOrder> order_;     ///< see order()
    std::unique_ptr<Pass[]> passes_;      ///< one for each conditional node

    SpinLock lock_;
    Tasks shared_;  ///< guarded by lock_
    /// Guarded by lock_. Replaces shared_ if the plan has priorities.
    std::vector<std::uint32_t> heap_;
    Wide* wide_ = nullptr;  ///< guarded by lock_: the tasks that have subranges left
    /// Guarded by lock_: the index of the plan's next root. Threads take roots directly from the
    /// plan, so roots are in no list.
    std::size_t next_root_ = 0;
    bool listed_ = false;  ///< guarded by lock_: whether the run is in the executor's lists
    std::atomic<std::size_t> shared_count_{0};
    std::atomic<std::size_t> left_;
    /// The number of references to the run: one for each thread inside it, one while it is in the
    /// executor's lists, and one for each event or body that it waits for.
    std::atomic<int> references_{1};
    std::atomic<bool> failed_{false};  ///< whether any task has failed
    // Guarded by lock_: the failures, oldest first. The first allocates no memory.
    Failure first_failure_;
    std::vector<Failure> more_failures_;
    // Empty unless this is the run of a batch.
    std::vector<Part> parts_;
    std::vector<PartBegin> begins_;
    std::uint64_t launch_id_ = 0;  ///< OpInfo::id of the launch if observers need it; else 0
    bool is_timed_ = false;        ///< whether observers request times too
    std::atomic<bool> has_thrown_{false};  ///< whether a task has thrown an exception
    std::atomic<bool> has_run_{false};     ///< if timed: whether a task has run, and not failed
    std::int64_t timed_from_ = 0;          ///< when the run began
    Facts facts_;
};

class CpuGraphExec final : public GraphExec {
public:
    CpuGraphExec(const GraphData& graph, const SourceLocation& where);
    void launch(StreamRecord& stream, const SourceLocation& where) override;
    void launch_batch(std::span<StreamPart> parts, std::span<const PartBegin> begins,
                      std::span<PartMark> marks, const SourceLocation& where) override;
    bool update(const NodeData& node, const SourceLocation& where) override;
    void upload(StreamRecord&, const SourceLocation&) override {}

private:
    void launch(StreamRecord& stream, std::span<StreamPart> parts,
                std::span<const PartBegin> begins, const SourceLocation& where);

    std::shared_ptr<Plan> plan_;
    /// Completes when the newest launch has ended, with or without a failure.
    CompletionRef last_;
    StreamRecord* last_on_ = nullptr;  ///< the stream of the newest launch
};

}  // namespace heddle::detail::cpu
