// A CPU stream: a queue of operations. One thread at a time drains it (drain.cpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <type_traits>

#include "core/base/clock.hpp"
#include "core/seam/backend.hpp"
#include "cpu/executor/executor.hpp"
#include "cpu/executor/fibers.hpp"
#include "cpu/queue/loans.hpp"
#include "cpu/queue/queue_memory.hpp"
#include "cpu/queue/spread.hpp"
#include "cpu/queue/stream_run.hpp"

namespace heddle::detail::cpu {

/// The number of batches in submission. Their streams already wait for completions that no enqueued
/// operation promises yet.
inline constinit std::atomic<int> batches_being_sent{0};

enum class Step : std::uint8_t {
    work,     ///< run the closure
    signal,   ///< complete a Completion
    wait,     ///< continue when a Completion is done
    recover,  ///< clear the failure, in the queue and in the stream's record
    time,     ///< an observer requests the times of the work after it
    next_chunk,
};

/// The header of an operation in a chunk. The count (unless 1) and the closure follow it. Kept
/// small: the cost of a trivial operation is mostly the transfer of its cache lines from the
/// pushing core to the draining core.
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
        // A closure that needs more alignment than the chunk provides is padded.
        return head + type.size + (type.align > sizeof(void*) ? type.align : 0);
    }

    Step step() const noexcept { return static_cast<Step>(tag_ >> 1 & 0x7f); }
    std::size_t bytes() const noexcept { return bytes_; }  ///< as passed to the constructor
    const OpType& type() const noexcept { return *type_; }
    /// Returns the type's address, also in a copy that may be torn: compare it, but do not
    /// dereference it.
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
    std::shared_ptr<WorkOutcome> next;
};

/// The closure of a `time` step. The step is for the operation directly after it. Observers learn
/// which work that operation enqueues and, if `is_timed`, when it ran.
struct TimeWish {
    std::uint64_t id;  ///< OpInfo::id
    bool is_timed;     ///< whether the times are requested
};

/// Non-zero while a CPU stream is idle and no thread waits for it. look/look.cpp checks this before
/// it reads the queue, which may end at any time. The queue changes the value with its lock held.
/// Always 0 for a stream that has launched a graph, because the graph's run may end later than the
/// stream's last operation.
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
    /// Appends work. Returns false if the stream has the flag `joined`.
    bool push_unless_joined(const OpType& type, void* self, std::size_t count,
                            const SourceLocation& where);
    /// Appends a time step and the work that it reports. Returns false if the stream has the flag
    /// `joined`.
    bool push_timed_unless_joined(TimeWish wish, const OpType& type, void* self, std::size_t count,
                                  const SourceLocation& where);
    /// Counts a submission without appending an operation.
    void count_submission() noexcept {
        const std::lock_guard lock(lock_);
        stream_.submissions.store(stream_.submissions.load(std::memory_order_relaxed) + 1,
                                  std::memory_order_release);
    }
    /// Blocks until all pushes in progress have ended.
    void finish_pushes() noexcept { const std::lock_guard lock(lock_); }
    /// Marks the queue as closing. Called before any thread can wait for final(), which the queue
    /// then promises to complete.
    void begin_to_close() noexcept {
        const std::lock_guard lock(lock_);
        closes_ = true;
        final_->promise(stream_, pushed_.load(std::memory_order_relaxed) + 1);
        set_at_rest(false);
    }
    void push_signal(CompletionRef done, bool timing);
    void push_wait(CompletionRef done, const SourceLocation& where);
    /// Appends a wait. Returns false, and leaves `done` unchanged, if the stream has the flag
    /// `joined`.
    bool push_wait_unless_joined(CompletionRef& done, const SourceLocation& where);
    /// Appends a signal without running any operation, for callers that hold locks. Returns true if
    /// the queue was idle: the caller must then release its locks and call advance(). The queue is
    /// not destroyed before that call.
    [[nodiscard]] bool add_signal(CompletionRef done);
    /// Like add_signal(), but clears the stream's failure. `done` completes with the failure that
    /// was cleared.
    [[nodiscard]] bool add_recover(CompletionRef done);
    /// An operation for push_all().
    struct Entry {
        Step step;
        const OpType& type;
        void* self;  ///< the closure to move from
        SourceLocation where;
    };
    /// Appends all entries. If it throws, none is appended. They count as submissions.
    void push_all(std::initializer_list<Entry> entries);
    /// Like push_all(), but returns false if the stream has the flag `joined`.
    bool push_all_unless_joined(std::initializer_list<Entry> entries);
    /// Closes the queue; no push may follow. When all operations are done, final() completes and
    /// the queue deletes itself. Does not allocate.
    void retire() noexcept;
    CompletionRef& final() noexcept { return final_; }

    /// Returns whether all pushed operations are done.
    bool is_idle() const noexcept {
        return done_.load(std::memory_order_acquire) == pushed_.load(std::memory_order_acquire);
    }
    /// Return the number of operations, of all kinds, pushed and done.
    std::uint64_t pushed() const noexcept { return pushed_.load(std::memory_order_acquire); }
    std::uint64_t done() const noexcept { return done_.load(std::memory_order_acquire); }
    void run() noexcept override;  ///< called on a worker
    void resume() noexcept;        ///< called when the awaited Completion is done
    /// Drains the queue as far as possible, but not beyond `until`. With `insists`, runs the first
    /// operation even if more urgent work is ready. Returns false if other work takes precedence
    /// and the queue was rescheduled. Call after the executor has removed the queue from its lists.
    bool drain(const Completion* until, bool insists = false) noexcept;
    /// Executes signals and waits on the calling thread, which need not be a worker. Schedules work
    /// for a worker. Waking a worker costs far more than such a step.
    void advance() noexcept;
    /// Called by the last thread of a spread kernel.
    void finish_spread() noexcept;

    /// Returns the stream's fibers. Returns null without ThreadSanitizer, or if nothing was ever
    /// pushed.
    Fibers* fibers() const noexcept {
        return tsan::is_compiled_in ? fibers_.load(std::memory_order_acquire) : nullptr;
    }
    /// Returns the stream's fibers. The first call creates them. Call only under ThreadSanitizer.
    /// Thread-safe.
    Fibers& made_fibers() {
        const std::lock_guard lock(lock_);
        make_fibers();
        return *fibers();
    }
    /// Returns the fiber of the stream's operations, or null. Call only on the draining thread.
    Fiber* fiber() const noexcept {
        Fibers* const all = fibers();
        return all != nullptr ? &all->main() : nullptr;
    }
    /// Orders the calling thread after all completed work, for ThreadSanitizer. Call after
    /// is_idle() has returned true, or after done().
    void see_idle() const noexcept { tsan::acquire(order()); }

    /// Stores which graph run the stream starts, for look/look.cpp. The run may be destroyed later.
    /// Returns the run's serial, which is unique in the stream. Call only on the draining thread.
    std::uint64_t note_run(const StreamRun* run) noexcept {
        const std::uint64_t serial = run_serial_.load(std::memory_order_relaxed) + 1;
        run_.store(run, std::memory_order_relaxed);
        run_serial_.store(serial, std::memory_order_relaxed);
        return serial;
    }

    // Call these with StreamRecord::life held:
    /// Lends the queue the priority `level` until done() reaches a count, of which `until` is the
    /// lower 32 bits. Returns false without lending if the queue's priority is at least that high
    /// until then, or if the count was already reached.
    bool borrow(int level, std::uint32_t until) noexcept;
    /// Adds to `to` the completions that the queue and its graph runs wait for.
    void add_awaited(std::vector<Completion*>& to) const;
    Completion* awaited() const noexcept { return awaited_.load(); }
    /// Removes one of the queue's graph runs from the executor's lists and returns it: the caller
    /// must run it. Returns null if none is listed.
    StreamRun* take_run() noexcept;
    /// Sets `to` to a completion that the queue or one of its runs waits for. Returns false if
    /// there is none.
    bool hold_awaited(CompletionRef& to) const noexcept;

    /// Applies loans also to the run. The run must call remove() before the queue can continue.
    void add(StreamRun& run) noexcept;
    void remove(StreamRun& run) noexcept;

    Failure failure() const;  ///< returns the failure that has poisoned the stream so far, or null

    StreamRecord& stream() noexcept { return stream_; }

private:
    friend class Spread;
    friend class QueueLook;
    friend struct QueueOffsets;
    struct Waiting : Waiter {
        Queue* queue;
    };

    /// The address of the release and acquire that show completed work to ThreadSanitizer.
    const void* order() const noexcept { return &cost_; }
    /// Returns whether work of this type runs on a fiber. heddle's own work runs directly on the
    /// worker.
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
    /// Declares to ThreadSanitizer that the work so far is ordered before `done`, which the caller
    /// completes.
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
    /// Records that the next operation to be appended will complete `done`.
    void promise(const CompletionRef& done) noexcept {
        done->promise(stream_, pushed_.load(std::memory_order_relaxed) + 1);
    }
    void put(Operation& op, void* self) noexcept;
    void recover(Operation& op) noexcept;
    /// Steps over the operation, then completes `done`.
    void step_over(Operation& op, const CompletionRef& done, Failure failure,
                   std::int64_t time_ns) noexcept;
    void end() noexcept;  ///< deletes the queue
    /// Waits for `done` at a wait step. Returns false if it has completed. Otherwise the caller no
    /// longer owns the queue.
    bool park(Completion& done) noexcept;
    /// Ends the loans that have expired. Call only on the draining thread.
    void end_loans() noexcept;
    void use_level() noexcept;  ///< call with StreamRecord::life held
    /// Returns whether there is an operation to drain. Call only on the draining thread.
    bool has_more() noexcept {
        const std::uint64_t done = done_.load(std::memory_order_relaxed);
        if (done == seen_) seen_ = pushed_.load(std::memory_order_acquire);
        return done != seen_;
    }
    bool has_caught_up() const noexcept { return done_.load(std::memory_order_relaxed) == seen_; }
    /// Tries to release the queue. Returns true if no operation is left; the caller then no longer
    /// owns the queue. Returns false if more has been pushed.
    bool is_done() noexcept;
    enum class Next : std::uint8_t { more, idle, suspended, work, timed_work };
    /// Executes the next step unless it is work. Returns `work` or `timed_work` if a worker has to
    /// run the next step. After `idle` and `suspended` the caller no longer owns the queue.
    Next step() noexcept;
    Operation& next_operation() noexcept {
        return *reinterpret_cast<Operation*>(head_->data() + head_offset_);
    }
    /// These functions run the operation. They return false if other threads will finish it.
    bool run_work(Operation& op) noexcept;
    bool run_timed(Operation& wish) noexcept;  ///< also runs the work after it
    bool execute(Operation& op, Failure& failure) noexcept;
    /// Reports the start, the end and the number of workers of the timed work to observers.
    void tell_run(bool has_failed) noexcept;
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
    std::atomic<Chunk*> cached_chunk_{nullptr};

    // Written by the draining thread.
    alignas(64) std::atomic<std::uint64_t> done_{0};
    /// The last value read from pushed_, whose cache line belongs to the pushing threads.
    std::uint64_t seen_ = 0;
    Chunk* head_ = nullptr;
    std::size_t head_offset_ = 0;
    /// The number of work operations and waits executed or dropped so far, counted as in
    /// StreamState::submissions.
    std::uint64_t worked_ = 0;
    /// The completion of a step that has been stepped over, until it completes. look/look.cpp finds
    /// it only here.
    std::atomic<const Completion*> completing_{nullptr};
    /// Whether the stream has failed. The stream's record has the same flag. Only the draining
    /// thread changes these two flags, in stream order.
    bool failed_ = false;
    std::atomic<bool> has_loans_{false};  ///< read by the draining thread; written with `life` held
    bool timed_is_spread_ = false;  ///< whether several threads may share the work of timed_id_
    Waiting waiting_;
    std::atomic<Completion*> awaited_{nullptr};  ///< the completion that waiting_ waits for
    Spread spread_;
    IndexCost cost_;  ///< measured for the last kernel with several indices
    /// OpInfo::id of the running work if observers request the work's times; else 0.
    std::uint64_t timed_id_ = 0;
    std::int64_t timed_from_ = 0;  ///< when the work of timed_id_ began

    // Guarded by StreamRecord::life:
    Loans loans_;
    StreamRun* runs_ = nullptr;  ///< the graph runs in progress

    std::atomic<const StreamRun*> run_{nullptr};
    std::atomic<std::uint64_t> run_serial_{0};
    std::atomic<Fibers*> fibers_{nullptr};  ///< made under lock_ at the first push
    /// Allocated with the queue, because closing a stream must not fail.
    CompletionRef final_ = make_completion();
    StreamRecord& stream_;
};

inline Queue& queue_of(StreamRecord& stream) noexcept {
    return *static_cast<Queue*>(stream.native);
}

/// Returns the stream's queue, or null once its owner has closed it. Call with StreamRecord::life
/// held.
Queue* open_queue(StreamRecord& stream) noexcept;

/// Returns a completion of all work enqueued on the stream so far. Returns null if that work has
/// completed without failure, if the stream no longer exists, or if it belongs to the parent of a
/// fork. Accepts streams that are being closed or no longer exist.
CompletionRef pending_work(const StreamUse& use);

/// Enqueues a wait. If the stream has joined a batch since the caller checked its flags, flushes
/// that batch and enqueues the wait after it: only the caller's next work must wait, not the
/// batch's.
void push_wait(StreamRecord& waiter, CompletionRef done, const SourceLocation& where);

/// The type of a Step::wait operation, whose closure is a CompletionRef.
extern const OpType wait_type;

/// Returns the type of operations with this step. Returns null for Step::work, which may have any
/// type.
const OpType* type_of(Step step) noexcept;

/// The space kept free at the end of each chunk, for Step::next_chunk.
inline constexpr std::size_t operation_alignment = 16;
inline constexpr std::size_t link_bytes =
    (sizeof(Operation) + operation_alignment - 1) / operation_alignment * operation_alignment;

}  // namespace heddle::detail::cpu
