#include "core/stream/usable.hpp"

#include "core/base/errors.hpp"
#include "core/base/host_function_mark.hpp"
#include "core/failure/told.hpp"
#include "core/stream/notify.hpp"
#include "core/stream/recorded_calls.hpp"
#include "core/stream/wait_plan.hpp"
#include <heddle/operation/observer.hpp>
#include <heddle/stream/detail/thread_state.hpp>

namespace heddle::detail {

namespace {
bool is_current(StreamRecord& stream) noexcept {
    return stream_slot(this_thread_state(), stream.device) == &stream;
}
}  // namespace

void check_usable(StreamRecord& stream, const char* call, const SourceLocation& where) {
    const std::uint32_t flags = stream.flags.load(std::memory_order_acquire);
    if ((flags & stream_flag::forked) != 0)
        coded_error(ErrorCode::forked, {call, where},
                    "this stream belongs to the parent process: after fork(), make new streams "
                    "(CPU devices) or start a new program (CUDA)");
    if ((flags & stream_flag::dead) != 0 && is_current(stream))
        usage_error({call, where, stream.device},
                    "stream '{}' was destroyed while it was this thread's current stream of {}: "
                    "keep it until its scope is left, or call set_stream(default_stream(device), "
                    "{{.wait = false}}) first",
                    stream, stream.device);
    if ((flags & stream_flag::dead) != 0) throw_dead(call, where);
}

void check_not_lost(StreamRecord& stream, const char* call, const SourceLocation& where) {
    check_usable(stream, call, where);
    if (is_lost(stream)) throw_known_failure(stream);
}

void throw_dead(const char* call, const SourceLocation& where) {
    usage_error(
        {call, where},
        "this StreamRef refers to no stream, because it is empty, its stream was destroyed or "
        "moved from, or its thread has ended (Stream::per_thread()): use an existing stream");
}

void throw_capturing(StreamRecord& stream, const char* call, const SourceLocation& where) {
    usage_error({call, where, stream},
                "the host cannot wait for or query a stream that is capturing, because captured "
                "work runs only when the graph is launched: end the capture first; to read memory, "
                "copy it to pinned() memory in the capture");
}

void throw_wrong_event(const ErrorSite& site, Device of_event, std::string_view remedy) {
    usage_error(site, "an event of {} cannot be recorded on this stream: {}", of_event, remedy);
}

void check_not_capturing(StreamRecord& stream, const char* call, const SourceLocation& where) {
    leave_to_host(stream, call, where);
    if (open_capture_of(stream) == 0) return;
    throw_capturing(stream, call, where);
}

bool is_lost(StreamRecord& stream) {
    if (!stream.has(stream_flag::poisoned)) return false;
    const Failure failure = stream.known_failure();
    return failure != nullptr && failure->code == ErrorCode::device_lost &&
           failure->device == stream.device;
}

std::uint64_t block_until_idle(StreamRecord& stream, const SourceLocation& where) {
    check_usable(stream, "synchronize", where);
    check_may_wait("synchronize", where);
    check_not_capturing(stream, "synchronize", where);
    const std::uint64_t submitted = stream.submissions.load(std::memory_order_acquire);
    HostWait wait("synchronize", stream, where);
    if (stream.device.is_cuda())  // may wait for CPU work, which after exit() only this thread runs
        help_at_exit_until([&] { return stream.backend->is_complete(stream, where); });
    stream.backend->synchronize(stream, where);
    wait.end();
    return submitted;
}

// Failed work reports its failure before it counts as completed.
bool is_idle(StreamRecord& stream, const SourceLocation& where) {
    return stream.backend->is_complete(stream, where) &&
           (!stream.has(stream_flag::poisoned | stream_flag::fallible) ||
            stream.known_failure() == nullptr);
}

void throw_known_failure(StreamRecord& stream) {
    if (!stream.has(stream_flag::poisoned | stream_flag::fallible)) return;
    const Failure failure = stream.known_failure();
    if (failure != nullptr) throw_failure(failure, &stream);
}

Admission admit_slowly(StreamState& state, const char* call, Where where) try {
    StreamRecord& stream = record_of(state);
    check_usable(stream, call, where);
    const bool recorded = stream.has(stream_flag::recording);
    if (recorded && is_captured(stream))
        return Admission::recorded;  // the work does not run now, so failures have no effect
    const bool may_have_failed = stream.has(stream_flag::poisoned | stream_flag::fallible);
    const Failure failure = may_have_failed ? stream.known_failure() : nullptr;
    if (failure == nullptr) return recorded ? Admission::recorded : Admission::enqueued;
    // A failed stream can be cleared, so its work is dropped; a lost device cannot, so this throws.
    if (failure->code == ErrorCode::device_lost && failure->device == stream.device)
        throw_failure(failure);
    if (is_observed()) notify_on(stream, {.kind = OpKind::dropped, .name = call, .where = where});
    return Admission::dropped;
} catch (...) {
    rethrow_as_error(call, where);
}

}  // namespace heddle::detail
