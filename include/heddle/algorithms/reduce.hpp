// reduce(), transform_reduce() and count_if(): one value from all elements.
#pragma once

#include <concepts>
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

template <Algorithm algorithm, class T, class On, class In, class Out, class Op, class F>
void transform_reduce(On& on, const In& input, Out& output, const T& init, const Op& op,
                      const F& transform, const SourceLocation& where) {
    constexpr const char* name = name_of(algorithm);
    const auto in = detail::as_source(input, name, where);
    const auto out = detail::as_destination(output, name, where);
    detail::check_one_element(name, out, where);
    detail::check_functions<On, Op, F>();
    const auto call = detail::call_on<algorithm>(on, where);
    if (call.device().is_cpu())
        return detail::reduce_on_cpu<T>(call, out, init, Transformed<T, F>{transform}, op,
                                        Identity(), in);
#ifdef __CUDACC__
    detail::reduce_on_gpu<T>(call, in, out, init, transform, op);
#else
    throw_algorithm_not_compiled(name, call.device(), where);
#endif
}

template <class T, class On, class A, class B, class Out, class Op, class F>
void transform_reduce_two(On& on, const A& first, const B& second, Out& output, const T& init,
                          const Op& op, const F& transform, const SourceLocation& where) {
    constexpr Algorithm algorithm = Algorithm::transform_reduce;
    constexpr const char* name = name_of(algorithm);
    const auto a = detail::as_source(first, name, where);
    const auto b = detail::as_source(second, name, where);
    const auto out = detail::as_destination(output, name, where);
    detail::check_one_element(name, out, where);
    if (a.size() != b.size()) [[unlikely]]
        throw_unequal_sizes(name, "first inputs", a.size(), "second inputs", b.size(), where);
    detail::check_functions<On, Op, F>();
    const auto call = detail::call_on<algorithm>(on, where);
    if (call.device().is_cpu())
        return detail::reduce_on_cpu<T>(call, out, init, Transformed<T, F>{transform}, op,
                                        Identity(), a, b);
#ifdef __CUDACC__
    detail::reduce_on_gpu<T>(call, a, b, out, init, transform, op);
#else
    throw_algorithm_not_compiled(name, call.device(), where);
#endif
}

}  // namespace HEDDLE_COMPILED_BY

}  // namespace detail

inline namespace HEDDLE_COMPILED_BY {

/// Combines `init` and all elements of `in` by `op`, and writes the result to `out`, an array or
/// view of one element. Without `op`, adds. Without `init`, begins with Out{}. Asynchronous, on
/// `on`: a stream, or a DataOrder. Without `on`, uses the current stream.
///
///     Array<float> sum(s, 1);
///     reduce(s, x, sum);
///     float total = to_host(s, sum)[0];
///
/// Computes in the element type of `out`: each element is converted to it first. `op` must be
/// associative and commutative, because elements are combined in groups. On a CPU device the groups
/// depend on the number of elements only, so results have the same bits with any number of workers.
/// See docs/guide/27-algorithms.md for GPUs.
///
/// On CUDA devices this calls CUB, and the file must be compiled by nvcc; `op` is then a function
/// object for both compilers (HEDDLE_FN). Temporary memory belongs to the stream. In captures,
/// batches and graphs, and for failures, the call behaves as a launch() does. An exception of `op`
/// on a CPU device poisons the stream.
///
/// Throws UsageError if `out` does not have one element, if the device cannot reach the memory, and
/// on a CUDA device if nvcc did not compile the call.
template <detail::StreamOrOrder On, detail::ArrayOrView In, detail::Writable Out>
void reduce(On&& on, const In& in, Out&& out, Where where = {}) {
    using T = detail::ValueOf<Out>;
    detail::transform_reduce<detail::Algorithm::reduce, T>(on, in, out, T{}, std::plus<>(),
                                                           detail::Identity(), where);
}
template <detail::StreamOrOrder On, detail::ArrayOrView In, detail::Writable Out,
          std::convertible_to<detail::ValueOf<Out>> Init,
          detail::Combines<detail::ValueOf<Out>> Op = std::plus<>>
void reduce(On&& on, const In& in, Out&& out, const Init& init, Op op = {}, Where where = {}) {
    using T = detail::ValueOf<Out>;
    detail::transform_reduce<detail::Algorithm::reduce, T>(on, in, out, static_cast<T>(init), op,
                                                           detail::Identity(), where);
}
template <detail::ArrayOrView In, detail::Writable Out>
void reduce(const In& in, Out&& out, Where where = {}) {
    reduce(current_stream(), in, out, where);
}
template <detail::ArrayOrView In, detail::Writable Out,
          std::convertible_to<detail::ValueOf<Out>> Init,
          detail::Combines<detail::ValueOf<Out>> Op = std::plus<>>
void reduce(const In& in, Out&& out, const Init& init, Op op = {}, Where where = {}) {
    reduce(current_stream(), in, out, init, op, where);
}

/// Combines `init` and transform(element) of all elements by `op`, and writes the result to `out`,
/// an array or view of one element. Otherwise the same as reduce().
///
///     transform_reduce(s, x, norm, 0.0, std::plus<>(),
///                      [] HEDDLE_FN(float value) { return double(value) * value; });
template <detail::StreamOrOrder On, detail::ArrayOrView In, detail::Writable Out,
          std::convertible_to<detail::ValueOf<Out>> Init, detail::Combines<detail::ValueOf<Out>> Op,
          detail::Transforms<detail::ValueOf<In>, detail::ValueOf<Out>> F>
void transform_reduce(On&& on, const In& in, Out&& out, const Init& init, Op op, F transform,
                      Where where = {}) {
    using T = detail::ValueOf<Out>;
    detail::transform_reduce<detail::Algorithm::transform_reduce, T>(
        on, in, out, static_cast<T>(init), op, transform, where);
}
template <detail::ArrayOrView In, detail::Writable Out,
          std::convertible_to<detail::ValueOf<Out>> Init, detail::Combines<detail::ValueOf<Out>> Op,
          detail::Transforms<detail::ValueOf<In>, detail::ValueOf<Out>> F>
void transform_reduce(const In& in, Out&& out, const Init& init, Op op, F transform,
                      Where where = {}) {
    transform_reduce(current_stream(), in, out, init, op, transform, where);
}

/// Combines `init` and transform(a[i], b[i]) of all elements. Without functions, computes a dot
/// product in the element type of `out`. Throws UsageError if `a` and `b` differ in size.
///
///     transform_reduce(s, x, y, product, 0.0);
template <detail::StreamOrOrder On, detail::ArrayOrView A, detail::ArrayOrView B,
          detail::Writable Out, std::convertible_to<detail::ValueOf<Out>> Init,
          detail::Combines<detail::ValueOf<Out>> Op = std::plus<>,
          detail::TransformsTwo<detail::ValueOf<A>, detail::ValueOf<B>, detail::ValueOf<Out>> F =
              detail::MultiplyAs<detail::ValueOf<Out>>>
void transform_reduce(On&& on, const A& a, const B& b, Out&& out, const Init& init, Op op = {},
                      F transform = {}, Where where = {}) {
    using T = detail::ValueOf<Out>;
    detail::transform_reduce_two<T>(on, a, b, out, static_cast<T>(init), op, transform, where);
}
template <detail::ArrayOrView A, detail::ArrayOrView B, detail::Writable Out,
          std::convertible_to<detail::ValueOf<Out>> Init,
          detail::Combines<detail::ValueOf<Out>> Op = std::plus<>,
          detail::TransformsTwo<detail::ValueOf<A>, detail::ValueOf<B>, detail::ValueOf<Out>> F =
              detail::MultiplyAs<detail::ValueOf<Out>>>
void transform_reduce(const A& a, const B& b, Out&& out, const Init& init, Op op = {},
                      F transform = {}, Where where = {}) {
    transform_reduce(current_stream(), a, b, out, init, op, transform, where);
}

/// Counts the elements for which predicate(element) is true, and writes their number to `out`, an
/// array or view of one integer. Otherwise the same as reduce().
template <detail::StreamOrOrder On, detail::ArrayOrView In, detail::Writable Out,
          detail::Transforms<detail::ValueOf<In>, bool> Predicate>
    requires std::integral<detail::ValueOf<Out>>
void count_if(On&& on, const In& in, Out&& out, Predicate predicate, Where where = {}) {
    using T = detail::ValueOf<Out>;
    detail::transform_reduce<detail::Algorithm::count_if, T>(
        on, in, out, T{}, std::plus<>(), detail::CountsIf<T, Predicate>{predicate}, where);
}
template <detail::ArrayOrView In, detail::Writable Out,
          detail::Transforms<detail::ValueOf<In>, bool> Predicate>
    requires std::integral<detail::ValueOf<Out>>
void count_if(const In& in, Out&& out, Predicate predicate, Where where = {}) {
    count_if(current_stream(), in, out, predicate, where);
}

}  // namespace HEDDLE_COMPILED_BY

}  // namespace heddle
