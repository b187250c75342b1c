// inclusive_scan() and exclusive_scan(): running totals.
#pragma once

#include <concepts>
#include <functional>

#include <heddle/algorithms/detail/functions.hpp>
#include <heddle/algorithms/detail/scan_chunks.hpp>
#include <heddle/operation/host_access.hpp>
#ifdef __CUDACC__
#include <heddle/algorithms/detail/cub_scan.hpp>
#endif

namespace heddle HEDDLE_VISIBLE {

namespace detail {

inline namespace HEDDLE_COMPILED_BY {

template <Algorithm algorithm, ScanKind kind, class T, class On, class In, class Out, class Op>
void scan(On& on, const In& input, Out& output, const T& init, const Op& op,
          const SourceLocation& where) {
    constexpr const char* name = name_of(algorithm);
    const auto in = detail::as_source(input, name, where);
    const View<T> out = detail::as_destination(output, name, where);
    if (in.size() != out.size()) [[unlikely]]
        throw_unequal_sizes(name, "inputs", in.size(), "results", out.size(), where);
    const bool in_place =
        static_cast<const void*>(in.data()) == out.data() && in.size_bytes() == out.size_bytes();
    if (!in_place && detail::overlap(in, out)) [[unlikely]]
        throw_overlap(name, "inputs", "results", where);
    detail::check_functions<On, Op>();
    const auto call = detail::call_on<algorithm>(on, where);
    if (call.device().is_cpu()) return detail::scan_on_cpu<kind>(call, in, out, init, op);
#ifdef __CUDACC__
    detail::scan_on_gpu<kind>(call, in, out, init, op);
#else
    throw_algorithm_not_compiled(name, call.device(), where);
#endif
}

}  // namespace HEDDLE_COMPILED_BY

}  // namespace detail

inline namespace HEDDLE_COMPILED_BY {

/// Sets out[i] to in[0] op ... op in[i]. Without `op`, adds. `in` and `out` are arrays or views of
/// the same size. They may be the same memory; otherwise they must not overlap. Asynchronous, on
/// `on`: a stream, or a DataOrder. Without `on`, uses the current stream.
///
///     inclusive_scan(s, lengths, ends);
///
/// Computes in the element type of `out`: each element is converted to it first. `op` must be
/// associative. Throws UsageError if the sizes differ, or if the memory overlaps partly. Everything
/// else is as for reduce().
template <detail::StreamOrOrder On, detail::ArrayOrView In, detail::Writable Out,
          detail::Combines<detail::ValueOf<Out>> Op = std::plus<>>
void inclusive_scan(On&& on, const In& in, Out&& out, Op op = {}, Where where = {}) {
    using T = detail::ValueOf<Out>;
    detail::scan<detail::Algorithm::inclusive_scan, detail::ScanKind::inclusive, T>(on, in, out,
                                                                                    T{}, op, where);
}
template <detail::ArrayOrView In, detail::Writable Out,
          detail::Combines<detail::ValueOf<Out>> Op = std::plus<>>
void inclusive_scan(const In& in, Out&& out, Op op = {}, Where where = {}) {
    inclusive_scan(current_stream(), in, out, op, where);
}

/// Sets out[i] to init op in[0] op ... op in[i - 1], and out[0] to `init`. Without `init`, begins
/// with Out{}. Otherwise the same as inclusive_scan().
///
///     exclusive_scan(s, lengths, begins);
template <detail::StreamOrOrder On, detail::ArrayOrView In, detail::Writable Out>
void exclusive_scan(On&& on, const In& in, Out&& out, Where where = {}) {
    using T = detail::ValueOf<Out>;
    detail::scan<detail::Algorithm::exclusive_scan, detail::ScanKind::exclusive, T>(
        on, in, out, T{}, std::plus<>(), where);
}
template <detail::StreamOrOrder On, detail::ArrayOrView In, detail::Writable Out,
          std::convertible_to<detail::ValueOf<Out>> Init,
          detail::Combines<detail::ValueOf<Out>> Op = std::plus<>>
void exclusive_scan(On&& on, const In& in, Out&& out, const Init& init, Op op = {},
                    Where where = {}) {
    using T = detail::ValueOf<Out>;
    detail::scan<detail::Algorithm::exclusive_scan, detail::ScanKind::exclusive, T>(
        on, in, out, static_cast<T>(init), op, where);
}
template <detail::ArrayOrView In, detail::Writable Out>
void exclusive_scan(const In& in, Out&& out, Where where = {}) {
    exclusive_scan(current_stream(), in, out, where);
}
template <detail::ArrayOrView In, detail::Writable Out,
          std::convertible_to<detail::ValueOf<Out>> Init,
          detail::Combines<detail::ValueOf<Out>> Op = std::plus<>>
void exclusive_scan(const In& in, Out&& out, const Init& init, Op op = {}, Where where = {}) {
    exclusive_scan(current_stream(), in, out, init, op, where);
}

}  // namespace HEDDLE_COMPILED_BY

}  // namespace heddle
