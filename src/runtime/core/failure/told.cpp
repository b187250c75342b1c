#include "core/failure/told.hpp"

#include <utility>

#include "core/base/errors.hpp"
#include "core/base/kernel_name.hpp"
#include "core/failure/bad_index.hpp"

namespace heddle::detail {

namespace {
[[noreturn]] void throw_copy(const Failure& failure, FallibleStream* stream) try {
    // If the failure was inherited from another stream, also names the stream on which it was
    // found.
    if (stream == nullptr || failure->code != ErrorCode::work_failed ||
        failure->stream_id == stream->id.load())
        throw_error(*failure);
    ErrorInfo info = *failure;
    info.message = formatted("{}; stream '{}' waited for the failed work, and failed too",
                             failure->message, static_cast<const StreamState&>(*stream));
    throw_error(std::move(info));
} catch (const std::bad_alloc&) {
    throw_reserved_error();
}
}  // namespace

std::exception_ptr to_be_told(const Failure& failure, FallibleStream* stream) {
    try {
        throw_copy(failure, stream);
    } catch (const OutOfMemory&) {
        if (failure->code != ErrorCode::out_of_memory) throw;
        return std::current_exception();
    } catch (...) {
        return std::current_exception();
    }
}

// Throws OutOfMemory if memory runs out; the failure then counts as not reported.
void throw_failure(const Failure& failure, FallibleStream* stream) {
    const std::exception_ptr error = to_be_told(failure, stream);
    failure->note_told();
    std::rethrow_exception(error);
}

std::exception_ptr told(const Failure& failure, FallibleStream* stream) {
    try {
        throw_failure(failure, stream);
    } catch (...) {
        return std::current_exception();
    }
}

Failure failure_of_throw(FallibleStream& stream, const OpType& type, const SourceLocation& where,
                         const std::exception_ptr& thrown, const std::string* node) noexcept {
    if (Failure of_index = failure_of_index(stream, type, where, thrown, node)) return of_index;
    try {
        const std::string of_node = node != nullptr ? formatted("node '{}', ", *node) : "";
        ErrorInfo info =
            error_info(ErrorCode::work_failed, {type.call, where, stream}, "{}{} threw: {}; {}",
                       of_node, kernel_name(type.pretty), what_of(thrown), consequence_of_failure);
        info.cause = thrown;
        return make_failure(std::move(info));
    } catch (...) {
        return no_memory_failure();
    }
}

Failure failure_for_want_of_memory(FallibleStream& stream, const char* call,
                                   const SourceLocation& where) noexcept {
    try {
        return make_failure(
            error_info(ErrorCode::out_of_memory, {call, where, stream},
                       "host memory was exhausted, so the work was not completed, and {}",
                       consequence_of_failure));
    } catch (...) {
        return no_memory_failure();
    }
}

}  // namespace heddle::detail
