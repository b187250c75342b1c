// min_element() and max_element(): where the smallest or largest element is.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>

#include <heddle/algorithms/detail/functions.hpp>
#include <heddle/algorithms/detail/reduce_chunks.hpp>
#include <heddle/operation/host_access.hpp>
#ifdef __CUDACC__
#include <heddle/algorithms/detail/cub_reduce.hpp>
#endif

namespace heddle HEDDLE_VISIBLE {

namespace detail {

inline namespace HEDDLE_COMPILED_BY {

template <Algorithm algorithm, class On, class In, class Out, class Before>
void first_element(On& on, const In& input, Out& output, const Before& before,
                   const SourceLocation& where) {
    constexpr const char* name = name_of(algorithm);
    using T = ValueOf<In>;
    const auto in = detail::as_source(input, name, where);
    const auto out = detail::as_destination(output, name, where);
    detail::check_one_element(name, out, where);
    detail::check_functions<On, Before>();
    const auto call = detail::call_on<algorithm>(on, where);
    const FirstOf<T, Before> op{before};
    if (call.device().is_cpu())
        return detail::reduce_on_cpu<Indexed<T>>(call, out, Indexed<T>::nothing(), ReadIndexed<T>(),
                                                 op, IndexOf(), in);
#ifdef __CUDACC__
    detail::first_on_gpu(call, in, out, op);
#else
    throw_algorithm_not_compiled(name, call.device(), where);
#endif
}

}  // namespace HEDDLE_COMPILED_BY

}  // namespace detail

inline namespace HEDDLE_COMPILED_BY {

/// Writes the index of the smallest element of `in` to `out`, an array or view of one std::size_t.
/// Of equal elements, the first counts. For an empty input, writes 0, which is its size. `less`
/// orders elements as for sort(). The result is the same on all devices. Everything else is as for
/// reduce().
///
///     Array<std::size_t> coldest(s, 1);
///     min_element(s, temperatures, coldest);
///
/// The result is undefined if `less` is not a strict weak order, as for elements that are NaN.
template <detail::StreamOrOrder On, detail::ArrayOrView In, detail::Writable Out,
          detail::Orders<detail::ValueOf<In>> Less = std::less<>>
    requires std::same_as<detail::ValueOf<Out>, std::size_t>
void min_element(On&& on, const In& in, Out&& out, Less less = {}, Where where = {}) {
    detail::first_element<detail::Algorithm::min_element>(on, in, out, less, where);
}
template <detail::ArrayOrView In, detail::Writable Out,
          detail::Orders<detail::ValueOf<In>> Less = std::less<>>
    requires std::same_as<detail::ValueOf<Out>, std::size_t>
void min_element(const In& in, Out&& out, Less less = {}, Where where = {}) {
    min_element(current_stream(), in, out, less, where);
}

/// Writes the index of the largest element; of equal elements, the first. Otherwise the same as
/// min_element().
template <detail::StreamOrOrder On, detail::ArrayOrView In, detail::Writable Out,
          detail::Orders<detail::ValueOf<In>> Less = std::less<>>
    requires std::same_as<detail::ValueOf<Out>, std::size_t>
void max_element(On&& on, const In& in, Out&& out, Less less = {}, Where where = {}) {
    detail::first_element<detail::Algorithm::max_element>(on, in, out,
                                                          detail::Exchanged<Less>{less}, where);
}
template <detail::ArrayOrView In, detail::Writable Out,
          detail::Orders<detail::ValueOf<In>> Less = std::less<>>
    requires std::same_as<detail::ValueOf<Out>, std::size_t>
void max_element(const In& in, Out&& out, Less less = {}, Where where = {}) {
    max_element(current_stream(), in, out, less, where);
}

}  // namespace HEDDLE_COMPILED_BY

}  // namespace heddle
