// The range concepts that heddle needs, made from <iterator>. <ranges> has them too, but including
// it would take a tenth of the compile time of heddle/heddle.hpp.
#pragma once

#include <concepts>
#include <iterator>
#include <span>  // declares std::ranges::enable_borrowed_range
#include <type_traits>
#include <utility>

#include <heddle/detail/spans.hpp>

#ifdef _LIBCPP_VERSION
#include <ranges>  // as a module, its <iterator> lacks std::ranges::begin()
#endif

namespace heddle::detail {

template <class R> using RangeIterator = decltype(std::ranges::begin(std::declval<R&>()));
template <class R> using RangeReference = std::iter_reference_t<RangeIterator<R>>;
template <class R> using RangeValue = std::iter_value_t<RangeIterator<R>>;

/// A range with a known size and random access.
template <class R>
concept IndexedRange = std::random_access_iterator<RangeIterator<R>> && requires(R& r) {
    std::ranges::end(r);
    std::ranges::size(r);
};

/// A range whose elements are contiguous in memory.
template <class R>
concept ContiguousRange = std::contiguous_iterator<RangeIterator<R>> && requires(R& r) {
    std::ranges::end(r);
    { std::ranges::data(r) } -> std::same_as<std::add_pointer_t<RangeReference<R>>>;
};

/// A range whose elements outlive the full expression.
template <class R>
concept Lasting = std::is_lvalue_reference_v<R> || SpanLike<std::remove_cvref_t<R>> ||
                  std::ranges::enable_borrowed_range<std::remove_cvref_t<R>>;

}  // namespace heddle::detail
