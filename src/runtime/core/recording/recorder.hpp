// Recorders put the work of streams on a tape instead of enqueuing it. A capture turns its tape
// into a graph. A batch does so, too, and launches the graph.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/free_list.hpp"
#include "core/base/ids.hpp"
#include "core/graph/batch_part.hpp"
#include "core/recording/tape.hpp"
#include "core/stream/recorded_calls.hpp"
#include <heddle/recording/capture.hpp>

namespace heddle::detail {

/// A mutex whose waiters sleep instead of spinning, because flushing a batch takes long.
class RecorderLock {
public:
    void lock() noexcept {
        int seen = free;
        if (state_.compare_exchange_strong(seen, taken, std::memory_order_acquire)) return;
        while (state_.exchange(contended, std::memory_order_acquire) != free)
            state_.wait(contended, std::memory_order_relaxed);
    }
    bool try_lock() noexcept {
        int seen = free;
        return state_.compare_exchange_strong(seen, taken, std::memory_order_acquire);
    }
    void unlock() noexcept {
        if (state_.exchange(free, std::memory_order_release) == contended) state_.notify_one();
    }
    /// Returns whether any thread has waited for the lock since it was acquired. For tests.
    bool is_awaited() const noexcept { return state_.load() == contended; }

private:
    static constexpr int free = 0, taken = 1, contended = 2;
    std::atomic<int> state_{free};
};

/// One capture or one open batch, and the streams that take part. Recorders are reused and never
/// destroyed. So a recorder that was read from a stream's state can always be locked. With the lock
/// held, check whether the recorder still records the stream.
///
/// The change from recorded work to submitted work is one step for other threads (docs/adr/0022).
/// The thread that flushes holds the lock from its first access to the tape until the stream is
/// ordered after the submitted work. Until then, the stream's flag `recording` stays set, so other
/// threads wait for the lock.
class Recorder {
public:
    /// A point in the recording. A waiter must be ordered after the work that the point includes.
    struct Point {
        std::vector<std::uint32_t> last_ops;  ///< indices of the operations that the work ends with
        /// For batches: indices of participants. Their work from before the tape is included, too.
        std::vector<std::uint32_t> begins;
        /// For batches: true if the point includes allocations on the first stream.
        bool allocated = false;
    };
    struct LentMemory {
        std::uint64_t loan;  ///< RecordedLoan::number
        MemoryArgument memory;
    };
    /// A stream that takes part. The recording began on the stream of participant 0.
    struct Participant {
        StreamRecord* stream = nullptr;  ///< null after the stream has left
        std::uint64_t stream_id = 0;
        /// The number of the stream's submissions when it joined, or at the last flush if that was
        /// later.
        std::uint64_t submitted = 0;
        Point at;               ///< the work that the stream's next operation must follow
        StreamPart::Past past;  ///< for batches: earlier work of the stream that can still fail
        /// Index of the stream's newest operation. -1 if the next kernel must not overlap that
        /// operation.
        std::int64_t own = -1;
        /// If the stream's next kernel waits for a programmatic event: index of the operation
        /// before that event. Otherwise -1.
        std::int64_t primary = -1;
        /// The stream's name, for messages after the stream was destroyed. Set by captures only.
        std::string name;
        /// The recorder that recorded the stream before, and that will resume. Null if there is
        /// none.
        Recorder* outer = nullptr;
        std::uint64_t outer_id = 0;
        std::size_t outer_participant = 0;
        /// For a branch of a fork: the stream that will join it, as an id and an index in
        /// `participants`. The id is 0 if there is none.
        std::uint64_t base_id = 0;
        std::size_t base_participant = 0;
        /// Set while code outside heddle holds the stream's own handle. Captures the work of that
        /// code.
        std::unique_ptr<ForeignCapture> held;
        /// Set during a loan. Captures work on the handle that is lent.
        std::unique_ptr<ForeignCapture> lent;
        /// Memory declared by open loans: their native work uses it.
        std::vector<LentMemory> lent_memory;
        std::uint64_t loans = 0;  ///< number of loans so far
        /// The number of times that this stream's native work was collected, even if there was
        /// none.
        std::uint64_t collections = 0;
        bool has_native_work = false;  ///< native work was collected
        bool leaves = false;           ///< for batches: leave when the work has been submitted
    };
    /// The newest record of an event in this recording.
    struct Mark {
        EventState* event;  ///< null once the event was recorded elsewhere or destroyed
        Point at;
        std::int64_t op = -1;    ///< the operation that records the event; -1 if none does
        std::uint32_t node = 0;  ///< for batches, set by a flush: the node that records the event
    };

    virtual ~Recorder() = default;

    RecorderLock lock;
    std::atomic<std::uint64_t> id{0};  ///< a new number for each recording; 0 if unused
    std::atomic<int> process{0};       ///< forks() of the process that began the recording
    Recorder* next_free = nullptr;

    // The lock guards all members below. Unless their comments say otherwise, call functions with
    // the lock held; it is still held when they return.
    Device device = Access::device(DeviceKind::cpu, 0);
    SourceLocation began_at;  ///< where the recording began
    /// The thread that began the recording. Changes only with the lock held.
    std::atomic<std::thread::id> owner;
    /// The number of the owner's thread. Unlike a thread's id, a number is never reused.
    std::atomic<std::uint32_t> owner_number{0};
    /// Returns whether the calling thread began the recording. If called without the lock, the
    /// answer may refer to a later recording.
    bool is_mine() const noexcept {
        return owner_number.load(std::memory_order_relaxed) == this_thread_number();
    }
    TapeOwner tape;
    std::vector<Participant> participants;
    /// The operations that directly depend on work that a participant enqueued before the tape. All
    /// other dependencies on such work are through these operations.
    std::vector<PartBegin> begins;
    std::vector<Mark> marks;

    Participant& participant(const StreamRecord& stream) noexcept {
        return participants[stream.participant];
    }
    Mark* mark_of(const EventState& event) noexcept;

    /// Objects that must be destroyed without the lock, because destructors of users' closures may
    /// call heddle.
    struct Garbage {
        std::vector<std::shared_ptr<void>> objects;
        std::vector<StreamPart::Past> pasts;  ///< may own the last reference to a failure
        Block* blocks = nullptr;              ///< blocks to free; linked by Block::next_kept
        /// A batch that has submitted all recorded uses of `blocks`.
        const Recorder* sent = nullptr;

        Garbage() = default;
        Garbage(Garbage&& other) noexcept
            : objects(std::exchange(other.objects, {})), pasts(std::exchange(other.pasts, {})),
              blocks(std::exchange(other.blocks, nullptr)), sent(other.sent) {}
        Garbage& operator=(Garbage&&) = delete;
        ~Garbage();
        bool is_empty() const noexcept {
            return objects.empty() && pasts.empty() && blocks == nullptr;
        }
        /// Reserves capacity for the objects of one flush, so that adding them cannot fail.
        void reserve(std::size_t more_pasts) {
            objects.reserve(objects.size() + 8);
            pasts.reserve(pasts.size() + more_pasts);
        }
    };
    Garbage garbage;
    /// Releases the lock, and then destroys the garbage.
    void release_lock() noexcept {
        if (garbage.is_empty() && !ended_tape_ && ended_participants_.empty()) [[likely]]
            lock.unlock();
        else release_with_garbage();
    }

    virtual bool is_capture() const noexcept = 0;
    virtual CaptureMode capture_mode() const noexcept { return CaptureMode::thread_local_; }

    /// The property of an operation that decides whether a recorder accepts it.
    enum class Wants : std::uint8_t {
        nothing,   ///< no requirement: kernels, host functions, device memory
        pageable,  ///< host memory that the program may change after the call
        apart,     ///< memory of two GPUs that cannot access each other
        graph,     ///< a graph launch
    };
    /// Must be called before an operation of the stream is added. Returns false if the operation
    /// cannot be recorded: then the tape has been submitted, and the stream has left, unless it is
    /// the first stream of a batch. Throws UsageError if a capture refuses the operation.
    virtual bool accept(StreamRecord& stream, Wants wants, const char* call,
                        const SourceLocation& where) = 0;
    /// Records that the stream's newest operation uses the block.
    void use(StreamRecord& stream, Block& block, bool writes) {
        note_batch_use(stream, block, writes);
        tape->add_block(block);
    }
    /// Makes the stream a participant. Its next operation is ordered after `point`. Returns false
    /// if the stream must not join; then the caller enqueues a native wait. Throws UsageError if a
    /// capture refuses the stream.
    virtual bool join(StreamRecord& stream, const Point& point, const char* call,
                      const SourceLocation& where) = 0;
    /// Makes a participant wait for `point`. Does so on the tape, or by a flush.
    virtual void wait_inside(StreamRecord& waiter, StreamRecord* other, const Point& point,
                             const SourceLocation& where) = 0;
    /// Submits the tape. Further work of all participants is ordered after it. If it throws, no
    /// work has been enqueued, and the tape still has all work. Captures ignore this call.
    virtual void flush(const SourceLocation& where) = 0;
    /// Must be called before work is natively enqueued on a participant, because that work has to
    /// follow the recorded work. Flushes. The stream leaves, except for the first stream of a
    /// batch. Captures ignore this call.
    virtual void step_aside(StreamRecord& stream, const SourceLocation& where) = 0;
    /// Removes a participant whose stream is being closed. Its work stays recorded, or is
    /// submitted.
    virtual void leave(StreamRecord& stream) noexcept { detach(participant(stream)); }
    /// Removes a branch that the stream of the second argument has joined. The branch's work stays
    /// recorded.
    virtual void leave_joined(StreamRecord& stream, StreamRecord&) noexcept { leave(stream); }
    /// Removes a participant as soon as its work has been submitted, because its stream returns to
    /// a pool. Captures ignore this call.
    virtual void leave_when_sent(StreamRecord&) noexcept {}
    /// Keeps a block that its array has freed. Frees it once its recorded uses have been submitted.
    /// Returns false if the block is not kept. Does not need the lock.
    virtual bool keep(Block&) noexcept { return false; }
    virtual void note_batch_use(StreamRecord&, Block&, bool) {}
    /// Records that all work of the participant, past and future, may use the block (used_on()).
    virtual void declare_use(StreamRecord& stream, Block& block) {
        note_batch_use(stream, block, true);
    }

    /// Adds an operation of the stream, after accept() has returned true. `fill_in` completes the
    /// operation. If `fill_in` throws, no operation is added.
    template <class F>
    std::uint32_t add(StreamRecord& stream, NodeKind kind, const SourceLocation& where,
                      F&& fill_in);
    /// Adds the work that foreign code enqueued natively on the participant, as a single operation.
    void collect_external(Participant& one, const SourceLocation& where);

    /// Makes the stream a participant. Returns false if `outer` is not the stream's current
    /// recorder; null stands for no recorder. A batch also returns false if another thread is
    /// enqueuing work on the stream.
    bool attach(StreamRecord& stream, Point at, Recorder* outer, const SourceLocation& where);
    void detach(Participant& one) noexcept;
    /// Begins a recording on this stream. Call it without the lock. If a capture begins within a
    /// batch, the batch is flushed, and resumes when the capture ends.
    void begin(StreamRecord& stream, const SourceLocation& where);
    /// Removes all participants. The tape becomes garbage, to be destroyed later.
    void end() noexcept;

protected:
    virtual std::uint32_t flags() const noexcept = 0;

private:
    void release_with_garbage() noexcept;

    // More garbage: these are destroyed without the lock, too.
    TapeOwner ended_tape_;
    std::vector<Participant> ended_participants_;
};

/// Flags of streams that a batch does not record.
inline constexpr std::uint32_t not_recordable =
    stream_flag::slow_order & ~(stream_flag::fallible | stream_flag::recording);

/// Adds the indices `more` to `last_ops`. `last_ops` stays sorted and without duplicates.
void merge(std::vector<std::uint32_t>& last_ops, const std::vector<std::uint32_t>& more);
inline void merge(Recorder::Point& at, const Recorder::Point& more) {
    Recorder::Point merged = at;
    merge(merged.last_ops, more.last_ops);
    merge(merged.begins, more.begins);
    merged.allocated |= more.allocated;
    at = std::move(merged);
}
/// Returns for each operation whether it is in `ends` or precedes one of them.
std::vector<bool> reached_from(const Tape& tape, const std::vector<std::uint32_t>& ends);

/// Holds the lock of a stream's recorder, if the stream has one.
class Recorded {
public:
    explicit Recorded(StreamRecord& stream) noexcept;
    /// Locks the recorder in which the event was recorded.
    explicit Recorded(EventState& event) noexcept;
    /// Adopts a lock that the calling thread already holds.
    explicit Recorded(Recorder& held) noexcept : recorder_(&held) {}
    ~Recorded() { unlock(); }
    Recorded(const Recorded&) = delete;
    Recorded& operator=(const Recorded&) = delete;
    explicit operator bool() const noexcept { return recorder_ != nullptr; }
    Recorder* operator->() const noexcept { return recorder_; }
    Recorder& operator*() const noexcept { return *recorder_; }

private:
    void unlock() noexcept {
        if (recorder_ != nullptr) std::exchange(recorder_, nullptr)->release_lock();
    }
    Recorder* recorder_ = nullptr;
};

/// A pool of unused recorders of one kind. Recorders are never destroyed.
template <class Kind> class RecorderPool {
public:
    Kind& take() {
        Recorder* const free = free_.take();
        return free != nullptr ? static_cast<Kind&>(*free) : *new Kind;
    }
    void give(Kind& one) noexcept { free_.give(one); }
    SpinLock& lock() noexcept { return free_.lock(); }

private:
    FreeList<Recorder> free_;
};

template <class F>
std::uint32_t Recorder::add(StreamRecord& stream, NodeKind kind, const SourceLocation& where,
                            F&& fill_in) {
    Participant& one = participant(stream);
    one.at.last_ops.reserve(1);
    const Tape::Position before = tape->position();
    const std::size_t begun = begins.size();
    try {
        const std::uint32_t op = tape->add(kind, stream.device, one.at.last_ops, where);
        if (is_capture()) tape->set_participant(static_cast<std::uint32_t>(stream.participant));
        for (const std::uint32_t part : one.at.begins) begins.push_back({op, part});
        fill_in(op);
        one.at.last_ops.assign(1, op);
        one.at.begins.clear();
        one.at.allocated = false;
        one.own = op;
        one.primary = -1;
        return op;
    } catch (...) {
        tape->go_back(before);
        begins.resize(begun);
        throw;
    }
}

}  // namespace heddle::detail
