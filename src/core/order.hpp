// Who comes after whom.
#pragma once

#include "core/backend.hpp"

namespace heddle::detail {

/// StreamRef::wait_stream and wait_event.
void order_after_stream(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where);
/// The same for real, whatever records the two: what `waiter` is given from now on comes after what `other` was really given.
void enqueue_stream_wait(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where);
/// A wait that heddle adds by itself: for a stream that is open, closed or gone, perhaps of another thread. A batch that records it is
/// sent first; in a capture only what it was really given counts. Joins nothing.
void order_after_use(StreamRecord& waiter, const StreamUse& use, const SourceLocation& where);
void order_after_event(StreamRecord& waiter, EventState& event, const SourceLocation& where);

/// Records `event` on `stream` and notes what the record means.
void record_event(EventState& event, StreamRecord& stream, const SourceLocation& where);

/// Notes in the event that it was recorded on `stream`, when that had been given `given`.
void note_record(EventState& event, StreamRecord& stream, std::uint64_t given, std::uint64_t capture,
                 bool countable);

/// Records an event in a capture as a node of the graph, elsewhere as above.
void record_event(EventState& event, StreamRecord& stream, bool external, const SourceLocation& where);

/// Throws the stream's failure, if one is known.
void throw_known_failure(StreamRecord& stream);
/// Throws UsageError when the stream is dead, of a forked process, or (for waits and queries on the host) capturing.
void check_usable(StreamRecord& stream, const char* call, const SourceLocation& where);
void check_not_capturing(StreamRecord& stream, const char* call, const SourceLocation& where);

}  // namespace heddle::detail
