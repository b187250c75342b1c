// All streams of the process.
#pragma once

#include <functional>

#include "core/seam/backend.hpp"

namespace heddle::detail {

/// Makes a record for a stream of `device`, without a native stream. The record has a new id and
/// only the flag `dead`, which the caller clears once the stream is usable.
StreamRecord& new_stream_record(Device device);
enum class Naming : bool { as_given, with_id };
/// Opens a stream: a record and its native stream. The record owns `name`.
StreamRecord& open_stream(Device device, int priority, std::string name,
                          const SourceLocation& where, Naming naming = Naming::as_given);
/// Changes the name of a stream that only the caller uses. Other threads may read the names of all
/// streams during the call.
void name_stream(StreamRecord& stream, std::string name) noexcept;
/// Drops one owner (see StreamRecord::owners); the last one closes the stream. The stream's pending
/// work still runs.
void close_stream(StreamRecord& stream) noexcept;
/// Makes the record available for reuse. Called by backends once no work of the stream is pending.
void recycle_stream(StreamRecord& stream) noexcept;

/// Returns the stream that a key names (StreamState::key).
StreamUse use_of(std::uint64_t key) noexcept;
/// Returns whether the stream is closed and all its work has completed.
bool has_ended(std::uint64_t key) noexcept;

/// Calls `function` for every record that has ever been used. `function` must check the record's
/// flags and device. The set only grows. A record that is not `dead` is fully set up. At any time
/// it may become `dead`, and then be reused for another stream of its device. Thread-safe.
void for_each_stream(const std::function<void(StreamRecord&)>& function);

}  // namespace heddle::detail
