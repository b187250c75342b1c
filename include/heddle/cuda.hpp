// CUDA's own types: native handles in and out, and launches of __global__ functions. The only public header that
// includes CUDA headers; for programs built against a heddle with CUDA.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include <cuda_runtime_api.h>

#include <heddle/heddle.hpp>

namespace heddle {

/// Grid, block and dynamic shared memory (bytes) of a __global__ launch. Remembers where it was written.
struct Grid {
    dim3 grid;
    dim3 block;
    std::size_t shared_bytes = 0;
    SourceLocation where;
};
inline Grid grid(dim3 grid, dim3 block, std::size_t shared_bytes = 0,
                 SourceLocation where = SourceLocation::current()) noexcept {
    return {grid, block, shared_bytes, where};
}

namespace cuda {

/// The native stream, for use with other libraries. heddle cannot see what they do with it: no wait on this stream is
/// elided again.
cudaStream_t native_handle(StreamRef stream, SourceLocation where = SourceLocation::current());
/// The native event of its newest record. Valid while the event lives.
cudaEvent_t native_handle(const Event& event, SourceLocation where = SourceLocation::current());

/// A stream made by others, without owning it: destroying the result leaves the native stream alone. The native stream
/// must outlive it. Two wrappers of one native stream are the same stream (they compare equal). The legacy and the
/// per-thread default stream (cudaStreamLegacy, cudaStreamPerThread, 0) can be wrapped too; 0 means the legacy one, and
/// both mean the device that is current to CUDA in the launching thread, so launch on them only where that is `device`.
/// `device` is where the stream lives; found out when left out.
Stream wrap_stream(cudaStream_t native, SourceLocation where = SourceLocation::current());
Stream wrap_stream(cudaStream_t native, Device device, SourceLocation where = SourceLocation::current());

/// An event made by others, without owning it; it counts as recorded.
Event wrap_event(cudaEvent_t native, Device device, SourceLocation where = SourceLocation::current());

/// Throws what `code` means, naming `call`; does nothing on cudaSuccess. For checking one's own native calls the way
/// heddle does.
void check(cudaError_t code, const char* call, SourceLocation where = SourceLocation::current());

}  // namespace cuda

namespace detail {

/// Throws UsageError for a CPU stream or an impossible grid. Lets the kernel have its dynamic shared memory when that needs
/// to be asked for.
void check_grid(StreamState& stream, const Grid& grid, const void* kernel);

const char* global_name(
    const void* kernel) noexcept;  ///< a __global__ function's mangled name, "?" if unknown

/// Turns an argument into the parameter type a __global__ function declares; an Array or View may stand where a pointer is
/// declared.
template <class P, class A> P global_argument(A& a) {
    if constexpr (std::is_pointer_v<P> && ViewTraits<KernelArg<A>>::is_view) {
        static_assert(std::is_convertible_v<decltype(kernel_argument(a).data()), P>,
                      "heddle::launch: an array stands where the kernel takes a pointer to another type (or "
                      "drops const)");
        return kernel_argument(a).data();
    } else {
        static_assert(std::is_convertible_v<decltype(kernel_argument(a)), P>,
                      "heddle::launch: an argument cannot be converted to the kernel's parameter");
        return static_cast<P>(kernel_argument(a));
    }
}

}  // namespace detail

/// Launches a __global__ function. The number and types of the arguments are checked against it when compiling; an Array or
/// View may stand where it takes a pointer. With a stream: runs there and orders nothing else; without one: on the
/// current stream of the current device. Throws UsageError for CPU streams, impossible grids and blocks, and
/// arrays out of reach.
template <class... P, class... A>
void launch(StreamRef stream, void (*kernel)(P...), const Grid& grid, A&&... args) {
    static_assert(sizeof...(P) == sizeof...(A),
                  "heddle::launch: the kernel takes another number of arguments");
    detail::StreamState& state = stream.state();
    if (!detail::may_submit(state, "launch", grid.where)) return;
    detail::check_grid(state, grid, reinterpret_cast<const void*>(kernel));
    (detail::check_argument(args, state, grid.where), ...);
    (detail::check_not_empty(args, grid.where), ...);
    (detail::note_argument(args, state), ...);
    std::tuple<std::remove_const_t<P>...> values{detail::global_argument<std::remove_const_t<P>>(args)...};
    const cudaError_t code = std::apply(
        [&](auto&... value) {
            void* pointers[sizeof...(P) + 1] = {const_cast<void*>(static_cast<const void*>(&value))...};
            return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid.grid, grid.block, pointers,
                                    grid.shared_bytes, static_cast<cudaStream_t>(state.native));
        },
        values);
    if (code != cudaSuccess) [[unlikely]]
        detail::throw_launch_failed(state, detail::global_name(reinterpret_cast<const void*>(kernel)), code,
                                    grid.where);
    detail::count_submission(state);
    if (detail::is_observed()) [[unlikely]]
        detail::notify_launch<detail::ParameterList<P...>, 0, A...>(
            detail::global_name(reinterpret_cast<const void*>(kernel)), state, grid.where,
            std::index_sequence_for<A...>(), args...);
}
template <class... P, class... A> void launch(void (*kernel)(P...), const Grid& grid, A&&... args) {
    launch(current_stream(), kernel, grid, std::forward<A>(args)...);
}

}  // namespace heddle
