// Errors of arrays and views.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <heddle/memory/array.hpp>
#include <heddle/with/mdspan.hpp>

#include "core/base/errors.hpp"
#include "core/memory/memory.hpp"

namespace heddle::detail {

std::string argument_text(int argument) {
    return argument > 0 ? formatted("argument {}: ", argument) : std::string();
}

void throw_dead_block(const Block& block, const char* call, Where where, int argument) {
    if (block.origin == MemoryOrigin::lent)
        usage_error({call, where},
                    "{}this memory was lent, and its Loan has ended: keep the Loan until the last "
                    "use of its arrays",
                    argument_text(argument));
    usage_error({call, where},
                "{}this view outlived its array: keep the array until the last use of its views",
                argument_text(argument));
}

void throw_no_array(const char* call, Where where, int argument) {
    usage_error({call, where},
                "{}this array has no memory (moved from, reset or default-constructed): allocate "
                "it first; to pass no elements, use an empty View",
                argument_text(argument));
}

void throw_wrong_device(const Block& block, const StreamState& stream, Where where, int argument) {
    const bool on_gpus = block.device.is_cuda() && stream.device.is_cuda();
    const std::string_view remedy = !on_gpus ? (block.device.is_cpu() ? ", or use pinned()" : "")
                                    : block.origin == MemoryOrigin::pool
                                        ? ", or call enable_pool_access"
                                        : ", or call enable_peer_access";
    const std::string devices = on_gpus ? formatted("({}, {})", stream.device, block.device) : "";
    usage_error({"launch", where, stream},
                "{}work on {} cannot access {}{}: copy the elements to an array on {}{}{}",
                argument_text(argument), stream.device,
                block.kind == MemoryKind::device ? "an array on " : "a pageable host array",
                block.kind == MemoryKind::device ? block.device.name() : "", stream.device, remedy,
                devices);
}

void throw_not_whole(std::size_t bytes, std::size_t element, Where where) {
    usage_error({"reinterpret", where},
                "the view has {} bytes, which is not a multiple of the {} bytes of an element: "
                "pass a view of whole elements",
                bytes, element);
}

void throw_not_aligned(const void* data, std::size_t alignment, Where where) {
    usage_error(
        {"reinterpret", where},
        "the view's address is not a multiple of {} bytes, the alignment of the new elements "
        "(the remainder is {}): pass an aligned view",
        alignment, reinterpret_cast<std::uintptr_t>(data) % alignment);
}

void throw_not_on_host(const Block& block, Where where) {
    usage_error({"begin", where, block.device},
                "the host cannot access the elements, which are in memory of {}: copy them with "
                "to_host(), or allocate pinned() memory",
                block.device);
}

void throw_pitch_too_small(std::size_t columns, std::size_t pitch, Where where) {
    for (const std::size_t one : {columns, pitch}) refuse_negative(one, "View2D", where);
    usage_error({"View2D", where},
                "a pitch of {} elements is less than the {} columns of a row: pass at least the "
                "number of columns",
                pitch, columns);
}

void throw_out_of_range(const char* call, std::size_t first, std::size_t count, std::size_t size,
                        Where where) {
    refuse_negative(count, call, where);
    refuse_negative(first, call, where);
    if (std::string_view(call) != "subview")
        usage_error({call, where}, "{} elements are requested, but the view has {}: request fewer",
                    count, size);
    usage_error({call, where},
                "{} elements from element {} on are requested, but the view has {}: request a part "
                "of the view",
                count, first, size);
}

void throw_no_rectangle(std::size_t rows, std::size_t columns, std::size_t pitch, std::size_t size,
                        Where where) try {
    for (const std::size_t one : {rows, columns, pitch}) refuse_negative(one, "View2D", where);
    usage_error({"View2D", where},
                "{} rows of {} elements{} do not fit in the memory, which has {} elements: pass "
                "fewer rows or columns, or a smaller pitch",
                rows, columns,
                pitch == columns ? std::string()
                                 : formatted(", with a pitch of {} elements,", pitch),
                size);
} catch (...) {
    rethrow_as_error("View2D", where);
}

void throw_no_row(std::size_t index, std::size_t rows, Where where) {
    usage_error({"row", where}, "row {} does not exist: the view has {} rows, counted from 0",
                static_cast<std::ptrdiff_t>(index), rows);
}

void throw_span_too_large(const std::size_t* extent, std::size_t rank, std::size_t needed,
                          std::size_t size, const SpanningCall& call) try {
    std::string extents;
    for (std::size_t i = 0; i < rank; ++i)
        extents += formatted("{}{}", i == 0 ? "" : " x ", extent[i]);
    if (needed == 0)
        usage_error({call.name, call.where},
                    "an mdspan of {} elements is larger than its index_type can count: pass an "
                    "mdspan with a larger index_type",
                    extents);
    usage_error({call.name, call.where},
                "an mdspan of {}{} needs {} elements, but the memory has {}: pass smaller extents, "
                "or a larger array",
                rank == 0 ? "no dimensions" : extents, rank == 1 ? " elements" : "", needed, size);
} catch (...) {
    rethrow_as_error(call.name, call.where);
}

void throw_extent_of_mdspan(std::ptrdiff_t extent, std::size_t dimension, std::size_t most,
                            const SpanningCall& call) {
    usage_error({call.name, call.where},
                "extent {} is {}: pass 0 to {}, which the index_type of the mdspan can hold",
                dimension, extent, most);
}

void throw_static_extent(std::size_t extent, std::size_t dimension, std::size_t fixed,
                         const SpanningCall& call) {
    usage_error({call.name, call.where},
                "extent {} is {}, but the type of the mdspan fixes it as {}: pass that number, or "
                "only the dynamic extents",
                dimension, static_cast<std::ptrdiff_t>(extent), fixed);
}

}  // namespace heddle::detail
