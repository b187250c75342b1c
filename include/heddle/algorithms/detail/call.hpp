// A call of an algorithm: where it runs, and its checks.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <heddle/concurrency/by_data_calls.hpp>
#include <heddle/concurrency/data_order.hpp>
#include <heddle/memory/array.hpp>
#include <heddle/memory/detail/regions.hpp>
#include <heddle/memory/make_array.hpp>
#include <heddle/stream/stream.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// The algorithms, which errors and observers name.
enum class Algorithm : std::uint8_t {
    reduce,
    transform_reduce,
    count_if,
    min_element,
    max_element,
    inclusive_scan,
    exclusive_scan,
    sort,
    sort_by_key,
    histogram,
};
/// Returns the name of an algorithm's public function.
constexpr const char* name_of(Algorithm algorithm) noexcept {
    constexpr const char* names[] = {
        "reduce",         "transform_reduce", "count_if", "min_element", "max_element",
        "inclusive_scan", "exclusive_scan",   "sort",     "sort_by_key", "histogram"};
    return names[static_cast<std::size_t>(algorithm)];
}

/// A stream, or a DataOrder.
template <class On>
concept StreamOrOrder =
    std::convertible_to<On&, StreamRef> || std::same_as<std::remove_cvref_t<On>, DataOrder>;

/// The element type of an array or view, without const.
template <class A> using ValueOf = std::remove_const_t<typename std::remove_cvref_t<A>::value_type>;

/// A call of an algorithm on a stream. Lasts until the call returns.
template <Algorithm algorithm> struct CallOnStream {
    StreamRef stream;
    SourceLocation where;

    Device device() const noexcept { return stream.device(); }
    /// Allocates temporary memory, which is freed in the order of the stream.
    template <class T> Array<T> temporary(std::size_t size) const {
        return make_array<T>(stream, size, name_of(algorithm), Where(where));
    }
};
/// A call of an algorithm on a DataOrder.
template <Algorithm algorithm> struct CallByData {
    DataOrder& order;
    SourceLocation where;

    Device device() const noexcept { return order.device(); }
    template <class T> Array<T> temporary(std::size_t size) const {
        return Access::array<T>(
            allocate_by_data(order, size, sizeof(T), name_of(algorithm), Where(where)), size);
    }
};
template <Algorithm algorithm, class On> auto call_on(On& on, const SourceLocation& where) {
    if constexpr (std::same_as<std::remove_cvref_t<On>, DataOrder>)
        return CallByData<algorithm>{on, where};
    else return CallOnStream<algorithm>{on, where};
}

/// Throws UsageError for a result that is not one element.
[[noreturn]] void throw_not_one_element(const char* call, std::size_t size,
                                        const SourceLocation& where);
/// Throws UsageError for two ranges of different sizes.
[[noreturn]] void throw_unequal_sizes(const char* call, const char* first, std::size_t first_size,
                                      const char* second, std::size_t second_size,
                                      const SourceLocation& where);
/// Throws UsageError for two ranges that overlap.
[[noreturn]] void throw_overlap(const char* call, const char* first, const char* second,
                                const SourceLocation& where);
/// Throws UsageError for an algorithm on a CUDA stream in a file that nvcc did not compile.
[[noreturn]] void throw_algorithm_not_compiled(const char* call, Device device,
                                               const SourceLocation& where);

/// Does not compile if a function of an algorithm hides memory from a DataOrder.
template <class On, class... Functions> constexpr void check_functions() {
    static_assert(!std::same_as<std::remove_cvref_t<On>, DataOrder> ||
                      !(hides_memory<Functions> || ...),
                  "heddle: algorithm with a DataOrder: a function contains references or "
                  "addresses, which cannot be ordered by data: capture Views");
}

template <class T>
void check_one_element(const char* call, const View<T>& out, const SourceLocation& where) {
    if (out.size() != 1) [[unlikely]]
        throw_not_one_element(call, out.size(), where);
}

/// Returns whether two views share memory.
template <class A, class B> bool overlap(const View<A>& a, const View<B>& b) noexcept {
    const auto from_a = reinterpret_cast<std::uintptr_t>(a.data());
    const auto from_b = reinterpret_cast<std::uintptr_t>(b.data());
    return a.size() != 0 && b.size() != 0 && from_a < from_b + b.size_bytes() &&
           from_b < from_a + a.size_bytes();
}

}  // namespace detail
}  // namespace heddle
