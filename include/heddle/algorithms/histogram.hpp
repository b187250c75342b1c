// histogram(): how many elements are in each of several ranges.
#pragma once

#include <concepts>
#include <type_traits>

#include <heddle/algorithms/detail/bins.hpp>
#include <heddle/operation/host_access.hpp>
#ifdef __CUDACC__
#include <heddle/algorithms/detail/cub_histogram.hpp>
#endif

namespace heddle HEDDLE_VISIBLE {

namespace detail {

inline namespace HEDDLE_COMPILED_BY {

template <class On, class In, class Out>
void histogram(On& on, const In& input, Out& output, const ValueOf<In>& lower,
               const ValueOf<In>& upper, const SourceLocation& where) {
    using T = ValueOf<In>;
    const View<const T> in = detail::as_source(input, "histogram", where);
    const auto out = detail::as_destination(output, "histogram", where);
    const Bins<T> bins{lower, upper, out.size()};
    detail::check_bins(bins.count, lower < upper,
                       std::is_integral_v<T> && lower < upper ? bins.width() : 1, where);
    if (detail::overlap(in, out)) [[unlikely]]
        throw_overlap("histogram", "elements", "counts", where);
    const auto call = detail::call_on<Algorithm::histogram>(on, where);
    if (call.device().is_cpu()) return detail::histogram_on_cpu(call, in, out, bins);
#ifdef __CUDACC__
    detail::histogram_on_gpu(call, in, out, bins);
#else
    throw_algorithm_not_compiled("histogram", call.device(), where);
#endif
}

}  // namespace HEDDLE_COMPILED_BY

/// The counters of a histogram: integers that GPUs can increment.
template <class T>
concept Counter = std::integral<T> && (sizeof(T) == 4 || sizeof(T) == 8);

}  // namespace detail

inline namespace HEDDLE_COMPILED_BY {

/// Counts the elements of `in` in bins of equal width, which divide [lower, upper). `counts` has
/// one integer of 4 or 8 bytes for each bin. Elements are numbers; those outside, and NaN, are
/// ignored. Asynchronous, on `on`: a stream, or a DataOrder. Without `on`, uses the current
/// stream.
///
///     auto counts = empty<std::uint32_t>(s, 256);
///     histogram(s, brightness, counts, 0.0f, 1.0f);
///
/// The result is the same on all devices. Throws UsageError if `lower` is not less than `upper`, if
/// there are no bins, or 2^31 or more, or if the number of bins times the range of integers exceeds
/// 2^64. Everything else is as for reduce().
template <detail::StreamOrOrder On, detail::ArrayOrView In, detail::Writable Out>
    requires(std::is_arithmetic_v<detail::ValueOf<In>> && detail::Counter<detail::ValueOf<Out>>)
void histogram(On&& on, const In& in, Out&& counts, const detail::ValueOf<In>& lower,
               const detail::ValueOf<In>& upper, Where where = {}) {
    detail::histogram(on, in, counts, lower, upper, where);
}
template <detail::ArrayOrView In, detail::Writable Out>
    requires(std::is_arithmetic_v<detail::ValueOf<In>> && detail::Counter<detail::ValueOf<Out>>)
void histogram(const In& in, Out&& counts, const detail::ValueOf<In>& lower,
               const detail::ValueOf<In>& upper, Where where = {}) {
    heddle::histogram(current_stream(), in, counts, lower, upper, where);
}

}  // namespace HEDDLE_COMPILED_BY

}  // namespace heddle
