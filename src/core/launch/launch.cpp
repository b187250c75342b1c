// Enqueues closures through the backends; errors of launches.
#include <string>

#include <heddle/detail/host_op.hpp>
#include <heddle/detail/kernel_args.hpp>
#include <heddle/detail/launch_cxx.hpp>

#include "core/base/errors.hpp"
#include "core/base/kernel_name.hpp"
#include "core/seam/backend.hpp"

namespace heddle::detail {

void enqueue(StreamState& state, const OpType& type, void* self, std::size_t count,
             const SourceLocation& where) try {
    state.backend->enqueue(record_of(state), type, self, count, where);
} catch (...) {
    detail::rethrow_as_error("launch", where);
}

void throw_too_many_indices(Where where) try {
    usage_error({"launch", where},
                "the extents given to dim() have a product beyond what can be counted");
} catch (...) {
    detail::rethrow_as_error("launch", where);
}

void throw_negative_extent(std::size_t extent, const SourceLocation& where) {
    usage_error({"dim", where},
                "an extent given to dim() is {}: give it the number of indices, 0 or more (0 "
                "enqueues nothing)",
                static_cast<std::ptrdiff_t>(extent));
}

namespace {
[[noreturn]] void throw_uncompiled(const ErrorSite& site, const char* pretty) {
    usage_error(
        site,
        "the kernel {} was compiled without nvcc, so it runs on CPU devices only: compile this "
        "source file as CUDA (set_source_files_properties(... PROPERTIES LANGUAGE CUDA)), or "
        "use a CPU device",
        kernel_name(pretty));
}
}  // namespace

void throw_not_compiled_for_cuda(const StreamState& stream, const char* pretty, Where where) try {
    throw_uncompiled({"launch", where, stream}, pretty);
} catch (...) {
    detail::rethrow_as_error("launch", where);
}
void throw_not_compiled_for_cuda(const char* pretty, Where where) try {
    throw_uncompiled({"kernel_node", where}, pretty);
} catch (...) {
    detail::rethrow_as_error("launch", where);
}

}  // namespace heddle::detail
