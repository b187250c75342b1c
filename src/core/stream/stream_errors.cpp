#include "core/stream/stream_errors.hpp"

#include <utility>

namespace heddle::detail {

namespace {
[[noreturn]] void throw_copy(const Failure& failure, StreamRecord* stream) try {
    // The failure came from another stream by a wait: name the stream on which the user sees it.
    if (stream == nullptr || failure->code != ErrorCode::work_failed ||
        failure->stream_id == stream->id.load())
        throw_error(*failure);
    ErrorInfo info = *failure;
    info.message +=
        "; stream '" + stream->display_name() + "' waited for it, and took the failure over";
    throw_error(std::move(info));
} catch (const std::bad_alloc&) {
    throw_reserved_error();
}
}  // namespace

std::exception_ptr to_be_told(const Failure& failure, StreamRecord* stream) {
    try {
        throw_copy(failure, stream);
    } catch (const OutOfMemory&) {
        if (failure->code != ErrorCode::out_of_memory) throw;
        return std::current_exception();
    } catch (...) {
        return std::current_exception();
    }
}

// If memory runs out, throws OutOfMemory; the failure then counts as not told.
void throw_failure(const Failure& failure, StreamRecord* stream) {
    const std::exception_ptr error = to_be_told(failure, stream);
    failure->note_told();
    std::rethrow_exception(error);
}

std::exception_ptr told(const Failure& failure, StreamRecord* stream) {
    try {
        throw_failure(failure, stream);
    } catch (...) {
        return std::current_exception();
    }
}

ErrorInfo stream_error(ErrorCode code, StreamRecord& stream, std::string message, std::string call,
                       const SourceLocation& where) {
    return {.code = code,
            .message = std::move(message),
            .call = std::move(call),
            .device = stream.device,
            .stream_id = stream.id.load(),
            .stream = stream.display_name(),
            .where = where};
}

}  // namespace heddle::detail
