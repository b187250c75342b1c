// Indices outside views, as failures of the work that used them (docs/adr/0073).
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "core/failure/fallible_stream.hpp"
#include <heddle/detail/bounds.hpp>
#include <heddle/stream/detail/host_op.hpp>

namespace heddle::detail {

/// Returns "index 1001 of a view of 1000 elements (argument 2)".
std::string describe_index(const BadIndex& bad);
/// Returns an IndexOutOfRange. Throws std::bad_alloc.
std::exception_ptr index_exception(const BadIndex& bad);

/// Returns the error info for work that used a bad index. Its device and stream are not set. `call`
/// and `where` are the call that enqueued the work, `name` is the kernel's name, and `node` is the
/// name of the graph's node, or null. Throws std::bad_alloc.
ErrorInfo info_of_index(const char* call, const SourceLocation& where, std::string_view name,
                        const BadIndex& bad, const std::string* node);
/// Converts an exception that left the work into a failure. Returns null unless the exception is an
/// IndexOutOfRange.
Failure failure_of_index(FallibleStream& stream, const OpType& type, const SourceLocation& where,
                         const std::exception_ptr& thrown, const std::string* node) noexcept;

/// The first bad index of the work that this thread runs.
inline constinit thread_local BadIndex noted_index{};
inline bool has_noted_index() noexcept { return noted_index.dimensions != 0; }
/// Throws IndexOutOfRange for the bad index that this thread's work has noted.
[[noreturn]] void throw_noted_index();

/// Calls run(), which runs work on this thread. If the work used a bad index, throws
/// IndexOutOfRange when the work has ended, even if the work has thrown another exception.
template <class Run> void run_with_checks(const Run& run) {
    if (has_noted_index()) [[unlikely]]
        noted_index = {};
    try {
        run();
    } catch (...) {
        if (has_noted_index()) throw_noted_index();
        throw;
    }
    if (has_noted_index()) [[unlikely]]
        throw_noted_index();
}

}  // namespace heddle::detail
