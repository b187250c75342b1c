// Launching portable kernels and host functions.
#pragma once

#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <heddle/detail/graph_work.hpp>
#include <heddle/detail/host_op.hpp>
#include <heddle/detail/kernel_args.hpp>
#include <heddle/launch/kernel.hpp>
#include <heddle/launch/launch_options.hpp>
#include <heddle/memory/array.hpp>
#include <heddle/observe/observer.hpp>
#include <heddle/stream/scope.hpp>

namespace heddle {

/// The extents of a launch: how many times a kernel runs, in N dimensions. Made by dim(). Holds the
/// caller's location, and the launch options if with() has set any.
template <int N> struct Dim {
    /// Number of indices in each dimension; the first varies fastest.
    std::size_t extent[N];
    /// The call of dim(), which errors of the launch name.
    SourceLocation where;
    /// For the library.
    detail::GivenOptions how{};

    /// Returns the same extents with launch options.
    constexpr Dim with(const LaunchOptions& options) const noexcept {
        Dim other = *this;
        other.how = {options, true};
        return other;
    }
};

/// Makes extents. All three overloads throw UsageError for a negative extent (in constant
/// expressions it is a compile error).
constexpr Dim<1> dim(std::size_t nx, Where where = {}) {
    detail::check_extent(nx, where);
    return {{nx}, where, {}};
}
/// The first index varies fastest: adjacent threads on a GPU, the inner loop on a CPU.
constexpr Dim<2> dim(std::size_t nx, std::size_t ny, Where where = {}) {
    detail::check_extent(nx, where);
    detail::check_extent(ny, where);
    return {{nx, ny}, where, {}};
}
constexpr Dim<3> dim(std::size_t nx, std::size_t ny, std::size_t nz, Where where = {}) {
    detail::check_extent(nx, where);
    detail::check_extent(ny, where);
    detail::check_extent(nz, where);
    return {{nx, ny, nz}, where, {}};
}

namespace detail {
template <class A> void collect_block(Block** blocks, std::size_t& count, const A& a) noexcept {
    if constexpr (ViewTraits<A>::is_view)
        if (Block* block = Access::block(a)) blocks[count++] = block;
}

inline namespace HEDDLE_COMPILED_BY {
template <class K, int N, class... P>
inline constexpr WorkType portable_work_type{&PortableOp<K, N, P...>::type,
                                             &portable_form<K, N, P...>,
                                             &resize_portable<K, N, P...>,
                                             nullptr,
                                             &kernel_tag<K, N>,
                                             &portable_extents<K, N, P...>};
}  // namespace HEDDLE_COMPILED_BY

/// Records a launch on a stream that is being recorded. Returns what record_work() returns.
template <class Operation, int N, class K, class... P>
bool record_portable(const WorkType& type, StreamState& state, std::size_t count, const Dim<N>& d,
                     const K& kernel, const P&... args) {
    Operation operation(kernel, d.extent, args...);
    Block* blocks[sizeof...(P) + 1] = {};
    std::size_t used = 0;
    (collect_block(blocks, used, args), ...);
    if constexpr (Operation::type.move == nullptr) {
        alignas(Operation) std::byte bytes[sizeof(Operation)] = {};
        keep_part(bytes, operation, operation.kernel);
        keep_part(bytes, operation, operation.extent);
        std::apply([&](const P&... p) { (keep_part(bytes, operation, p), ...); }, operation.args);
        return record_work(state, type, bytes, count, blocks, used, d.how.options, d.where);
    } else {
        return record_work(state, type, &operation, count, blocks, used, d.how.options, d.where);
    }
}
}  // namespace detail

inline namespace HEDDLE_COMPILED_BY {

/// Runs a portable kernel once for each index, in any order: kernel(i, args...), kernel(x, y,
/// args...) or kernel(x, y, z, args...). Kernel and arguments are copied at the call and must be
/// trivially copyable; an Array is passed as a View. An extent of 0 enqueues nothing.
///
///     launch(s, [] HEDDLE_FN(std::size_t i, View<float> v) { v[i] += 1; }, dim(x.size()), x);
///
/// Runs on `stream` and orders nothing else; by default on the current stream of the current
/// device. Asynchronous. An exception in a kernel (CPU devices) poisons the stream; on a poisoned
/// stream a launch is dropped.
///
/// Throws UsageError if the device cannot reach an array, an array holds nothing, or the stream is
/// a CUDA stream and nvcc did not compile the call.
template <class K, int N, class... A>
void launch(StreamRef stream, const K& kernel, const Dim<N>& d, A&&... args) {
    if constexpr (detail::check_kernel<K, N, A...>()) {
        using Operation = detail::PortableOp<K, N, detail::KernelArg<A>...>;
        detail::StreamState& state = detail::Access::state(stream);
        const detail::Admission admission = detail::admit(state, "launch", d.where);
        if (admission == detail::Admission::dropped) [[unlikely]]
            return;
        (detail::check_argument(args, state, d.where), ...);
        const std::size_t count = detail::count_of(d.extent, N, d.where);
        if (count == 0) return;
        (detail::check_not_empty(args, d.where), ...);
        (detail::note_argument(args, state), ...);
        if (admission == detail::Admission::recorded &&
            (detail::has_cuda_code || state.device.is_cpu()) &&
            detail::record_portable<Operation>(
                detail::portable_work_type<K, N, detail::KernelArg<A>...>, state, count, d, kernel,
                detail::kernel_argument(args)...)) [[unlikely]] {
        } else if (state.device.is_cuda()) {
            detail::launch_on_cuda<N>(state, Operation::pretty(), d.where, kernel, d.extent, d.how,
                                      detail::KernelArg<A>(detail::kernel_argument(args))...);
        } else {
            Operation operation(kernel, d.extent, detail::kernel_argument(args)...);
            detail::enqueue(state, Operation::type, &operation, count, d.where);
        }
        if (detail::is_observed()) [[unlikely]]
            detail::notify_launch<typename detail::CallOperator<K>::Type, N, A...>(
                Operation::pretty(), state, d.where, std::index_sequence_for<A...>(), args...);
    }
}
template <class K, int N, class... A> void launch(const K& kernel, const Dim<N>& d, A&&... args) {
    launch(current_stream(), kernel, d, std::forward<A>(args)...);
}

// A number in place of dim(). These two say so in one line, where a compiler would list all
// overloads of launch().
template <class K, std::integral N, class... A> void launch(StreamRef, const K&, N, A&&...) {
    static_assert(!std::is_same_v<K, K>, "heddle::launch: write dim(n) for the number of indices");
}
template <class K, std::integral N, class... A>
    requires(!std::is_convertible_v<const K&, StreamRef>)
void launch(const K&, N, A&&...) {
    static_assert(!std::is_same_v<K, K>, "heddle::launch: write dim(n) for the number of indices");
}

}  // namespace HEDDLE_COMPILED_BY

/// Calls function() once on a host thread, in stream order. Asynchronous. The function is moved
/// into the stream and destroyed after the call. An exception from it poisons the stream; on a
/// poisoned stream it is not called.
///
/// The function may enqueue work on CPU streams. It must not wait for anything (UsageError), and on
/// a CUDA stream it must not call CUDA.
template <detail::HostCallable F>
void launch_host(StreamRef stream, F&& function, Where where = {}) try {
    using Operation = detail::HostFunction<std::decay_t<F>>;
    detail::StreamState& state = detail::Access::state(stream);
    const detail::Admission admission = detail::admit(state, "launch_host", where);
    if (admission == detail::Admission::dropped) [[unlikely]]
        return;
    Operation operation{std::forward<F>(function)};
    if (admission != detail::Admission::recorded ||
        !detail::record_work(state, detail::host_work_type<std::decay_t<F>>, &operation, 1, nullptr,
                             0, {}, where)) [[likely]]
        detail::enqueue(state, Operation::type, &operation, 1, where);
    if (detail::is_observed()) [[unlikely]]
        detail::notify_on(
            state, {.kind = OpKind::host_function, .name = Operation::pretty(), .where = where});
} catch (...) {
    detail::rethrow_as_error("launch_host", where);
}
template <detail::HostCallable F> void launch_host(F&& function, Where where = {}) {
    launch_host(current_stream(), std::forward<F>(function), where);
}

}  // namespace heddle
