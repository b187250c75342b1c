// A graph on CPU devices: a plan of tasks, and its runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/graph.hpp"
#include "cpu/executor.hpp"
#include "cpu/queue.hpp"

namespace heddle::detail::cpu {

struct Plan;

/// What a conditional node has become.
struct Branch {
    ConditionalKind kind;
    int* value;
    std::vector<std::shared_ptr<const Plan>> bodies;
    std::size_t index;  ///< among the plan's conditional nodes

    const std::shared_ptr<const Plan>* chosen() const noexcept;  ///< as the value says now; null: none
};

/// What a graph's nodes have become: closures with successors. Not changed while a run has it.
struct Plan {
    struct Task {
        const OpType* type = nullptr;  ///< null: does nothing
        void* self = nullptr;          ///< the closure
        SharedClosure closure;         ///< who owns it; null where the plan does
        std::size_t count = 0;
        NodeKind kind = NodeKind::empty;
        EventOwner event;
        std::shared_ptr<const Branch> branch;
        int priority = 0;
        bool enabled = true;
        std::int32_t waits_for = 0;  ///< tasks, and one more for an event
        std::uint32_t first_successor = 0;
        std::uint32_t successors = 0;
        SourceLocation where;
        std::shared_ptr<const std::string> name;  ///< as its node was given; for failures
    };
    /// Closures that are nothing but bytes, in the order of their nodes: strewn over the heap each would cost a miss. Never changed, so copies of the
    /// plan share it.
    std::shared_ptr<std::byte[]> closures;
    std::vector<Task> tasks;
    std::vector<std::uint32_t> successors;
    std::vector<std::uint32_t> roots;
    std::vector<std::uint32_t> events;  ///< tasks that record an event or wait for one
    std::size_t branches = 0;           ///< conditional nodes
    bool has_priorities = false;        ///< not all tasks are equal: see GraphRun::share
    /// Runs that have it. Not shared_ptr::use_count(), which says nothing of what the last run did before it let go.
    mutable std::atomic<int> runs{0};

    Plan() = default;
    Plan(const Plan& other)
        : closures(other.closures), tasks(other.tasks), successors(other.successors), roots(other.roots),
          events(other.events), branches(other.branches), has_priorities(other.has_priorities) {}
};

/// (graph_plan.cpp)
std::shared_ptr<Plan> make_plan(const GraphData& graph);
void set_task(Plan& plan, const NodeData& node);

/// One launch of a graph, or one pass through a conditional node's body. Workers join in as long as there is something for them; the last one
/// out deletes it.
class GraphRun final : public Runnable {
public:
    /// `done` happens with the run's failure, `over`, if not null, without it. All the memory that the run takes, but for its passes through
    /// bodies, it takes here.
    GraphRun(std::shared_ptr<const Plan> plan, StreamRecord& stream, int level, CompletionRef done,
             CompletionRef over, GraphRun* parent = nullptr);
    ~GraphRun() override { plan_->runs.fetch_sub(1, std::memory_order_release); }

    /// What it records. Making that what the events stand for is up to who launches it.
    struct Record {
        EventState& event;
        CompletionRef done;
    };
    std::vector<Record> records() const;

    /// Begins; the calling thread takes part until nothing is ready.
    void start() noexcept;
    void run() noexcept override;  ///< a worker joins in

private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    /// A task made of many indices, taken apart.
    struct Wide {
        std::uint32_t task;
        std::size_t next;  ///< under lock_: index that the next piece begins with
        std::size_t end;
        std::size_t grain;
        std::atomic<std::size_t> pieces;  ///< not done
        Wide* other = nullptr;            ///< under lock_: in wide_

        std::size_t left() const noexcept { return (end - next + grain - 1) / grain; }
    };
    struct Piece {
        Wide* wide = nullptr;
        std::size_t begin = 0;
        std::size_t end = 0;
    };
    /// Tasks, the newest first, linked through links_: a task stands in one list at most.
    struct Tasks {
        std::uint32_t first = none;
        std::size_t size = 0;
    };
    struct EventWait : Waiter {
        GraphRun* run = nullptr;
        std::uint32_t task = 0;
    };

    /// What a thread inside has taken.
    struct Ready : Tasks {
        Piece piece{};       ///< between take() and run_next()
        bool leave = false;  ///< others are to have this thread
        // What settle() will tell:
        std::size_t finished = 0;
        std::uint32_t successor = 0;
        std::int32_t arrivals = 0;  ///< at the successor, one that waits for many
    };
    /// A pass through a conditional node's body. Whoever is second, the thread that started it or the pass itself, goes on.
    struct Pass : Waiter {
        GraphRun* run = nullptr;
        std::uint32_t task = 0;
        bool has_run = false;
        std::atomic<bool> one_is_done{false};
    };

    void join() noexcept;
    void push(Tasks& tasks, std::uint32_t task) noexcept;
    /// Takes the newest ones of `from` apart and puts them on top of `to`, in their order.
    void move_newest(Tasks& from, std::size_t count, Tasks& to) noexcept;
    std::size_t count_shared() const noexcept;  ///< under lock_
    bool take_piece(Ready& ready) noexcept;     ///< the same
    void run_piece(const Piece& piece, Ready& ready) noexcept;
    void run_item(std::uint32_t task, Ready& ready) noexcept;
    Failure failure_of(const Plan::Task& task) noexcept;  ///< in a handler
    bool run_task(std::uint32_t task, Ready& ready);      ///< false: goes on in pieces, or later
    bool run_branch(std::uint32_t task, Ready& ready);    ///< the same for a conditional node
    bool run_pass(Pass& pass, const std::shared_ptr<const Plan>& body);  ///< false: goes on elsewhere
    bool is_failed() const noexcept;  ///< this run, or one that it is a part of
    Failure failure() noexcept;       ///< why
    void finish(std::uint32_t task, Ready& ready) noexcept;
    void arrive(std::uint32_t task, Ready& ready) noexcept;  ///< one of those it waits for is done
    void arrive(Ready& ready) noexcept;                      ///< those that were held back
    void settle(Ready& ready) noexcept;
    bool has_more(Ready& ready) noexcept;  ///< for this thread to do; else everything has been told
    void run_next(Ready& ready) noexcept;
    void leave(Ready& ready) noexcept;
    void share(Ready& ready, std::size_t keep) noexcept;
    bool take(Ready& ready) noexcept;
    void ask_for_help() noexcept;  ///< somebody comes, as long as something is left
    bool is_less_urgent(std::uint32_t a, std::uint32_t b) const noexcept {
        return plan_->tasks[a].priority > plan_->tasks[b].priority;
    }
    void fail(Failure failure) noexcept;
    void release() noexcept;

    std::shared_ptr<const Plan> plan_;
    StreamRecord& stream_;
    CompletionRef done_;
    CompletionRef over_;
    GraphRun* parent_;
    std::unique_ptr<std::atomic<std::int32_t>[]> waits_for_;
    std::unique_ptr<std::uint32_t[]> links_;  ///< for each task: the next one in its list
    std::vector<CompletionRef> records_;      ///< for Plan::events, where they record
    std::unique_ptr<EventWait[]> waits_;      ///< and where they wait
    std::unique_ptr<Pass[]> passes_;          ///< of conditional nodes

    SpinLock lock_;
    Tasks shared_;                     ///< under lock_
    std::vector<std::uint32_t> heap_;  ///< under lock_; with priorities in place of shared_
    Wide* wide_ = nullptr;             ///< under lock_: those with pieces left
    std::size_t next_root_ =
        0;  ///< under lock_: of the plan's roots, which are taken from there and never stand in a list
    bool listed_ = false;  ///< under lock_: in the executor's lists
    std::atomic<std::size_t> shared_count_{0};
    std::atomic<std::size_t> left_;
    std::atomic<int> references_{1};  ///< threads inside, a place in the lists, events waited for
    std::atomic<bool> failed_{false};
    Failure failure_;
};

class CpuGraphExec final : public GraphExec {
public:
    CpuGraphExec(const GraphData& graph, const SourceLocation& where);
    void launch(StreamRecord& stream, const SourceLocation& where) override;
    bool update(const NodeData& node, const SourceLocation& where) override;
    void upload(StreamRecord&, const SourceLocation&) override {}

private:
    std::shared_ptr<Plan> plan_;
    CompletionRef last_;               ///< of the newest launch: it is over, whatever became of it
    StreamRecord* last_on_ = nullptr;  ///< where it was launched last
};

/// Closures of copies and fills. (memory.cpp)
SharedClosure copy_closure(const Piece& to, const Piece& from, const OpType*& type, std::size_t& count);
SharedClosure fill_closure(const Piece& to, const void* value, std::size_t size, const OpType*& type,
                           std::size_t& count);

}  // namespace heddle::detail::cpu
