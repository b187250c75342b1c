#include <string>

#include <heddle/detail/host_op.hpp>
#include <heddle/detail/kernel_args.hpp>
#include <heddle/detail/launch_cxx.hpp>

#include "core/registry.hpp"

namespace heddle::detail {

void enqueue(StreamState& state, const OpType& type, void* self, std::size_t count,
             const SourceLocation& where) try {
    state.backend->enqueue(record_of(state), type, self, count, where);
} catch (...) {
    detail::rethrow_as_error("launch", where);
}

// g++ writes "... PortableOp<K, N, P>::pretty() [with K = Saxpy; int N = 1; ...]", clang "... PortableOp<Saxpy, 1, ...>::pretty() [K =
// Saxpy, ...]": the name stands after "K = " or "F = ".
std::string_view kernel_name_in(const char* pretty) noexcept {
    const std::string_view text(pretty);
    std::size_t begin = std::string_view::npos;
    for (const std::string_view mark : {"[with K = ", "[with F = ", "[K = ", "[F = "})
        if (const std::size_t at = text.find(mark); at != std::string_view::npos) {
            begin = at + mark.size();
            break;
        }
    if (begin == std::string_view::npos) return text;
    std::size_t end = begin;
    for (int depth = 0; end < text.size(); ++end) {
        const char c = text[end];
        if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
        else if (c == '>' || c == ')' || c == '}' || (c == ']' && depth > 0)) --depth;
        else if (depth == 0 && (c == ';' || c == ',' || c == ']')) break;
    }
    return text.substr(begin, end - begin);
}

std::string kernel_name(const char* pretty) { return std::string(kernel_name_in(pretty)); }

void throw_too_many_indices(SourceLocation where) try {
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
           " was compiled without nvcc, so it runs on CPU devices only: compile this source file as CUDA "
           "(set_source_files_properties(... PROPERTIES LANGUAGE CUDA)), or use a CPU device";
}
}  // namespace

void throw_not_compiled_for_cuda(const StreamState& stream, const char* pretty, SourceLocation where) try {
    throw_error(stream_error(ErrorCode::usage,
                             const_cast<StreamRecord&>(static_cast<const StreamRecord&>(stream)),
                             not_compiled_for_cuda(pretty), "launch", where));
} catch (...) {
    detail::rethrow_as_error("launch", where);
}
void throw_not_compiled_for_cuda(const char* pretty, SourceLocation where) try {
    throw_error({.code = ErrorCode::usage,
                 .message = not_compiled_for_cuda(pretty),
                 .call = "kernel_node",
                 .where = where});
} catch (...) {
    detail::rethrow_as_error("launch", where);
}

}  // namespace heddle::detail
