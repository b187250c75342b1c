// The errors of algorithms. The algorithms themselves are templates.
#include <limits>

#include <heddle/algorithms/detail/bins.hpp>
#include <heddle/algorithms/detail/call.hpp>

#include "core/base/errors.hpp"

namespace heddle::detail {

void throw_not_one_element(const char* call, std::size_t size, const SourceLocation& where) {
    usage_error({call, where},
                "the result has {} elements: pass an array or view of one element, such as "
                "Array<float>(stream, 1)",
                size);
}

void throw_unequal_sizes(const char* call, const char* first, std::size_t first_size,
                         const char* second, std::size_t second_size, const SourceLocation& where) {
    usage_error({call, where}, "the {} have {} elements, but the {} have {}: pass equal sizes",
                first, first_size, second, second_size);
}

void throw_overlap(const char* call, const char* first, const char* second,
                   const SourceLocation& where) {
    usage_error({call, where},
                "the {} and the {} share a part of their memory: pass separate memory", first,
                second);
}

void throw_algorithm_not_compiled(const char* call, Device device, const SourceLocation& where) {
    usage_error({call, where, device},
                "this call was compiled without nvcc, so it runs on CPU devices only: compile this "
                "source file as CUDA (set_source_files_properties(... PROPERTIES LANGUAGE CUDA)), "
                "or use a CPU device");
}

void check_bins(std::size_t count, bool is_in_order, std::uint64_t width,
                const SourceLocation& where) {
    if (!is_in_order) [[unlikely]]
        usage_error({"histogram", where},
                    "the lower bound is not less than the upper bound: pass a range of samples");
    if (count == 0 || count > static_cast<std::size_t>(std::numeric_limits<int>::max()) - 1)
        [[unlikely]]
        usage_error({"histogram", where},
                    "there are {} bins: pass an array of 1 to 2147483646 counts", count);
    if (width > std::numeric_limits<std::uint64_t>::max() / count) [[unlikely]]
        usage_error({"histogram", where},
                    "{} bins for a range of {} integers exceed 64 bits: pass fewer bins, or a "
                    "smaller range",
                    count, width);
}

}  // namespace heddle::detail
