// The concepts of ranges that heddle needs, of what <iterator> has. <ranges> has them too, and
// would be a tenth of what heddle/heddle.hpp costs a compiler.
#pragma once

#include <concepts>
#include <iterator>
#include <span>  // declares std::ranges::enable_borrowed_range
#include <type_traits>
#include <utility>

#ifdef _LIBCPP_VERSION
#include <ranges>  // as a module, its <iterator> lacks std::ranges::begin()
#endif

namespace heddle::detail {

template <class R> using RangeIterator = decltype(std::ranges::begin(std::declval<R&>()));
template <class R> using RangeReference = std::iter_reference_t<RangeIterator<R>>;
template <class R> using RangeValue = std::iter_value_t<RangeIterator<R>>;

/// A range whose number of elements is known, and whose elements have an index.
template <class R>
concept IndexedRange = std::random_access_iterator<RangeIterator<R>> && requires(R& r) {
    std::ranges::end(r);
    std::ranges::size(r);
};

/// A range whose elements are one behind the other in memory.
template <class R>
concept ContiguousRange = std::contiguous_iterator<RangeIterator<R>> && requires(R& r) {
    std::ranges::end(r);
    { std::ranges::data(r) } -> std::same_as<std::add_pointer_t<RangeReference<R>>>;
};

/// A range whose elements outlive the expression that it stands in.
template <class R>
concept Lasting =
    std::is_lvalue_reference_v<R> || std::ranges::enable_borrowed_range<std::remove_cvref_t<R>>;

}  // namespace heddle::detail
