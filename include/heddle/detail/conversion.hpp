// Conversions between heddle's types and those of other libraries.
#pragma once

#include <concepts>

#include <heddle/location.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// Converts between a type of heddle and one of another library. The headers in heddle/with/
/// specialise it, with `static To convert(const From&, Where)`. The other headers need no types of
/// those libraries.
template <class From, class To> struct Conversion;

/// True if a header that was included specialises Conversion<From, To>.
template <class From, class To>
concept ConvertsTo = requires(const From& from, Where where) {
    { Conversion<From, To>::convert(from, where) } -> std::same_as<To>;
};

/// Converts within a conversion operator, which cannot receive its caller's line.
template <class To, class From> To convert_to(const From& from) {
    return Conversion<From, To>::convert(from, SourceLocation());
}

}  // namespace detail
}  // namespace heddle
