// Checks whether a stream is usable or idle, and whether the host may wait for it.
#pragma once

#include "core/base/errors.hpp"
#include "core/seam/backend.hpp"

namespace heddle::detail {

/// Returns whether all of the stream's work has completed and none of it has failed. Then a wait
/// for the stream has no effect, and its next user inherits no failure. Use this instead of a check
/// for failure and a later check for completion: the work may fail between the two.
bool is_idle(StreamRecord& stream, const SourceLocation& where);
/// Returns whether the stream's device is lost, so that nothing can be enqueued on it any more.
bool is_lost(StreamRecord& stream);
/// Throws the stream's failure, if there is a known one.
void throw_known_failure(StreamRecord& stream);
/// Throws UsageError if the stream is dead, and ForkedError if it belongs to the parent process.
void check_usable(StreamRecord& stream, const char* call, const SourceLocation& where);
/// Calls check_usable(), and throws DeviceLost if the stream's device is lost.
void check_not_lost(StreamRecord& stream, const char* call, const SourceLocation& where);
/// Throws UsageError, because the stream is dead.
[[noreturn]] void throw_dead(const char* call, const SourceLocation& where);
/// Throws UsageError for a wait for or query of a stream that is being captured.
[[noreturn]] void throw_capturing(StreamRecord& stream, const char* call,
                                  const SourceLocation& where);
/// Throws UsageError for recording an event on a stream of a different device.
[[noreturn]] void throw_wrong_event(const ErrorSite& site, Device of_event,
                                    std::string_view remedy);
/// For waits and queries by the host: flushes a batch that records the stream; throws UsageError if
/// the stream is being captured.
void check_not_capturing(StreamRecord& stream, const char* call, const SourceLocation& where);

/// For synchronize(): blocks until the work enqueued so far has completed, without checking
/// whether that work failed. Returns the number of submissions that have completed. Throws
/// UsageError where the host cannot wait.
std::uint64_t block_until_idle(StreamRecord& stream, const SourceLocation& where);

}  // namespace heddle::detail
