// The interface between recording and the rest of core. A stream with flag `recording` passes its
// operations to its recorder, a capture or a batch. (The recorders are in
// core/recording/recorder.hpp.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>

#include "core/seam/backend.hpp"

namespace heddle::detail {

struct NodeData;

/// Returns the id of the stream's recorder, or 0 if nothing records it.
std::uint64_t recorder_id(StreamRecord& stream) noexcept;
/// Returns whether an id is a recorder's, and not a native capture's.
inline bool is_recorder_id(std::uint64_t id) noexcept { return id >> 63 != 0; }
/// Returns whether a capture records the stream. A batch does not count.
inline bool is_captured(const StreamRecord& stream) noexcept {
    return stream.has(stream_flag::captured);
}
/// Returns whether a capture of the calling thread records the stream.
bool is_captured_here(StreamRecord& stream) noexcept;
/// Returns whether the stream's innermost or outermost recorder (capture or batch) belongs to the
/// calling thread. Waits for the recorder's lock.
bool is_recorded_here(StreamRecord& stream) noexcept;
/// Returns whether the stream's state allows a batch to record it.
bool is_recordable(StreamRecord& stream) noexcept;

// Operations on a recorded stream. Each returns true if it was recorded. Otherwise, the caller
// enqueues the operation; earlier recorded work that must precede it has been flushed. Thread-safe.
// (Kernels and host functions: record_work(), heddle/detail/work.hpp.)

bool record_copy(StreamRecord& stream, const Operand& to, const Operand& from,
                 const SourceLocation& where);
bool record_fill(StreamRecord& stream, const Operand& to, const void* value, std::size_t size,
                 const SourceLocation& where);
bool record_graph(StreamRecord& stream, GraphData& graph, const SourceLocation& where);
/// Records a node of a kind that only captures have (conditional nodes).
void record_node(StreamRecord& stream, std::shared_ptr<NodeData> node, const SourceLocation& where);
/// Records a wait for the event's newest record at each launch of the graph.
void record_wait_node(StreamRecord& stream, EventState& event, const SourceLocation& where);

// Order. Each returns true if the wait is on a tape. A wait that the user requested may make
// `waiter` join the capture or batch of its target. If a function returns false, the recorded work
// that must precede the wait has been enqueued: call decide_wait() again, with Recorders::asked.

bool record_stream_wait(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where);
bool record_event_wait(StreamRecord& waiter, EventState& event, const SourceLocation& where);
bool record_event_point(EventState& event, StreamRecord& stream, bool external,
                        const SourceLocation& where);
/// Lets the stream's next kernel overlap the last kernel before the event's record (programmatic
/// dependent launch). Returns false if the kernels cannot overlap.
bool record_primary(StreamRecord& waiter, EventState& event);

/// Flushes the batch that records the stream, if there is one. On return, all recorded work of the
/// stream has been enqueued, by this thread or another.
void send_batch_of(StreamRecord& stream, const SourceLocation& where);
/// Flushes the batch that contains the event's newest record, if there is one.
void send_batch_of(EventState& event, const SourceLocation& where);
/// Call before the host waits for a stream or copies after it. Flushes the stream's batch; throws
/// UsageError if the stream is being captured.
void leave_to_host(StreamRecord& stream, const char* call, const SourceLocation& where);
/// Call before the host queries a stream. Flushes the stream's batch; throws UsageError if the
/// stream is being captured. Returns false if another thread is using the recorder: the stream's
/// work then counts as not complete. Does not wait for that thread.
bool may_query(StreamRecord& stream, const char* call, const SourceLocation& where);
bool may_query(EventState& event, const SourceLocation& where);

/// Call when the stream's native handle is returned to the user. A capture then also captures
/// native work. A batch is flushed, and the stream leaves it.
void note_handed_out(StreamRecord& stream, const SourceLocation& where);
/// The place of a loan's work in a capture.
struct RecordedLoan {
    std::uint64_t recording = 0;  ///< the capture's id; 0: the work is enqueued
    std::uint64_t number = 0;     ///< among the loans of the stream in this capture
    void* native = nullptr;       ///< the handle that the capture lends
};
/// Call when a loan begins on a recorded stream, once the loan is counted in the stream's flags. A
/// capture then also captures native work. A batch is flushed, and the stream leaves it (a batch's
/// first stream stays, and enqueues all its work until the loan ends). Throws UsageError if the
/// capture refuses native work.
RecordedLoan begin_recorded_loan(StreamRecord& stream, const char* call,
                                 std::span<const MemoryArgument> memory,
                                 const SourceLocation& where);
/// Ends a recorded loan: removes it from the stream's flags, and records the native work since
/// begin_recorded_loan() with the memory that the work uses. Throws UsageError if that work cannot
/// be captured; the loan has ended nevertheless. If the capture has ended, only removes the loan,
/// and returns false.
bool end_recorded_loan(StreamRecord& stream, const RecordedLoan& loan, const SourceLocation& where);

/// A backend calls this if it sees flag `joined` when it enqueues work or a wait: the stream has
/// joined a batch since core's check. Flushes the batch and removes the stream from it. The backend
/// must then read the flag again. Returns false if a capture now records the stream. The backend's
/// work is then ordered before the whole capture.
bool make_way(StreamRecord& stream, const SourceLocation& where);
/// Removes the event's record from its recorder, because the event is recorded again or destroyed.
void forget_mark(EventState& event) noexcept;
/// Call when the stream is closed or has no users left. The stream leaves its recorder. A batch in
/// which the stream has recorded work is flushed. A batch that began on the stream records nothing
/// more.
void leave_recording(StreamRecord& stream) noexcept;
/// Call when a branch has begun on its stream, which waits for `base`. If both are in one batch,
/// `base` counts as a user of all memory that the branch uses. A failure of the branch then poisons
/// `base` when `base` joins the branch, but not the branch's stream.
void note_branch(StreamRecord& branch, StreamRecord& base) noexcept;
/// Call when `base` has joined the branch. The branch leaves; its recorded work stays.
void leave_joined(StreamRecord& branch, StreamRecord& base) noexcept;
/// Call when the stream returns to a pool. The stream leaves its batch when the batch has submitted
/// the stream's work, or ends. A batch's first stream leaves when the batch ends. Has no effect in
/// a capture.
void leave_batch_when_sent(StreamRecord& stream) noexcept;
/// Call when the stream's failure has been cleared. Earlier work, including work that its open
/// batch has submitted, then does not fail its later work in that batch.
void forget_past_failure(StreamRecord& stream) noexcept;
/// Returns whether a recorder, of any thread, records the stream.
inline bool is_recorded(const StreamRecord& stream) noexcept {
    return stream.recorder.load(std::memory_order_acquire) != nullptr;
}
/// Cancels leave_batch_when_sent() if a batch of the calling thread records the stream: it stays in
/// the batch. Returns false if a recorder of another thread records it.
bool stay_in_own_batch(StreamRecord& stream) noexcept;

// For the watch.

/// The work that a stream's recorder holds back. Read without waiting for the recorder's lock.
struct RecordingLook {
    bool is_there = false;    ///< a recorder records the stream
    bool is_locked = false;   ///< its lock is held, so the members after `id` are unknown
    bool is_capture = false;  ///< true for a capture, false for a batch
    std::uint64_t id = 0;     ///< the recorder's id, as returned by recorder_id()
    std::thread::id owner = {};
    SourceLocation began_at = {};
    /// Number of recorded operations of the stream. In a batch, all operations count for the first
    /// stream, and the other streams have 0.
    std::size_t operations = 0;
    const OpType* first = nullptr;  ///< type of the first operation; null if that is not work
    SourceLocation first_where = {};
};
RecordingLook look_at_recording(StreamRecord& stream) noexcept;

// Memory.

/// Notes the user's declaration that a recorded stream uses the block (used_on()).
void note_recorded_use(StreamRecord& stream, Block& block);
/// Returns a block of at least `bytes` that was freed earlier in the capture and whose uses all
/// precede the stream's next operation. Returns null if there is none or no capture records the
/// stream.
Block* take_freed(StreamRecord& stream, std::size_t bytes);
/// Makes the capture's graph an owner of the block too. Has no effect if no capture records the
/// stream.
void own_by_capture(StreamRecord& stream, Block& block, const SourceLocation& where);
/// Returns whether an open capture owns the memory and may reuse it. Throws std::bad_alloc.
bool is_of_capture(const Block& block);
/// Call when an array frees a block that graphs own too. If one of the graphs is being captured,
/// later arrays of that capture may reuse the block.
void offer_to_capture(Block& block) noexcept;
/// Returns the stream on which to allocate memory for a recorded stream, such that operations
/// recorded from now on may use it. The stream may leave its batch for this.
StreamRecord& allocating_stream(StreamRecord& stream, const SourceLocation& where);
/// Call after memory for a recorded stream was allocated on another stream, `on`, and counted as a
/// submission there. Later waits for the stream then cover the allocation too.
void order_after_allocation(StreamRecord& stream, StreamRecord& on, const SourceLocation& where);
/// Returns whether an open batch other than `sent` may have recorded work on the block. That batch
/// then frees the block once it has been flushed.
bool keep_for_batch(Block& block, std::span<const StreamUse> users, const Recorder* sent) noexcept;

}  // namespace heddle::detail
