// Recorders put the work of their streams on a tape instead of enqueuing it. A capture makes a
// graph of its tape. A batch makes a graph, too, and launches it.
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

/// A mutex whose waiters sleep, because flushing a batch holds it for long.
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
    /// Returns whether a thread has waited for it since it was locked. For tests.
    bool is_awaited() const noexcept { return state_.load() == contended; }

private:
    static constexpr int free = 0, taken = 1, contended = 2;
    std::atomic<int> state_{free};
};

/// One capture or one open batch, and the streams that take part. Recorders are reused and never
/// destroyed: a recorder found in a stream's state may always be locked. With the lock held, check
/// whether it still records the stream.
///
/// A stream's work changes from recorded to submitted in one step (docs/adr/0022). The lock is held
/// from the first access to the tape until the stream is ordered after the submitted work. The flag
/// `recording` stays set meanwhile, so that all other threads wait for the lock.
class Recorder {
public:
    /// A point in the recording: the work that a waiter must be ordered after.
    struct Point {
        std::vector<std::uint32_t> tail;  ///< indices of operations
        /// Batches: participants, by index, whose work from before the tape is included.
        std::vector<std::uint32_t> begins;
        /// Batches: memory that the first stream has allocated in its own order is included.
        bool allocated = false;
    };
    /// A stream that takes part. The first one is the stream on which the recording began.
    struct Participant {
        StreamRecord* stream = nullptr;  ///< null after it has left
        std::uint64_t stream_id = 0;
        /// The stream's submissions when it joined, or when the tape was last submitted.
        std::uint64_t given = 0;
        Point at;               ///< the dependencies of its next operation
        StreamPart::Past past;  ///< batches: the stream's earlier work that may fail
        /// Index of the stream's newest operation, or -1 if a dependent kernel must not overlap it.
        std::int64_t own = -1;
        /// Index of the operation before a programmatic event that the stream's next kernel waits
        /// for, or -1.
        std::int64_t primary = -1;
        std::string name;  ///< captures: for messages after the stream was destroyed
        /// The recorder that recorded the stream before and resumes afterwards, or null.
        Recorder* outer = nullptr;
        std::uint64_t outer_id = 0;
        std::size_t outer_place = 0;
        /// The participant that joins this one, a branch, when it leaves; the id is 0 if there is
        /// none.
        std::uint64_t base_id = 0;
        std::size_t base_place = 0;
        /// Other code may enqueue natively on the stream; it is captured natively.
        bool external = false;
        bool leaves = false;  ///< batches: it leaves once its work has been submitted
    };
    /// An event's newest record.
    struct Mark {
        EventState* event;  ///< null if the event has been recorded elsewhere since, or destroyed
        Point at;
        std::int64_t op = -1;    ///< the operation that records it, or -1 if there is none
        std::uint32_t node = 0;  ///< batches, set by a flush: `op`, or the operation added for it
    };

    virtual ~Recorder() = default;

    RecorderLock lock;
    std::atomic<std::uint64_t> id{0};  ///< unique for each recording; 0 while not in use
    std::atomic<int> process{0};       ///< forks() in the process where the recording began
    Recorder* next_free = nullptr;

    // The lock guards all members below. Functions are called with it held and return with it held,
    // unless their comments differ.
    Device device = Access::device(DeviceKind::cpu, 0);
    SourceLocation began_at;  ///< where the recording began
    /// The thread that began the recording. Changes only with the lock held.
    std::atomic<std::thread::id> owner;
    /// The same thread's number. Unlike its id, it is never reused.
    std::atomic<std::uint32_t> owner_number{0};
    /// Returns whether the calling thread began the recording. Without the lock, the result may be
    /// about a later recording.
    bool is_mine() const noexcept {
        return owner_number.load(std::memory_order_relaxed) == this_thread_number();
    }
    TapeOwner tape;
    std::vector<Participant> participants;
    /// The operations that directly depend on a participant's work from before the tape. Other
    /// operations depend on such work only through these.
    std::vector<PartBegin> begins;
    std::vector<Mark> marks;

    Participant& participant(const StreamRecord& stream) noexcept {
        return participants[stream.place];
    }
    Mark* mark_of(const EventState& event) noexcept;

    /// Objects to destroy after the lock has been released, because destructors of users' closures
    /// may call heddle.
    struct Garbage {
        std::vector<std::shared_ptr<void>> objects;
        std::vector<StreamPart::Past> pasts;  ///< may hold the last reference to a failure
        Block* blocks = nullptr;              ///< blocks to free; linked by Block::next_kept
        const Recorder* sent = nullptr;       ///< the batch that submitted all their recorded uses

        Garbage() = default;
        Garbage(Garbage&& other) noexcept
            : objects(std::exchange(other.objects, {})), pasts(std::exchange(other.pasts, {})),
              blocks(std::exchange(other.blocks, nullptr)), sent(other.sent) {}
        Garbage& operator=(Garbage&&) = delete;
        ~Garbage();
        /// Reserves room for the objects of one flush, so that it cannot fail half-way.
        void reserve(std::size_t more_pasts) {
            objects.reserve(objects.size() + 8);
            pasts.reserve(pasts.size() + more_pasts);
        }
    };
    Garbage garbage;
    /// Releases the lock, then destroys the garbage.
    void release_lock() noexcept;

    virtual bool is_capture() const noexcept = 0;
    virtual CaptureMode capture_mode() const noexcept { return CaptureMode::thread_local_; }

    /// An operation's demand on a recorder.
    enum class Wants : std::uint8_t {
        nothing,   ///< a kernel, a host function, device memory
        pageable,  ///< host memory that may change after the call
        apart,     ///< memory of two GPUs without access to each other's
        graph,     ///< a graph launch
    };
    /// Called before an operation of the stream is added. Returns false if the operation cannot be
    /// recorded: then the tape has been submitted, and the stream has left (a batch's first stream
    /// stays). Throws UsageError if a capture refuses it.
    virtual bool accept(StreamRecord& stream, Wants wants, const char* call,
                        const SourceLocation& where) = 0;
    /// Notes that the stream's operation, which is the newest one, uses the block.
    void use(StreamRecord& stream, Block& block, bool writes);
    /// Makes the stream a participant whose next operation is ordered after `point`. Returns false
    /// if the stream must not join: the caller then enqueues a native wait. Throws UsageError if a
    /// capture refuses it.
    virtual bool join(StreamRecord& stream, const Point& point, const char* call,
                      const SourceLocation& where) = 0;
    /// Makes a participant wait for `point`: on the tape, or by submitting it.
    virtual void wait_inside(StreamRecord& waiter, StreamRecord* other, const Point& point,
                             const SourceLocation& where) = 0;
    /// Submits the tape, and orders further work of all participants after it. If it throws, all
    /// work is still on the tape and none has been enqueued. Has no effect on captures.
    virtual void flush(const SourceLocation& where) = 0;
    /// Called before work is natively enqueued on a participant, so that it follows the recorded
    /// work. Flushes, and the stream leaves (a batch's first stream stays). Has no effect on
    /// captures.
    virtual void step_aside(StreamRecord& stream, const SourceLocation& where) = 0;
    /// Removes a participant that is being closed. Its work stays recorded, or is submitted.
    virtual void leave(StreamRecord& stream) noexcept { detach(participant(stream)); }
    /// Removes a branch that `base` has joined. Its work stays recorded.
    virtual void leave_joined(StreamRecord& stream, StreamRecord&) noexcept { leave(stream); }
    /// Removes a participant that is returned to a pool, once its work has been submitted. Has no
    /// effect on captures.
    virtual void leave_when_sent(StreamRecord&) noexcept {}
    /// Keeps a block that its array has freed, and frees it when its recorded uses have been
    /// submitted. Returns false if it does not keep the block. Does not need the lock.
    virtual bool keep(Block&) noexcept { return false; }
    virtual void note_batch_use(StreamRecord&, Block&, bool) {}
    /// Notes that the participant's past and future work uses the block (used_on()).
    virtual void declare_use(StreamRecord& stream, Block& block) {
        note_batch_use(stream, block, true);
    }

    /// Adds an operation of the stream, which accept() has admitted; `fill_in` completes it. If
    /// that throws, no operation is added.
    template <class F>
    std::uint32_t add(StreamRecord& stream, NodeKind kind, const SourceLocation& where,
                      F&& fill_in);
    /// Adds foreign work that was enqueued natively on the participant, as one operation.
    void collect_external(Participant& one, const SourceLocation& where);

    /// Makes the stream a participant if `outer` is the stream's current recorder (null if it has
    /// none). Returns false otherwise. Also returns false if a batch would add the stream while
    /// another thread is enqueuing work on it.
    bool attach(StreamRecord& stream, Point at, Recorder* outer, const SourceLocation& where);
    void detach(Participant& one) noexcept;
    /// Begins a recording on this stream. Call without the lock. Flushes a batch around a capture,
    /// which resumes afterwards.
    void begin(StreamRecord& stream, const SourceLocation& where);
    /// Removes all participants. The tape becomes garbage.
    void end() noexcept;

protected:
    virtual std::uint32_t flags() const noexcept = 0;

private:
    // Garbage, like the other kind.
    TapeOwner ended_tape_;
    std::vector<Participant> ended_participants_;
};

/// Flags of streams that a batch does not record.
inline constexpr std::uint32_t not_recordable =
    stream_flag::slow_order & ~(stream_flag::fallible | stream_flag::recording);

/// Adds `more` to `tail`, sorted and without duplicates.
void merge(std::vector<std::uint32_t>& tail, const std::vector<std::uint32_t>& more);
inline void merge(Recorder::Point& at, const Recorder::Point& more) {
    Recorder::Point merged = at;
    merge(merged.tail, more.tail);
    merge(merged.begins, more.begins);
    merged.allocated |= more.allocated;
    at = std::move(merged);
}
/// Returns, for each operation, whether it is one of `ends` or precedes one of them.
std::vector<bool> reached_from(const Tape& tape, const std::vector<std::uint32_t>& ends);

/// Holds the lock of a stream's recorder. Empty if the stream has no recorder.
class Recorded {
public:
    explicit Recorded(StreamRecord& stream) noexcept;
    /// Locks the recorder that has the event marked.
    explicit Recorded(EventState& event) noexcept;
    /// Adopts the lock, which the thread holds already.
    explicit Recorded(Recorder& held) noexcept : recorder_(&held) {}
    ~Recorded() { unlock(); }
    Recorded(const Recorded&) = delete;
    Recorded& operator=(const Recorded&) = delete;
    explicit operator bool() const noexcept { return recorder_ != nullptr; }
    Recorder* operator->() const noexcept { return recorder_; }
    Recorder& operator*() const noexcept { return *recorder_; }

private:
    void unlock() noexcept;
    Recorder* recorder_ = nullptr;
};

/// Unused recorders of one kind. They are never destroyed.
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
    one.at.tail.reserve(1);
    const Tape::Position before = tape->position();
    const std::size_t begun = begins.size();
    try {
        const std::uint32_t op = tape->add(kind, stream.device, one.at.tail, where);
        if (is_capture()) tape->set_participant(static_cast<std::uint32_t>(stream.place));
        for (const std::uint32_t part : one.at.begins) begins.push_back({op, part});
        fill_in(op);
        one.at.tail.assign(1, op);
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
