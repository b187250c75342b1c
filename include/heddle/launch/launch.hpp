// launch(): launches a kernel on a stream.
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include <heddle/kernel.hpp>
#include <heddle/launch/detail/kernel_args.hpp>
#include <heddle/launch/detail/kernel_closures.hpp>
#include <heddle/launch/detail/kernel_mistakes.hpp>
#include <heddle/launch/detail/portable_call.hpp>
#include <heddle/launch/detail/work.hpp>
#include <heddle/launch/launch_options.hpp>
#include <heddle/launch/launch_shape.hpp>
#include <heddle/memory/array.hpp>
#include <heddle/operation/host_access.hpp>
#include <heddle/operation/observer.hpp>
#include <heddle/stream/detail/host_op.hpp>
#include <heddle/stream/scope.hpp>
#include <heddle/stream/signals_nothing.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {

inline namespace HEDDLE_COMPILED_BY {

/// Accepts braces in place of a shape, to reject them with a clear message.
struct Braces {
    template <class... T> Braces(T&&...) noexcept;
};

/// Describes the launch of a kernel of type K with a shape S, for launches and nodes. This primary
/// template is for combinations that cannot be launched. It names the mistake.
template <class K, class S> struct LaunchTraits {
    template <class... A> static constexpr bool can_launch = false;
    template <class... A> static constexpr auto why() {
        if constexpr (IsLaunchShape<K>) return is_a<KernelIsNotFirst<K>>();
        else if constexpr (IsStream<S>) return is_a<StreamIsNotFirst<K>>();
        else if constexpr (std::is_convertible_v<const K&, std::string_view>)
            return is_a<TextIsNoStream<K>>();
        else if constexpr (std::is_object_v<std::remove_pointer_t<K>> && std::is_pointer_v<K>)
            return is_a<PointerIsNoStream<K>>();
        else if constexpr (std::is_convertible_v<const S&, Extents>)
            return is_a<NumberIsNoShape<K, S>>();
        else if constexpr (std::is_same_v<S, LaunchGrid>) return is_a<GridIsForGlobal<K, S>>();
        else return is_a<ShapeIsMissing<K, S>>();
    }
};

/// Describes launches of portable kernels.
template <class K, int N> struct LaunchTraits<K, Dim<N>> {
    template <class... A> static constexpr bool can_launch = detail::can_launch<K, N, A...>;
    template <class... A> static constexpr auto why() { return why_not_launched<K, N, A...>(); }

    template <class... A> using Call = PortableCall<K, N, PassedTo<K, N, A...>>;
    template <class... A> static constexpr const WorkType* type = Call<A...>::type;
    template <class... A>
    [[gnu::always_inline]] static auto closure(const K& kernel, const Dim<N>& d, A&... args) {
        return Call<A...>::closure(kernel, d, args...);
    }
    /// Returns whether the kernel can write through its argument i.
    template <class A> static constexpr bool writes(std::size_t i) noexcept {
        return CallOperator<K>::Type::template writes<KernelArg<A>>(N + i);
    }
    static std::size_t count(const Dim<N>& d) { return count_of(d); }

    // For nodes.
    static constexpr const char* pretty() noexcept { return __PRETTY_FUNCTION__; }
    static constexpr AskedKernel asked{&kernel_tag<K, N>, N, pretty()};
    static constexpr bool may_take_nothing = KernelFor<K, N>;
    static constexpr bool takes_nothing(const K&) noexcept { return may_take_nothing; }
    static Device device(const K&) { return current_device(); }
};

struct Submit {
    StreamState& stream;
    void operator()(const LaunchCall& call) const { submit_launch(stream, call); }
};

/// Adds the memory of a launch's arguments and kernel.
template <class Traits, class Used, class Closure, std::size_t... I, class... A>
void add_memory(Used& used, Closure& closure, std::index_sequence<I...>, A&... args) noexcept {
    (used.add(args, std::get<I>(closure.args), I, Traits::template writes<A>(I)), ...);
    if constexpr (requires { closure.kernel; }) used.add_members(closure.kernel, -1, true);
}
template <class Closure> struct MemoryOf;
template <class K, int N, class... P> struct MemoryOf<PortableOp<K, N, P...>> {
    template <class... A> using Arguments = MemoryArguments<K, P..., A...>;
};
template <class... P> struct MemoryOf<GridOp<P...>> {
    template <class... A> using Arguments = MemoryArguments<P..., A...>;
};

/// Calls use(call) with the description of a launch.
template <class K, class S, class Use, class... A>
void describe_launch(const K& kernel, const S& shape, const Use& use, A&... args) {
    using Traits = LaunchTraits<K, S>;
    auto closure = Traits::closure(kernel, shape, args...);
    void* addresses[gpus_check_bounds + 1 + 3 + sizeof...(A)];
    typename MemoryOf<decltype(closure)>::template Arguments<KernelArg<A>...> used;
    detail::add_memory<Traits>(used, closure, std::index_sequence_for<A...>(), args...);
    if constexpr ((KnownByAddress<A> || ...))
        detail::find_owners(used.memory.all, used.end, shape.where);
    use(LaunchCall{*Traits::template type<A...>, &closure, addresses + gpus_check_bounds,
                   Traits::count(shape), used.all(), shape.how, shape.where});
}

}  // namespace HEDDLE_COMPILED_BY

template <class K> inline constexpr bool is_prepared = false;
/// Any kernel except a PreparedLaunch, which has its own overloads.
template <class K>
concept NotPrepared = !is_prepared<K>;

}  // namespace detail

inline namespace HEDDLE_COMPILED_BY {

/// Launches a kernel on `stream`, and adds no other order. By default, uses the current stream of
/// the current device, or of `device` if that is passed. Asynchronous. Kernel and arguments are
/// copied at the call and must be trivially copyable; an Array is passed as a View.
///
/// Views inside the kernel object (captures or members) and inside arguments of class type count as
/// arguments. Pointers, spans, references and views behind them do not: see Array::used_on(). A
/// class may list its views, as in `auto views() const { return std::tuple(x, y); }`. Then only the
/// listed views count. A span or mdspan of any library, as an argument, counts like a view; its
/// array is looked up under a lock. An array or view may be passed for a span.
///
/// A portable kernel runs once for each index of dim(), in any order: kernel(i, args...), kernel(x,
/// y, args...) or kernel(x, y, z, args...). An extent of 0 enqueues nothing.
///
///     launch(s, [] HEDDLE_FN(std::size_t i, View<float> v) { v[i] += 1; }, dim(x.size()), x);
///
/// `__global__` functions (heddle/cuda.hpp) and kernels of modules (heddle/code/module.hpp) are
/// launched with grid(), and take pointers. An Array or View may be passed in place of a pointer.
///
/// On CPU devices an exception in a kernel poisons the stream; on a poisoned stream a launch is
/// dropped. Throws Unsupported for launch options that the device does not support. Throws
/// UsageError if:
/// - the device cannot reach an array, or does not support the shape;
/// - a span ends beyond the array in which it begins;
/// - an array has no allocation (it was moved from, for example);
/// - the stream is a CUDA stream, and nvcc did not compile the call;
/// - the stream belongs to a CPU device, and the kernel is not portable.
template <detail::NotPrepared K, class S = detail::Braces, class... A>
void launch(StreamRef stream, const K& kernel, const S& shape, A&&... args) {
    using Kernel = std::decay_t<const K&>;  // a function becomes a pointer
    using Traits = detail::LaunchTraits<Kernel, S>;
    if constexpr (Traits::template can_launch<A...>)
        detail::describe_launch<Kernel>(kernel, shape,
                                        detail::Submit{detail::Access::state(stream)}, args...);
    else (void)sizeof(*Traits::template why<A...>());  // does not compile: names the mistake
}
template <detail::NotPrepared K, class S = detail::Braces, class... A>
    requires(!std::convertible_to<const K&, StreamRef> && !std::same_as<K, Device>)
void launch(const K& kernel, const S& shape, A&&... args) {
    launch(current_stream(), kernel, shape, std::forward<A>(args)...);
}
/// Launches on the current stream of `device`.
template <detail::NotPrepared K, class S = detail::Braces, class... A>
void launch(Device device, const K& kernel, const S& shape, A&&... args) {
    launch(current_stream(device), kernel, shape, std::forward<A>(args)...);
}
/// Rejects, at compile time, a call without a shape.
template <detail::NotPrepared K> void launch(StreamRef, const K&) {
    (void)sizeof(detail::ShapeIsMissing<K, void>);
}
template <detail::NotPrepared K> void launch(Device, const K&) {
    (void)sizeof(detail::ShapeIsMissing<K, void>);
}

}  // namespace HEDDLE_COMPILED_BY

}  // namespace heddle
