// Interoperation with CUDA: native handles, wrapped streams and events, and launches of __global__
// functions. With those in heddle/with/ the only public header that includes CUDA headers; needs a
// heddle built with CUDA.
#pragma once

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <cuda_runtime_api.h>

#include <heddle/heddle.hpp>
#include <heddle/with/native.hpp>

namespace heddle {

/// Returns the native stream, for libraries that keep it. heddle cannot count work enqueued through
/// it, so waits for this stream are never elided again; with_native() lends the handle for one call
/// instead (heddle/with/native.hpp). Throws UsageError for a stream of a CPU device or a destroyed
/// one.
cudaStream_t native_handle(StreamRef stream, Where where = {});
/// Returns the native event of the newest record. Valid while the Event exists. Throws UsageError
/// for an event of a CPU device.
cudaEvent_t native_handle(const Event& event, Where where = {});

/// Wraps a native stream without owning it: destroying the wrapper leaves the native stream alone.
/// The native stream must outlive the wrapper. Two wrappers of one native stream compare equal.
/// `device` is the stream's device; without it, heddle asks the driver.
///
/// cudaStreamLegacy, cudaStreamPerThread and 0 (the legacy stream) can be wrapped as well. For CUDA
/// they mean the current device of the launching thread, so use them only where that device is
/// `device`.
///
/// Streams of green contexts can be wrapped on any thread, with any current context. A default
/// stream cannot be wrapped while a green context, or a context made by cuCtxCreate, is current.
///
/// Throws UsageError for a CPU device, and NoDevice if there are no CUDA devices.
Stream wrap_stream(cudaStream_t native, Where where = {});
Stream wrap_stream(cudaStream_t native, Device device, Where where = {});

/// Wraps a native event without owning it. The native event counts as recorded and must outlive the
/// wrapper. Throws UsageError for a CPU device.
Event wrap_event(cudaEvent_t native, Device device, Where where = {});

/// Throws the exception that corresponds to `code`, naming `call`; does nothing for cudaSuccess.
/// Checks native calls as heddle checks its own: `check_cuda(cudaFree(p), "cudaFree")`.
void check_cuda(cudaError_t code, const char* call, Where where = {});

namespace detail {

/// Returns the mangled name of a __global__ function, or "?" if it is unknown.
const char* global_name(const void* kernel) noexcept;

/// Converts an argument to the parameter type that a __global__ function declares. An Array or View
/// converts to a pointer.
template <class P, class A> P global_argument(A& a) {
    if constexpr (std::is_pointer_v<P> && ViewTraits<KernelArg<A>>::is_view)
        return kernel_argument(a).data();
    else return static_cast<P>(pass_as<std::remove_cvref_t<P>>(kernel_argument(a)));
}

/// True if a __global__ function takes an argument of type A for its parameter P.
template <class A, class P> struct IsGlobalArgument : IsTaken<A, P> {};
template <class A, class P>
    requires(ViewTraits<KernelArg<A>>::is_view)
struct IsGlobalArgument<A, P*>
    : std::is_convertible<decltype(std::declval<KernelArg<A>>().data()), P*> {};

template <class Parameters, class... A> inline constexpr bool are_global_arguments = false;
template <class... P, class... A>
    requires(sizeof...(P) == sizeof...(A))
inline constexpr bool are_global_arguments<std::tuple<P...>, A...> =
    (IsGlobalArgument<A, std::remove_const_t<P>>::value && ...);

template <class... A, class... P> constexpr auto why_not_global(std::tuple<P...>*) {
    constexpr int parameters = sizeof...(P), arguments = sizeof...(A);
    if constexpr (parameters != arguments)
        return is_a<typename mistake::the_kernel_takes<
            parameters>::template arguments_but_the_launch_has<arguments>>();
    else return FirstWrong<IsGlobalArgument, 1, std::tuple<P...>, A...>::why();
}

/// `__global__` functions.
template <class... P> struct LaunchTraits<void (*)(P...), LaunchGrid> {
    using Kernel = void (*)(P...);
    using Closure = GridOp<std::remove_const_t<P>...>;

    template <class... A>
    static constexpr bool can_launch = are_global_arguments<std::tuple<P...>, A...>;
    template <class... A> static constexpr auto why() {
        return why_not_global<A...>(static_cast<std::tuple<P...>*>(nullptr));
    }

    template <class... A>
    static constexpr const WorkType* type = &Closure::template work_type<KernelKind::global>;
    template <class... A>
    static Closure closure(Kernel kernel, const LaunchGrid& grid, A&... args) {
        return {{symbol(kernel), grid.grid, grid.block, grid.shared_bytes},
                {global_argument<std::remove_const_t<P>>(args)...}};
    }
    template <class A> static constexpr bool writes(std::size_t i) noexcept {
        return ParameterList<P...>::template writes<KernelArg<A>>(i);
    }
    static constexpr std::size_t count(const LaunchGrid&) noexcept { return 1; }

    // Used by nodes.
    static constexpr bool may_take_nothing = sizeof...(P) == 0;
    static constexpr bool takes_nothing(Kernel) noexcept { return may_take_nothing; }
    static Device device(Kernel) { return current_device(); }
    static const char* name(Kernel kernel) noexcept { return global_name(symbol(kernel)); }
    static const WorkType& any_type() noexcept { return *type<>; }
    static void* symbol(Kernel kernel) noexcept { return reinterpret_cast<void*>(kernel); }
};

}  // namespace detail

/// Loads the code of `__global__` functions onto a device, like the preload() of
/// heddle/code/preload.hpp. Throws UsageError for a CPU device.
template <class... F>
    requires(sizeof...(F) > 0 && (std::is_function_v<F> && ...))
void preload(Device device, F*... kernels) {
    (detail::preload_function(device, reinterpret_cast<const void*>(kernels), Where()), ...);
}

/// Declares that a `__global__` function calls wait_for_primary() in all its threads. Specialise it
/// as true:
///
///     template <> inline constexpr bool heddle::waits_for_primary<&my_kernel> = true;
template <auto kernel> inline constexpr bool waits_for_primary = false;

/// Launches a `__global__` function as launch_dependent() launches a portable kernel:
///
///     launch_dependent<&my_kernel>(stream, grid(8, 256), x, n);
template <auto kernel, class... A>
void launch_dependent(StreamRef stream, const LaunchGrid& grid, A&&... args) {
    static_assert(waits_for_primary<kernel>,
                  "heddle::launch_dependent: this kernel is not declared to wait for the previous "
                  "kernel: call wait_for_primary() in all its threads, and specialise "
                  "heddle::waits_for_primary for the kernel");
    LaunchOptions options = grid.how.options;
    options.dependence = detail::Dependence::on_stream;
    launch(stream, kernel, grid.with(options), std::forward<A>(args)...);
}
template <auto kernel, class... A> void launch_dependent(const LaunchGrid& grid, A&&... args) {
    launch_dependent<kernel>(current_stream(), grid, std::forward<A>(args)...);
}

/// Launches a `__global__` function after a ProgrammaticEvent, as launch_dependent() does.
template <auto kernel, class... A>
void launch_dependent(StreamRef stream, const ProgrammaticEvent& event, const LaunchGrid& grid,
                      A&&... args) {
    static_assert(waits_for_primary<kernel>,
                  "heddle::launch_dependent: this kernel is not declared to wait for the previous "
                  "kernel: call wait_for_primary() in all its threads, and specialise "
                  "heddle::waits_for_primary for the kernel");
    if (!detail::wait_for_trigger(stream, event, grid.where))
        return launch(stream, kernel, grid, std::forward<A>(args)...);
    LaunchOptions options = grid.how.options;
    options.dependence = detail::Dependence::on_event;
    launch(stream, kernel, grid.with(options), std::forward<A>(args)...);
}

/// A graph node that launches a `__global__` function. Made by kernel_node().
template <class... P> using GlobalNode = BasicKernelNode<void (*)(P...), LaunchGrid>;

}  // namespace heddle
