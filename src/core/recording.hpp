// Recorders: what their streams are given goes to a tape, not to the device. A capture makes a graph of the tape, a batch launches it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/recorder.hpp"
#include "core/tape.hpp"
#include <heddle/capture.hpp>

namespace heddle::detail {

/// Excludes threads for as long as sending a batch takes: they sleep.
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

private:
    static constexpr int free = 0, taken = 1, contended = 2;
    std::atomic<int> state_{free};
};

/// One capture or one open batch, and the streams that take part. Objects are used again and never given back: whoever finds one in a
/// stream's state may always take its lock, and then looks whether the stream is still recorded by it.
///
/// A stream goes from recorded to sent in one step: the lock is held from the first look at the tape until the stream's own order after what
/// was sent has been enqueued, and the flag `recording` stays set meanwhile, so that every other thread comes here and waits.
class Recorder {
public:
    /// A stream that takes part; the first is the one it began on.
    struct Participant {
        StreamRecord* stream = nullptr;  ///< null: it left
        std::uint64_t stream_id = 0;
        std::uint64_t given =
            0;  ///< what it had really been given when it joined, or when the tape was last sent
        std::vector<std::uint32_t> tail;  ///< what its next operation comes after
        std::int64_t own = -1;            ///< its newest operation
        std::int64_t primary = -1;        ///< of a programmatic event that its next operation waits for
        std::string name;                 ///< captures: for messages, when the stream is gone
        Recorder* outer = nullptr;        ///< that recorded the stream before, and does again afterwards
        std::uint64_t outer_id = 0;
        std::size_t outer_place = 0;
        bool external = false;  ///< others may give it work natively, which is captured natively
    };
    /// An event's newest record.
    struct Mark {
        EventState* event;  ///< null: recorded elsewhere since, or gone
        std::vector<std::uint32_t> tail;
        std::int64_t op = -1;  ///< the operation that records it, where it is one already
    };

    virtual ~Recorder() = default;

    RecorderLock lock;
    std::atomic<std::uint64_t> id{0};  ///< never used twice; 0: not in use
    std::atomic<int> process{0};       ///< where it began: forks()
    Recorder* next_free = nullptr;

    // All that follows is guarded by the lock; functions are called with it held, and return with it held.
    Device device = Device::unchecked(DeviceKind::cpu, 0);
    std::thread::id owner;
    std::shared_ptr<Tape> tape;
    std::vector<Participant> participants;
    std::vector<Mark> marks;

    Participant& participant(const StreamRecord& stream) noexcept { return participants[stream.place]; }
    Mark* mark_of(const EventState& event) noexcept;

    /// What is destroyed once the lock has been given back: destructors of users' closures may come to heddle.
    struct Garbage {
        std::vector<std::shared_ptr<void>> objects;
        Block* blocks = nullptr;         ///< linked by Block::next_kept; to be freed
        const Recorder* sent = nullptr;  ///< that has sent all they were used for

        Garbage() = default;
        Garbage(Garbage&& other) noexcept
            : objects(std::exchange(other.objects, {})), blocks(std::exchange(other.blocks, nullptr)),
              sent(other.sent) {}
        Garbage& operator=(Garbage&&) = delete;
        ~Garbage();
        /// Room for what one flush drops, so that it cannot fail half-way.
        void reserve() { objects.reserve(objects.size() + 8); }
    };
    Garbage garbage;
    /// Gives the lock back, then destroys the garbage.
    void release_lock() noexcept;

    virtual bool is_capture() const noexcept = 0;
    virtual CaptureMode capture_mode() const noexcept { return CaptureMode::thread_local_; }

    /// What an operation asks of a recorder.
    enum class Wants : std::uint8_t {
        nothing,   ///< a kernel, a host function, device memory
        pageable,  ///< host memory that may change after the call
        apart,     ///< memory of two GPUs that do not reach each other's
        graph,     ///< a graph is launched
    };
    /// Before an operation of the stream. Returns false if it cannot be recorded: then the tape has been sent, and the stream has left (a
    /// batch's first one stays). Throws UsageError where a capture refuses it.
    virtual bool accept(StreamRecord& stream, Wants wants, const char* call, const SourceLocation& where) = 0;
    /// The newest operation uses the block.
    void use(Block& block);
    /// A stream that nothing records joins, after those operations. Returns false if it may not, and has to be ordered for real.
    virtual bool join(StreamRecord& stream, const std::vector<std::uint32_t>& tail, const char* call,
                      const SourceLocation& where) = 0;
    /// One participant waits for a point of the recording. Returns false if that has to be done for real; the tape has been sent then.
    virtual bool wait_inside(StreamRecord& waiter, StreamRecord* other,
                             const std::vector<std::uint32_t>& place, const SourceLocation& where) = 0;
    /// Enqueues what is on the tape, with the order of all participants. If that throws, it still is on the tape. Captures do nothing.
    virtual void flush(const SourceLocation& where) = 0;
    /// What has to be enqueued for real on a participant comes after what was recorded: flushes, and the stream leaves (a batch's first one
    /// stays). Captures do nothing.
    virtual void step_aside(StreamRecord& stream, const SourceLocation& where) = 0;
    /// A block that its array gave up is freed when what uses it has been sent.
    virtual bool keep(Block&) noexcept { return false; }
    virtual void note_batch_use(Block&) {}
    /// The user says that the participant uses the block, with what it was given until now and is given from now on.
    virtual void declare_use(StreamRecord&, Block& block) { note_batch_use(block); }

    /// Adds an operation of the stream, which accept() agreed to; `fill_in` completes it. If that throws, nothing was added.
    template <class F>
    std::uint32_t add(StreamRecord& stream, NodeKind kind, const SourceLocation& where, F&& fill_in);
    /// Adds what others enqueued natively on the participant.
    void collect_external(Participant& one, const SourceLocation& where);

    /// Makes the stream a participant, if it is recorded by `outer` (null: by nothing) at this moment. Returns false if it is not.
    bool attach(StreamRecord& stream, std::vector<std::uint32_t> tail, Recorder* outer,
                const SourceLocation& where);
    void detach(Participant& one) noexcept;
    /// Begins on this stream; the lock is free. A batch around a capture is flushed, and goes on afterwards.
    void begin(StreamRecord& stream, const SourceLocation& where);
    /// All streams leave, and the tape is garbage.
    void end() noexcept;

protected:
    virtual std::uint32_t flags() const noexcept = 0;

private:
    std::shared_ptr<Tape> ended_tape_;  ///< garbage, too
};

/// `tail` comes after `more` too.
void merge(std::vector<std::uint32_t>& tail, const std::vector<std::uint32_t>& more);
/// The operations that `ends` come after, and themselves.
std::vector<bool> reached_from(const Tape& tape, const std::vector<std::uint32_t>& ends);
[[noreturn]] void refuse(StreamRecord& stream, std::string message, const char* call,
                         const SourceLocation& where);

/// The lock of the stream's recorder, held; empty where nothing records the stream.
class Recorded {
public:
    explicit Recorded(StreamRecord& stream) noexcept;
    /// Of the recorder that has the event marked.
    explicit Recorded(EventState& event) noexcept;
    /// Takes over the lock, which is held.
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

/// A list of recorders of one kind that are not in use. They are never destroyed.
template <class Kind> class RecorderPool {
public:
    Kind& take() {
        {
            const std::lock_guard guard(lock_);
            if (free_ != nullptr) {
                Recorder* const next = free_->next_free;
                return static_cast<Kind&>(*std::exchange(free_, next));
            }
        }
        return *new Kind;
    }
    void give(Kind& one) noexcept {
        const std::lock_guard guard(lock_);
        one.next_free = std::exchange(free_, &one);
    }
    SpinLock& lock() noexcept { return lock_; }

private:
    SpinLock lock_;
    Recorder* free_ = nullptr;
};

template <class F>
std::uint32_t Recorder::add(StreamRecord& stream, NodeKind kind, const SourceLocation& where, F&& fill_in) {
    Participant& one = participant(stream);
    one.tail.reserve(1);
    const Tape::Position before = tape->position();
    try {
        const std::uint32_t op = tape->add(kind, stream.device, one.tail, where);
        fill_in(op);
        one.tail.assign(1, op);
        one.own = op;
        one.primary = -1;
        return op;
    } catch (...) {
        tape->go_back(before);
        throw;
    }
}

}  // namespace heddle::detail
