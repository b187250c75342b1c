// Streams that are recorded: what they are given goes to a tape, not to the device. Captures make a graph of it, batches launch it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/backend.hpp"
#include "core/tape.hpp"
#include <heddle/capture.hpp>

namespace heddle::detail {

class BatchRun;

/// One capture or one open batch, and the streams that take part. Objects are used again and never given back: who finds one in a stream's
/// state may always take its lock, and then looks whether the stream is still recorded by it.
struct Recording {
    /// A stream that takes part; the first is the one it began on.
    struct Lane {
        StreamRecord* stream = nullptr;  ///< null: it left
        std::uint64_t stream_id = 0;
        std::uint64_t given = 0;          ///< what it had really been given when it joined
        std::vector<std::uint32_t> tail;  ///< what its next operation comes after
        std::int64_t own = -1;            ///< its newest operation
        std::int64_t primary = -1;        ///< of a programmatic event that its next operation waits for
        std::string name;                 ///< captures: for messages, when the stream is gone
        Recording* outer = nullptr;       ///< that recorded the stream before, and does again afterwards
        std::uint64_t outer_id = 0;
        bool foreign = false;  ///< others may give it work past heddle, which is recorded natively
    };
    /// An event's newest record.
    struct Mark {
        EventState* event;  ///< null: recorded elsewhere since, or gone
        std::vector<std::uint32_t> tail;
        std::int64_t op = -1;  ///< the operation that records it, where it is one already
    };
    /// Memory that the capture owns and its array gave up, free for those who come after these operations.
    struct Spare {
        Block* block;
        std::vector<std::uint32_t> after;
    };

    SpinLock lock;
    std::atomic<std::uint64_t> id{0};  ///< of the capture, never used twice; 0: not in use
    BatchRun* batch = nullptr;         ///< null: a capture
    int bodies =
        0;  ///< conditions' bodies that are being captured inside of it: its other streams are not for them
    bool sending =
        false;  ///< a batch whose operations are on their way: its streams are not recorded meanwhile
    Device device = Device::unchecked(DeviceKind::cpu, 0);
    std::thread::id owner;
    CaptureMode mode = CaptureMode::thread_local_;
    std::shared_ptr<Tape> tape;
    std::vector<Lane> lanes;
    std::vector<Mark> marks;
    std::vector<Block*> given_up;  ///< batches: memory to be freed when the operations are on their way
    std::vector<Spare> spares;     ///< captures
    std::vector<Block*> owned;     ///< captures: memory allocated in it
    Recording* next_free = nullptr;

    Lane& lane_of(StreamRecord& stream) noexcept { return lanes[stream.lane]; }
};

/// Nothing about the stream keeps a batch from recording it.
bool is_recordable(StreamRecord& stream) noexcept;
/// Begins to record `stream`: for a capture, or for a batch.
Recording& begin_recording(StreamRecord& stream, BatchRun* batch, CaptureMode mode,
                           const SourceLocation& where);
/// Its streams are recorded no longer, and the object is free for others.
void end_recording(Recording& recording) noexcept;
/// Takes what others gave its streams past heddle onto the tape, and stops listening.
void collect_foreign(Recording& recording, const SourceLocation& where);

/// The recording's lock, taken while `stream` is recorded; empty where it is not.
class Recorded {
public:
    explicit Recorded(StreamRecord& stream) noexcept;
    ~Recorded() { unlock(); }
    Recorded(const Recorded&) = delete;
    Recorded& operator=(const Recorded&) = delete;
    explicit operator bool() const noexcept { return recording_ != nullptr; }
    Recording* operator->() const noexcept { return recording_; }
    Recording& operator*() const noexcept { return *recording_; }
    void unlock() noexcept;
    /// The lock stays taken, and is somebody else's to give back.
    void release() noexcept { recording_ = nullptr; }

private:
    Recording* recording_ = nullptr;
};

/// The capture that records the stream, or the batch, as a number; 0 for none.
std::uint64_t recording_id(StreamRecord& stream) noexcept;
/// A number of ours, and not of CUDA's captures.
inline bool is_recording_id(std::uint64_t id) noexcept { return id >> 63 != 0; }
/// Whether it is recorded by a capture of heddle's (and not by a batch, or not at all).
inline bool is_captured(const StreamRecord& stream) noexcept { return stream.has(stream_flag::captured); }

// What is done to recorded streams. False: it is to be done really; a batch has been sent where that was in the way.

bool record_copy(StreamRecord& stream, const Piece& to, const Piece& from, Block* to_owner, Block* from_owner,
                 const SourceLocation& where);
bool record_fill(StreamRecord& stream, const Piece& to, const void* value, std::size_t size, Block* owner,
                 const SourceLocation& where);
bool record_child(StreamRecord& stream, const GraphData& graph, const SourceLocation& where);
void record_node(StreamRecord& stream, std::shared_ptr<NodeData> node, const SourceLocation& where);
/// What the stream was just given past heddle, as one operation that uses these blocks; nothing where no capture records it.
void record_foreign(StreamRecord& stream, Block* const* blocks, std::size_t count,
                    const SourceLocation& where);
void record_wait_node(StreamRecord& stream, EventState& event, const SourceLocation& where);
bool record_stream_wait(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where);
bool record_event_wait(StreamRecord& waiter, EventState& event, const SourceLocation& where);
/// The stream's next kernel may start before the one that the event was recorded behind has finished. False: it may not.
bool record_primary(StreamRecord& waiter, EventState& event);
bool record_event_record(EventState& event, StreamRecord& stream, bool external, const SourceLocation& where);

/// Memory that was given up earlier in the capture and is large enough, for whom all its use comes first; null: there is none.
Block* take_spare(StreamRecord& stream, std::size_t bytes);
/// The block belongs to the capture's graph as well; nothing where a batch or nobody records the stream.
void own_by_capture(StreamRecord& stream, Block& block, const SourceLocation& where);
/// Its array gave the block up, but a graph owns it: if it is a graph that is being captured, for others in it to use.
void give_spare(Block& block, StreamRecord* const* users, std::size_t count);
/// The stream on which memory for a recorded stream is really allocated: it is usable by what the recording does later.
StreamRecord& allocating_stream(StreamRecord& stream, const SourceLocation& where);
/// Before a host waits for, asks about or copies behind a stream: sends a batch that records it; throws UsageError in a capture.
void leave_to_host(StreamRecord& stream, const char* call, const SourceLocation& where);
/// The same for an event whose newest record is in a batch that is still open.
void send_batch_of(EventState& event, const SourceLocation& where);
/// Sends what a batch has recorded for this stream.
void send_batch_of(StreamRecord& stream, const SourceLocation& where);

/// The stream's native handle is handed out: what it is given past heddle has to be recorded too.
void note_handed_out(StreamRecord& stream, const SourceLocation& where);
/// The event is recorded elsewhere now, or gone.
void forget_mark(EventState& event) noexcept;
/// The stream is given up, or given back: its recorded work stays.
void leave_recording(StreamRecord& stream) noexcept;
/// Whether a block that is given up has to wait until a batch is on its way; it is the batch's then.
bool give_up_later(Block& block, StreamRecord* const* users, std::size_t count) noexcept;

/// The operations that `ends` come after, and themselves.
std::vector<bool> reached_from(const Tape& tape, const std::vector<std::uint32_t>& ends);

/// Sends what a batch has on its tape, to its first stream, with the order of all others seen to. Takes the lock over: called with it held, it
/// returns without. `last`: the batch ends, and records nothing any more.
void send(Recording& recording, bool last, const SourceLocation& where);

}  // namespace heddle::detail
