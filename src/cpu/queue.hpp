// A CPU stream: a queue of operations. One thread at a time takes it and drains it (drain.cpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <type_traits>

#include "core/base/clock.hpp"
#include "core/seam/backend.hpp"
#include "cpu/executor.hpp"
#include "cpu/fibers.hpp"
#include "cpu/loans.hpp"
#include "cpu/queue_memory.hpp"
#include "cpu/spread.hpp"

namespace heddle::detail::cpu {

/// The type of the operation that starts a graph (graph_plan.cpp).
extern const OpType start_type;
/// How many batches are being sent whose streams wait already for what is not yet enqueued.
extern std::atomic<int> batches_being_sent;

enum class Step : std::uint8_t {
    work,     ///< run the closure
    signal,   ///< complete a Completion
    wait,     ///< continue when a Completion is done
    recover,  ///< clear the failure, in the queue and in the stream's record
    time,     ///< an observer wants to know when the work behind it runs
    next_chunk,
};

/// The header of an operation in a chunk. The count, if it is not 1, and the closure follow it.
/// Kept small: a trivial operation costs mostly the transfer of its cache lines from the pushing
/// core to the draining one.
class Operation {
public:
    Operation(Step step, std::size_t bytes, const OpType& type, std::size_t count,
              const SourceLocation& where) noexcept
        : type_(&type), file_(where.file), bytes_(static_cast<std::uint32_t>(bytes)),
          tag_(where.line << 8 | static_cast<std::uint32_t>(step) << 1 |
               std::uint32_t{count != 1}) {
        if (is_counted()) __builtin_memcpy(after(), &count, sizeof count);
    }
    /// Returns the bytes of header, count and closure together, including padding.
    static std::size_t size_for(const OpType& type, std::size_t count) noexcept {
        const std::size_t head = sizeof(Operation) + (count != 1 ? sizeof count : 0);
        // A closure that needs more alignment than the chunk provides gets padding of its own.
        return head + type.size + (type.align > sizeof(void*) ? type.align : 0);
    }

    Step step() const noexcept { return static_cast<Step>(tag_ >> 1 & 0x7f); }
    std::size_t bytes() const noexcept { return bytes_; }  ///< as passed to the constructor
    const OpType& type() const noexcept { return *type_; }
    /// The same, also of a copy that may be torn: to compare, not to follow.
    const OpType* type_address() const noexcept { return type_; }
    SourceLocation where() const noexcept { return {file_, tag_ >> 8}; }
    bool is_counted() const noexcept { return (tag_ & 1) != 0; }
    std::size_t count() noexcept {
        std::size_t count = 1;
        if (is_counted()) __builtin_memcpy(&count, after(), sizeof count);
        return count;
    }
    void* closure() noexcept {
        const auto first =
            reinterpret_cast<std::uintptr_t>(after()) + (is_counted() ? sizeof(std::size_t) : 0);
        return reinterpret_cast<void*>((first + type_->align - 1) / type_->align * type_->align);
    }

private:
    void* after() noexcept { return this + 1; }

    const OpType* type_;
    const char* file_;
    std::uint32_t bytes_;
    std::uint32_t tag_;  ///< source line (24 bits), step (7), whether a count follows (1)
};
static_assert(sizeof(Operation) == 24);
static_assert(std::is_trivially_copyable_v<Operation>);

/// The closure of a signal step.
struct Signal {
    CompletionRef done;
    bool timing;
};
/// The closure of a recover step.
struct Recovery {
    CompletionRef done;
    std::shared_ptr<Fate> next;
};

/// The closure of a time step: what observers want to know of the work behind it.
struct TimeWish {
    std::uint64_t id;  ///< OpInfo::id
    bool is_timed;     ///< when it runs; else only what it enqueues
};

class GraphRun;

/// Not 0 while a CPU stream has nothing to do, and nobody waits for it: what looks ask first. The
/// queue, which may go at any time, changes it under its lock. A stream that has launched a graph
/// always has 0: the run ends behind the operations.
inline std::atomic<std::uint64_t>& at_rest(StreamRecord& stream) noexcept {
    return stream.seen_complete;
}

class Queue final : public Runnable {
public:
    Queue(StreamRecord& stream, int level);
    ~Queue();

    /// Appends an operation. `counts`: whether it counts as a submission of the stream.
    /// Thread-safe.
    void push(Step step, const OpType& type, void* self, std::size_t count,
              const SourceLocation& where, bool counts);
    /// Appends work, or returns false if the stream has the flag `joined`.
    bool push_unless_joined(const OpType& type, void* self, std::size_t count,
                            const SourceLocation& where);
    /// The same, and observers are told of it when it runs.
    bool push_timed_unless_joined(TimeWish wish, const OpType& type, void* self, std::size_t count,
                                  const SourceLocation& where);
    /// Waits until every push that has begun has ended.
    void finish_pushes() noexcept { const std::lock_guard lock(lock_); }
    /// Is called before anybody can wait for final(): from then on the queue has that to complete.
    void begin_to_close() noexcept {
        const std::lock_guard lock(lock_);
        closes_ = true;
        final_->promise(stream_, pushed_.load(std::memory_order_relaxed) + 1);
        set_at_rest(false);
    }
    void push_signal(CompletionRef done, bool timing);
    void push_wait(CompletionRef done, const SourceLocation& where);
    /// The same, or returns false and leaves `done` if the stream has the flag `joined`.
    bool push_wait_unless_joined(CompletionRef& done, const SourceLocation& where);
    /// Appends a signal without running anything, for callers that hold locks. Returns true if the
    /// queue was idle: the caller then has to release its locks and call advance(). Until then the
    /// queue is not destroyed.
    [[nodiscard]] bool add_signal(CompletionRef done);
    /// Like add_signal(), but clears the stream's failure. `done` completes with the failure that
    /// was cleared.
    [[nodiscard]] bool add_recover(CompletionRef done);
    /// An operation for push_all().
    struct Entry {
        Step step;
        const OpType& type;
        void* self;  ///< closure to move from
        SourceLocation where;
    };
    /// Appends all entries or, if it throws, none. They count as submissions.
    void push_all(std::initializer_list<Entry> entries);
    /// Like push_all(), or returns false if the stream has the flag `joined`.
    bool push_all_unless_joined(std::initializer_list<Entry> entries);
    /// Closes the queue: nothing is pushed after this. When all operations are done, final()
    /// completes and the queue deletes itself. Does not allocate.
    void retire() noexcept;
    CompletionRef& final() noexcept { return final_; }

    /// Returns whether everything pushed is done.
    bool is_idle() const noexcept {
        return done_.load(std::memory_order_acquire) == pushed_.load(std::memory_order_acquire);
    }
    /// Return how many operations, of all sorts, have been pushed, and are done.
    std::uint64_t pushed() const noexcept { return pushed_.load(std::memory_order_acquire); }
    std::uint64_t done() const noexcept { return done_.load(std::memory_order_acquire); }
    void run() noexcept override;  ///< called on a worker
    void resume() noexcept;        ///< called when the awaited Completion is done
    /// Drains the queue as far as it goes, but not beyond `until`. Call it after the executor has
    /// removed the queue from its lists. Returns false if it went back there for others' sake.
    /// `insists`: whether it runs an operation also if something more urgent is ready.
    bool drain(const Completion* until, bool insists = false) noexcept;
    /// Executes signals and waits on the calling thread, whichever it is, and leaves work to a
    /// worker. Waking a worker costs far more than such a step.
    void advance() noexcept;
    /// Called by the last thread of a spread kernel.
    void finish_spread() noexcept;

    /// Returns the stream's fibers; null without ThreadSanitizer, or if nothing was ever pushed.
    Fibers* fibers() const noexcept {
        return tsan::is_compiled_in ? fibers_.load(std::memory_order_acquire) : nullptr;
    }
    /// Makes them if there are none. Only under ThreadSanitizer. Thread-safe.
    Fibers& made_fibers() {
        const std::lock_guard lock(lock_);
        make_fibers();
        return *fibers();
    }
    /// Returns the fiber of its operations, or null. Call only on the draining thread.
    Fiber* fiber() const noexcept {
        Fibers* const all = fibers();
        return all != nullptr ? &all->main() : nullptr;
    }
    /// Tells ThreadSanitizer that the calling thread goes on after all that is done. Call it after
    /// is_idle() has returned true, or done().
    void see_idle() const noexcept { tsan::acquire(order()); }

    /// Notes which run of a graph the stream starts, for looks. The run may be gone later. Returns
    /// its serial, which no other run of the stream has. Call only on the draining thread.
    std::uint64_t note_run(const GraphRun* run) noexcept {
        const std::uint64_t serial = run_serial_.load(std::memory_order_relaxed) + 1;
        run_.store(run, std::memory_order_relaxed);
        run_serial_.store(serial, std::memory_order_relaxed);
        return serial;
    }

    // Call these with StreamRecord::life held:
    /// Lends the queue a level until so many operations are done (the lower half of the number).
    /// Returns false if it has that level until then anyway, or has done so many.
    bool borrow(int level, std::uint32_t until) noexcept;
    /// Adds to `to` what the queue waits for, and its runs of graphs.
    void add_awaited(std::vector<Completion*>& to) const;
    Completion* awaited() const noexcept { return awaited_.load(); }
    /// Removes one of its runs of graphs from the executor's lists; the caller then has to run it.
    /// Returns null if there is none.
    GraphRun* take_run() noexcept;
    /// Sets `to` to what the queue, or one of its runs, waits for. Returns false if it moves on.
    bool hold_awaited(CompletionRef& to) const noexcept;

    /// Lets loans reach the run from now on. The run has to call remove() before the queue can go
    /// on.
    void add(GraphRun& run) noexcept;
    void remove(GraphRun& run) noexcept;

    Failure failure() const;  ///< the failure that has poisoned the stream so far, or null

    StreamRecord& stream() noexcept { return stream_; }

private:
    friend class Spread;
    friend class QueueLook;
    friend struct QueueOffsets;
    struct Waiting : Waiter {
        Queue* queue;
    };

    /// The address at which ThreadSanitizer is told of the work that is done.
    const void* order() const noexcept { return &cost_; }
    /// Whether ThreadSanitizer sees the work as a fiber's. heddle's own work runs on the worker.
    bool is_on_fiber(const OpType& type) const noexcept {
        return fibers() != nullptr && &type != &start_type;
    }
    void* closure_of(Operation& op) const noexcept {
        return is_on_fiber(op.type()) ? *static_cast<void**>(op.closure()) : op.closure();
    }
    void make_fibers() {
        if (tsan::is_here() && fibers() == nullptr) [[unlikely]]
            fibers_.store(new Fibers(stream_), std::memory_order_release);
    }
    /// Tells ThreadSanitizer that `done` is the work so far. The caller completes `done`.
    void order_before(const Completion& done) noexcept;
    bool is_joined() const noexcept {
        return (stream_.flags.load(std::memory_order_relaxed) & stream_flag::joined) != 0;
    }
    bool add(Step step, const OpType& type, void* self, std::size_t count,
             const SourceLocation& where, bool counts);
    // Call these with the lock held:
    void add_chunk(std::size_t bytes);
    std::byte* reserve(std::size_t bytes);
    bool append(Step step, const OpType& type, void* self, std::size_t count,
                const SourceLocation& where, bool counts);
    bool append_all(std::initializer_list<Entry> entries);
    bool note_pushed(std::size_t count, std::size_t submissions) noexcept;
    void set_at_rest(bool rests) noexcept {
        at_rest(stream_).store(rests ? 1 : 0, std::memory_order_release);
    }
    /// Notes that the next operation to be appended completes `done`.
    void promise(const CompletionRef& done) noexcept {
        done->promise(stream_, pushed_.load(std::memory_order_relaxed) + 1);
    }
    void put(Operation& op, void* self) noexcept;
    void recover(Operation& op) noexcept;
    /// Steps over the operation, then completes.
    void step_over(Operation& op, const CompletionRef& done, Failure failure,
                   std::int64_t time_ns) noexcept;
    void end() noexcept;  ///< deletes the queue
    /// Waits for `done` at a wait step. Returns false if it has completed; else the caller no
    /// longer owns the queue.
    bool park(Completion& done) noexcept;
    /// Ends the loans that are over. Call only on the draining thread.
    void end_loans() noexcept;
    void use_level() noexcept;  ///< call with StreamRecord::life held
    /// Returns whether there is something to drain. Call only on the draining thread.
    bool has_more() noexcept {
        const std::uint64_t done = done_.load(std::memory_order_relaxed);
        if (done == seen_) seen_ = pushed_.load(std::memory_order_acquire);
        return done != seen_;
    }
    bool has_caught_up() const noexcept { return done_.load(std::memory_order_relaxed) == seen_; }
    /// Returns true if nothing is left; the caller then no longer owns the queue. Returns false if
    /// more has been pushed.
    bool is_done() noexcept;
    enum class Next : std::uint8_t { more, idle, suspended, work, timed_work };
    /// Executes the next step unless it is work. Returns `work` or `timed_work` if a worker has to
    /// run the next step. After `idle` and `suspended` the caller no longer owns the queue.
    Next step() noexcept;
    Operation& next_operation() noexcept {
        return *reinterpret_cast<Operation*>(head_->data() + head_offset_);
    }
    /// These return false if other threads will finish the work.
    bool run_work(Operation& op) noexcept;
    bool run_timed(Operation& wish) noexcept;  ///< also runs the work behind it
    bool execute(Operation& op, Failure& failure) noexcept;
    /// Tells observers when the timed work ran, on so many workers.
    void tell_times() noexcept;
    bool run_many(Operation& op);
    void learn_cost() noexcept;
    void finish_work(Operation& op, Failure failure) noexcept;
    void step_over(Operation& op) noexcept;
    void fail(Failure failure) noexcept;

    // Written by pushing threads, guarded by lock_.
    alignas(64) SpinLock lock_;
    /// Whether the queue is in the executor's lists, being drained, or waiting for a completion.
    bool scheduled_ = false;
    Chunk* tail_ = nullptr;
    std::size_t tail_offset_ = 0;
    bool retired_ = false;
    bool closes_ = false;
    std::atomic<std::uint64_t> pushed_{0};
    std::atomic<Chunk*> spare_{nullptr};

    // Written by the draining thread.
    alignas(64) std::atomic<std::uint64_t> done_{0};
    /// The last value read from pushed_, whose cache line belongs to the pushing threads.
    std::uint64_t seen_ = 0;
    Chunk* head_ = nullptr;
    std::size_t head_offset_ = 0;
    /// Work and waits executed or dropped so far: counts as StreamState::submissions does.
    std::uint64_t worked_ = 0;
    /// What a step that is over still has to complete. Looks would find it nowhere else.
    std::atomic<const Completion*> completing_{nullptr};
    /// Same as in the stream's record. Only the draining thread changes either, in stream order.
    bool failed_ = false;
    std::atomic<bool> has_loans_{false};  ///< read by the draining thread; set under `life`
    bool timed_is_spread_ = false;  ///< whether several threads may share what timed_id_ is of
    Waiting waiting_;
    std::atomic<Completion*> awaited_{nullptr};  ///< by waiting_
    Spread spread_;
    IndexCost cost_;  ///< of the last kernel over several indices
    /// OpInfo::id of the work that runs, if observers want its times; else 0.
    std::uint64_t timed_id_ = 0;
    std::int64_t timed_from_ = 0;  ///< when it began

    // Guarded by StreamRecord::life:
    Loans loans_;
    GraphRun* runs_ = nullptr;  ///< those that run

    std::atomic<const GraphRun*> run_{nullptr};
    std::atomic<std::uint64_t> run_serial_{0};
    std::atomic<Fibers*> fibers_{nullptr};  ///< made under lock_ at the first push
    /// Allocated now, because closing a stream must not fail.
    CompletionRef final_ = make_completion();
    StreamRecord& stream_;
};

/// The type of a Step::wait, whose closure is a CompletionRef.
extern const OpType wait_type;

/// Returns the one type that operations of this step have; null for work, which may have any.
const OpType* type_of(Step step) noexcept;

/// At the end of each chunk so much is free, for Step::next_chunk.
inline constexpr std::size_t operation_alignment = 16;
inline constexpr std::size_t link_bytes =
    (sizeof(Operation) + operation_alignment - 1) / operation_alignment * operation_alignment;

}  // namespace heddle::detail::cpu
