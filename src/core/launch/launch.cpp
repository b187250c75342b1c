// Enqueues closures through the backends; errors of launches.
#include <string>

#include <heddle/detail/host_op.hpp>
#include <heddle/detail/kernel_args.hpp>
#include <heddle/detail/launch_cxx.hpp>

#include "core/base/kernel_name.hpp"
#include "core/seam/backend.hpp"
#include "core/stream/stream_errors.hpp"

namespace heddle::detail {

void enqueue(StreamState& state, const OpType& type, void* self, std::size_t count,
             const SourceLocation& where) try {
    state.backend->enqueue(record_of(state), type, self, count, where);
} catch (...) {
    detail::rethrow_as_error("launch", where);
}

void throw_too_many_indices(Where where) try {
    throw_error({.code = ErrorCode::usage,
                 .message = "the extents given to dim() have a product beyond what can be counted",
                 .call = "launch",
                 .where = where});
} catch (...) {
    detail::rethrow_as_error("launch", where);
}

void throw_negative_extent(std::size_t extent, const SourceLocation& where) {
    throw_error({.code = ErrorCode::usage,
                 .message = "an extent given to dim() is " +
                            std::to_string(static_cast<std::ptrdiff_t>(extent)) +
                            ": give it the number of indices, 0 or more (0 enqueues nothing)",
                 .call = "dim",
                 .where = where});
}

namespace {
std::string not_compiled_for_cuda(const char* pretty) {
    return "the kernel " + kernel_name(pretty) +
           " was compiled without nvcc, so it runs on CPU devices only: compile this source file "
           "as CUDA "
           "(set_source_files_properties(... PROPERTIES LANGUAGE CUDA)), or use a CPU device";
}
}  // namespace

void throw_not_compiled_for_cuda(const StreamState& stream, const char* pretty, Where where) try {
    throw_error(stream_error(ErrorCode::usage,
                             const_cast<StreamRecord&>(static_cast<const StreamRecord&>(stream)),
                             not_compiled_for_cuda(pretty), "launch", where));
} catch (...) {
    detail::rethrow_as_error("launch", where);
}
void throw_not_compiled_for_cuda(const char* pretty, Where where) try {
    throw_error({.code = ErrorCode::usage,
                 .message = not_compiled_for_cuda(pretty),
                 .call = "kernel_node",
                 .where = where});
} catch (...) {
    detail::rethrow_as_error("launch", where);
}

}  // namespace heddle::detail
