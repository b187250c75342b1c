// What the rest of core knows of recording: a stream with flag `recording` hands what it is asked to do to its recorder, a capture or a
// batch. (The recorders themselves: core/recording.hpp.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/backend.hpp"

namespace heddle::detail {

struct NodeData;

/// The id of the recorder of a stream; 0 if nothing records it.
std::uint64_t recorder_id(StreamRecord& stream) noexcept;
/// Whether an id is a recorder's, and not that of a native capture.
inline bool is_recorder_id(std::uint64_t id) noexcept { return id >> 63 != 0; }
/// Whether a capture records the stream (and not a batch, and not nothing).
inline bool is_captured(const StreamRecord& stream) noexcept { return stream.has(stream_flag::captured); }
/// Whether the calling thread's own capture records the stream.
bool is_captured_here(StreamRecord& stream) noexcept;
/// Whether nothing about the stream keeps a batch from recording it.
bool is_recordable(StreamRecord& stream) noexcept;

// Operations on a recorded stream. True: recorded. False: the caller enqueues it, and what had been recorded before has been sent
// where that matters. Thread-safe. (Kernels and host functions: record_work(), heddle/detail/graph_work.hpp.)

bool record_copy(StreamRecord& stream, const Piece& to, const Piece& from, Block* to_owner, Block* from_owner,
                 const SourceLocation& where);
bool record_fill(StreamRecord& stream, const Piece& to, const void* value, std::size_t size, Block* owner,
                 const SourceLocation& where);
bool record_graph(StreamRecord& stream, GraphData& graph, const SourceLocation& where);
/// A node that only captures have.
void record_node(StreamRecord& stream, std::shared_ptr<NodeData> node, const SourceLocation& where);
/// What others just enqueued natively on a captured stream, as one operation that uses these blocks.
void record_external(StreamRecord& stream, Block* const* blocks, std::size_t count,
                     const SourceLocation& where);
/// A captured stream waits, at each launch of the graph, for the event's newest record.
void record_wait_node(StreamRecord& stream, EventState& event, const SourceLocation& where);

// Order. The same answers. A wait that the user asked for may make `waiter` join the capture or the batch of what it waits for.

bool record_stream_wait(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where);
bool record_event_wait(StreamRecord& waiter, EventState& event, const SourceLocation& where);
bool record_event_point(EventState& event, StreamRecord& stream, bool external, const SourceLocation& where);
/// The stream's next kernel may start before the kernel that the event was recorded behind has finished. False: it may not.
bool record_primary(StreamRecord& waiter, EventState& event);

/// Sends what a batch has recorded, if one records the stream. Returns when all of it has been enqueued, by whichever thread.
void send_batch_of(StreamRecord& stream, const SourceLocation& where);
/// The same for an event whose newest record is in a batch that is still open.
void send_batch_of(EventState& event, const SourceLocation& where);
/// Before the host waits for a stream or copies behind it: sends its batch; throws UsageError in a capture.
void leave_to_host(StreamRecord& stream, const char* call, const SourceLocation& where);
/// Before the host asks about a stream. Returns false if its work is on its way just now, so that it cannot be complete.
bool may_query(StreamRecord& stream, const char* call, const SourceLocation& where);
bool may_query(EventState& event, const SourceLocation& where);

/// The stream's native handle is handed out: what it is given natively has to be recorded too.
void note_handed_out(StreamRecord& stream, const SourceLocation& where);
/// For backends: work reached a stream that joined a batch after the caller had looked whether it is recorded. Sends the batch, and the stream
/// leaves it. Returns false if there is no such batch.
bool make_way(StreamRecord& stream, const SourceLocation& where);
/// The event is recorded elsewhere now, or gone.
void forget_mark(EventState& event) noexcept;
/// The stream is closed, or goes back to a pool: it takes part no longer, and its recorded work stays. A batch whose first stream goes is
/// sent, and records nothing more.
void leave_recording(StreamRecord& stream) noexcept;

// Memory.

/// The user says that a recorded stream uses the block (used_on()).
void note_recorded_use(StreamRecord& stream, Block& block);
/// A block that was given up earlier in the capture, is large enough, and whose uses are all ordered before what the stream does next. Returns
/// null if there is none.
Block* take_spare(StreamRecord& stream, std::size_t bytes);
/// The block belongs to the capture's graph as well. Does nothing where no capture records the stream.
void own_by_capture(StreamRecord& stream, Block& block, const SourceLocation& where);
/// An array gives up a block that graphs own: if one of them is being captured, later arrays in it may use the block.
void offer_to_capture(Block& block) noexcept;
/// The stream on which memory for a recorded stream is really allocated, usable by what is recorded next.
StreamRecord& allocating_stream(StreamRecord& stream, const SourceLocation& where);
/// Whether an open batch, other than `sent`, may have recorded work on the block: then it frees the block when that has been sent.
bool keep_for_batch(Block& block, std::span<const StreamUse> users, const Recorder* sent) noexcept;

}  // namespace heddle::detail
