// The closures of portable kernels, with their arguments as the kernels receive them.
#pragma once

#include <tuple>

#include <heddle/kernel.hpp>
#include <heddle/launch/detail/kernel_args.hpp>
#include <heddle/launch/detail/kernel_closures.hpp>
#include <heddle/launch/detail/span_arguments.hpp>
#include <heddle/launch/detail/work.hpp>
#include <heddle/launch/launch_shape.hpp>

namespace heddle::detail {

inline namespace HEDDLE_COMPILED_BY {

template <class K, int N, class... P>
inline constexpr WorkType portable_work_type{.op = &PortableOp<K, N, P...>::type,
                                             .signals = kernel_signals<K, P...>,
                                             .kernel = KernelKind::portable,
                                             .dimensions = N,
                                             .has_bounds = gpus_check_bounds,
                                             .parameters = sizeof...(P),
                                             .addresses = &PortableOp<K, N, P...>::addresses,
                                             .copy = &PortableOp<K, N, P...>::copy,
                                             .code = portable_code<N, K, P...>,
                                             .tag = &kernel_tag<K, N>,
                                             .opaque_parts = opaque_parts<K, P...>,
                                             .opaque = &PortableOp<K, N, P...>::opaque};

/// The closure of a portable kernel that receives its arguments in these types.
template <class K, int N, class Types> struct PortableCall;
template <class K, int N, class... P> struct PortableCall<K, N, std::tuple<P...>> {
    using Op = PortableOp<K, N, P...>;
    static constexpr const WorkType* type = &portable_work_type<K, N, P...>;
    // Inlined because of GCC 12: see heddle/memory/copy.hpp.
    template <class... A>
    [[gnu::always_inline]] static Op closure(const K& kernel, const Dim<N>& d, A&... args) {
        return {kernel, d.extent, detail::pass_as<P>(kernel_argument(args))...};
    }
};

}  // namespace HEDDLE_COMPILED_BY

}  // namespace heddle::detail
