// Launches of algorithms on CPU devices. Each index of such a launch is a chunk of the elements.
// The division into chunks depends on the number of elements only, so results do not depend on the
// number of worker threads.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <heddle/algorithms/detail/call.hpp>
#include <heddle/algorithms/detail/functions.hpp>
#include <heddle/kernel.hpp>
#include <heddle/launch/launch.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

/// The elements [begin, end) of a chunk.
struct Chunk {
    std::size_t begin, end;
    std::size_t size() const noexcept { return end - begin; }
};

/// The division of `size` elements into chunks of `each` elements. The last one may be smaller.
struct Chunks {
    static constexpr std::size_t usual = 4096;  ///< elements of a chunk, unless stated otherwise

    std::size_t size;
    std::size_t each = usual;

    std::size_t count() const noexcept { return size / each + (size % each != 0 ? 1 : 0); }
    Chunk operator[](std::size_t i) const noexcept {
        return {i * each, std::min(size, (i + 1) * each)};
    }
};

/// Whether a member of a kernel holds no address of data.
template <class T>
inline constexpr bool holds_no_data =
    holds_no_pointer<T>() || std::is_function_v<std::remove_pointer_t<T>>;
template <class T, template <class> class Of>
    requires(std::same_as<Of<T>, Indexed<T>> || std::same_as<Of<T>, Exchanged<T>>)
inline constexpr bool holds_no_data<Of<T>> = holds_no_data<T>;
template <class T, class F, template <class, class> class Of>
    requires(std::same_as<Of<T, F>, FirstOf<T, F>> || std::same_as<Of<T, F>, CountsIf<T, F>> ||
             std::same_as<Of<T, F>, Transformed<T, F>>)
inline constexpr bool holds_no_data<Of<T, F>> = holds_no_data<F>;

/// Base class of a kernel with members of these types. Declares that the kernel holds no
/// views and no addresses, if its members cannot hold any.
template <class... Members> struct KernelOf {};
template <class... Members>
    requires(holds_no_data<Members> && ...)
struct KernelOf<Members...> {
    std::tuple<> views() const noexcept { return {}; }
};

inline namespace HEDDLE_COMPILED_BY {

/// A kernel for CPU devices, named like its algorithm. nvcc does not compile it for GPUs, so it may
/// call any function.
template <Algorithm algorithm, class K, class... P>
inline constexpr OpType chunk_op_type = op_type<PortableOp<K, 1, P...>>(
    &PortableOp<K, 1, P...>::run, std::is_trivially_copyable_v<K>, "launch", name_of(algorithm));
template <Algorithm algorithm, class K, class... P>
inline constexpr WorkType chunk_work_type{.op = &chunk_op_type<algorithm, K, P...>,
                                          .signals = kernel_signals<K, P...>,
                                          .kernel = KernelKind::portable,
                                          .dimensions = 1,
                                          .parameters = sizeof...(P),
                                          .addresses = &PortableOp<K, 1, P...>::addresses,
                                          .copy = &PortableOp<K, 1, P...>::copy,
                                          .tag = &kernel_tag<K, 1>,
                                          .opaque_parts = opaque_parts<K, P...>,
                                          .opaque = &PortableOp<K, 1, P...>::opaque};

template <Algorithm algorithm>
void submit_chunks(const CallOnStream<algorithm>& call, const LaunchCall& launch) {
    submit_launch(Access::state(call.stream), launch);
}
template <Algorithm algorithm>
void submit_chunks(const CallByData<algorithm>& call, const LaunchCall& launch) {
    launch_by_data(call.order, launch);
}

template <int... numbers, class Used, class Closure, std::size_t... I, class... P>
void add_numbered(Used& used, Closure& closure, std::index_sequence<I...>, P&... args) noexcept {
    (used.add(args, std::get<I>(closure.args), static_cast<std::size_t>(numbers), true), ...);
    used.add_members(closure.kernel, -1, true);
}

/// Calls kernel(chunk, arguments...) for each chunk below `count`, on a CPU device. Observers see
/// the arguments under `numbers`: the indices of the algorithm's own arguments after the stream.
template <int... numbers, template <Algorithm> class Call, Algorithm algorithm, class K, class... P>
void launch_chunks(const Call<algorithm>& call, std::size_t count, const K& kernel, P... args) {
    static_assert(sizeof...(numbers) == sizeof...(P));
    using Op = PortableOp<K, 1, P...>;
    Op closure(kernel, &count, args...);
    void* addresses[2 + sizeof...(P)];
    MemoryArguments<K, P...> used;
    detail::add_numbered<numbers...>(used, closure, std::index_sequence_for<P...>(), args...);
    const PassedOptions how;
    detail::submit_chunks(call, LaunchCall{chunk_work_type<algorithm, K, P...>, &closure, addresses,
                                           count, used.all(), how, call.where});
}

}  // namespace HEDDLE_COMPILED_BY

}  // namespace detail
}  // namespace heddle
