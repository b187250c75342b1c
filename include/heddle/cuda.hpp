// Interoperation with CUDA: native handles, wrapped streams and events, and launches of __global__
// functions. The only public header that includes CUDA headers; needs a heddle built with CUDA.
#pragma once

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include <heddle/heddle.hpp>

namespace heddle {

/// Grid, block and dynamic shared memory (bytes) of a __global__ launch. Stores its call site, for
/// errors and observers. Made by grid().
struct LaunchGrid {
    /// In blocks.
    dim3 grid;
    /// In threads.
    dim3 block;
    /// Dynamic shared memory of a block.
    std::size_t shared_bytes = 0;
    /// The call of grid(), which errors of the launch name.
    SourceLocation where;
    /// For the library.
    detail::GivenOptions how{};

    /// Returns a copy with launch options. LaunchOptions::block and shared_bytes are ignored.
    LaunchGrid with(const LaunchOptions& options) const noexcept {
        LaunchGrid other = *this;
        other.how = {options, true};
        return other;
    }
};
/// Makes a LaunchGrid: `launch(stream, kernel, grid(n / 256, 256), x, n)`.
inline LaunchGrid grid(dim3 grid, dim3 block, std::size_t shared_bytes = 0,
                       Where where = {}) noexcept {
    return {grid, block, shared_bytes, where, {}};
}

/// Returns the native stream, for use with other libraries. heddle cannot count work enqueued
/// through it, so waits for this stream are never elided again. Throws UsageError for a stream of a
/// CPU device or a destroyed one.
cudaStream_t native_handle(StreamRef stream, Where where = {});
/// Returns the native event of the newest record. Valid while the Event exists. Throws UsageError
/// for an event of a CPU device.
cudaEvent_t native_handle(const Event& event, Where where = {});

/// Wraps a native stream without owning it: destroying the wrapper leaves the native stream alone.
/// The native stream must outlive the wrapper. Two wrappers of one native stream compare equal.
/// `device` is the stream's device; without it, heddle asks the driver.
///
/// cudaStreamLegacy, cudaStreamPerThread and 0 (the legacy stream) can be wrapped as well. To CUDA
/// they mean the current device of the launching thread, so use them only where that is `device`.
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

/// Checks the options and launches the kernel.
cudaError_t launch_in_a_way(StreamState& stream, const void* function, dim3 grid, dim3 block,
                            void** arguments, std::size_t shared_bytes,
                            const LaunchOptions& options, const SourceLocation& where);
/// Throws UsageError for a CPU stream or a grid beyond the device's limits. Raises the kernel's
/// limit of dynamic shared memory if needed.
void check_grid(StreamState& stream, const LaunchGrid& grid, const void* kernel);
/// The part of check_grid() that needs no kernel: throws UsageError for a grid beyond the limits.
void check_limits(StreamState& stream, const LaunchGrid& grid);

/// Returns the mangled name of a __global__ function, or "?" if it is unknown.
const char* global_name(const void* kernel) noexcept;

/// Converts an argument to the parameter type that a __global__ function declares. An Array or View
/// converts to a pointer.
template <class P, class A> P global_argument(A& a) {
    if constexpr (std::is_pointer_v<P> && ViewTraits<KernelArg<A>>::is_view) {
        static_assert(
            std::is_convertible_v<decltype(kernel_argument(a).data()), P>,
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

namespace detail {
/// The closure of a node: a __global__ function, its grid and its arguments.
template <class... P> struct GlobalOp {
    void (*kernel)(P...);
    LaunchGrid grid;
    std::tuple<std::remove_const_t<P>...> args;

    static constexpr const char* pretty() noexcept { return "__global__ function"; }
    static void run(void*, std::size_t, std::size_t) {}  // never called: for CUDA only
    static constexpr OpType type = op_type<GlobalOp>(&run, true, "launch", pretty());
    static void form(void* closure, unsigned, const LaunchOptions&, KernelForm& form,
                     const SourceLocation&) {
        auto& op = *static_cast<GlobalOp*>(closure);
        form.arguments.clear();
        form.function = reinterpret_cast<const void*>(op.kernel);
        form.grid[0] = op.grid.grid.x, form.grid[1] = op.grid.grid.y, form.grid[2] = op.grid.grid.z;
        form.block[0] = op.grid.block.x, form.block[1] = op.grid.block.y,
        form.block[2] = op.grid.block.z;
        form.shared_bytes = op.grid.shared_bytes;
        std::apply([&](auto&... value) { (form.arguments.push_back(&value), ...); }, op.args);
    }
    static const char* name(const void* closure) {
        return global_name(
            reinterpret_cast<const void*>(static_cast<const GlobalOp*>(closure)->kernel));
    }
    static constexpr WorkType work_type{&type, &form, nullptr, &name};
};

template <class... P, class... A>
void launch_global(StreamState& state, void (*kernel)(P...), const LaunchGrid& grid, A&... args) {
    std::tuple<std::remove_const_t<P>...> values{global_argument<std::remove_const_t<P>>(args)...};
    const cudaError_t code = std::apply(
        [&](auto&... value) {
            void* pointers[sizeof...(P) + 1] = {
                const_cast<void*>(static_cast<const void*>(&value))...};
            if (grid.how.given) [[unlikely]]
                return launch_in_a_way(state, reinterpret_cast<const void*>(kernel), grid.grid,
                                       grid.block, pointers, grid.shared_bytes, grid.how.options,
                                       grid.where);
            return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid.grid, grid.block,
                                    pointers, grid.shared_bytes,
                                    static_cast<cudaStream_t>(state.native));
        },
        values);
    if (code != cudaSuccess) [[unlikely]]
        throw_launch_failed(state, global_name(reinterpret_cast<const void*>(kernel)), code,
                            grid.where);
    count_submission(state);
}

/// Records a launch on a stream that is being recorded. Returns false as record_work() does.
template <class... P, class... A>
bool record_global(StreamState& state, void (*kernel)(P...), const LaunchGrid& grid, A&... args) {
    using Operation = GlobalOp<P...>;
    const Operation operation{
        kernel, grid,
        std::tuple<std::remove_const_t<P>...>(global_argument<std::remove_const_t<P>>(args)...)};
    alignas(Operation) std::byte bytes[sizeof(Operation)] = {};
    keep_part(bytes, operation, operation.kernel);
    keep_part(bytes, operation, operation.grid);
    std::apply([&](const auto&... value) { (keep_part(bytes, operation, value), ...); },
               operation.args);
    Block* blocks[sizeof...(P) + 1] = {};
    std::size_t used = 0;
    (collect_block(blocks, used, kernel_argument(args)), ...);
    return record_work(state, Operation::work_type, bytes, 1, blocks, used, grid.how.options,
                       grid.where);
}
}  // namespace detail

/// Launches a __global__ function on a stream, by default the current stream of the current device.
/// Orders no other stream.
///
///     launch(stream, saxpy, grid(n / 256, 256), 2.0f, x, y, n);
///
/// The number and types of the arguments are checked at compile time; an Array or View can be
/// passed for a pointer. Throws UsageError for CPU streams, grids beyond the device's limits, empty
/// arrays, and arrays that the device cannot access.
template <class... P, class... A>
void launch(StreamRef stream, void (*kernel)(P...), const LaunchGrid& grid, A&&... args) {
    static_assert(sizeof...(P) == sizeof...(A),
                  "heddle::launch: the kernel takes another number of arguments");
    detail::StreamState& state = detail::Access::state(stream);
    const detail::Admission admission = detail::admit(state, "launch", grid.where);
    if (admission == detail::Admission::dropped) [[unlikely]]
        return;
    detail::check_grid(state, grid, reinterpret_cast<const void*>(kernel));
    (detail::check_argument(args, state, grid.where), ...);
    (detail::check_not_empty(args, grid.where), ...);
    (detail::note_argument(args, state), ...);
    if (admission != detail::Admission::recorded ||
        !detail::record_global(state, kernel, grid, args...)) [[likely]]
        detail::launch_global(state, kernel, grid, args...);
    if (detail::is_observed()) [[unlikely]]
        detail::notify_launch<detail::ParameterList<P...>, 0, A...>(
            detail::global_name(reinterpret_cast<const void*>(kernel)), state, grid.where,
            std::index_sequence_for<A...>(), args...);
}
template <class... P, class... A>
void launch(void (*kernel)(P...), const LaunchGrid& grid, A&&... args) {
    launch(current_stream(), kernel, grid, std::forward<A>(args)...);
}

/// Loads the code of `__global__` functions onto a device, as in heddle/launch/preload.hpp.
template <class... F>
    requires(sizeof...(F) > 0 && (std::is_function_v<F> && ...))
void preload(Device device, F*... kernels) {
    (detail::preload_function(device, reinterpret_cast<const void*>(kernels), Where()), ...);
}

/// Specialise as true for a `__global__` function that calls wait_for_primary() in all its threads:
///
///     template <> inline constexpr bool heddle::waits_for_primary<&my_kernel> = true;
template <auto kernel> inline constexpr bool waits_for_primary = false;

/// launch_dependent() for a `__global__` function:
///
///     launch_dependent<&my_kernel>(stream, grid(8, 256), x, n);
template <auto kernel, class... A>
void launch_dependent(StreamRef stream, const LaunchGrid& grid, A&&... args) {
    static_assert(waits_for_primary<kernel>,
                  "heddle::launch_dependent: this kernel has to call wait_for_primary(), and say "
                  "so by specialising "
                  "heddle::waits_for_primary for it: it would race with the kernel before");
    LaunchOptions options = grid.how.options;
    options.dependence = detail::Dependence::on_stream;
    launch(stream, kernel, grid.with(options), std::forward<A>(args)...);
}
template <auto kernel, class... A> void launch_dependent(const LaunchGrid& grid, A&&... args) {
    launch_dependent<kernel>(current_stream(), grid, std::forward<A>(args)...);
}

/// launch_triggering() for a `__global__` function.
template <class... P, class... A>
void launch_triggering(StreamRef stream, ProgrammaticEvent& event, void (*kernel)(P...),
                       const LaunchGrid& grid, A&&... args) {
    detail::check_trigger(event, stream, grid.where);
    launch(stream, kernel, grid, std::forward<A>(args)...);
    detail::record_trigger(event, stream, grid.where);
}
/// launch_dependent() after a ProgrammaticEvent, for a `__global__` function.
template <auto kernel, class... A>
void launch_dependent(StreamRef stream, const ProgrammaticEvent& event, const LaunchGrid& grid,
                      A&&... args) {
    static_assert(
        waits_for_primary<kernel>,
        "heddle::launch_dependent: this kernel has to call wait_for_primary(), and say so (see "
        "launch_dependent<kernel>(stream, grid, ...))");
    if (!detail::wait_for_trigger(stream, event, grid.where))
        return launch(stream, kernel, grid, std::forward<A>(args)...);
    LaunchOptions options = grid.how.options;
    options.dependence = detail::Dependence::on_event;
    launch(stream, kernel, grid.with(options), std::forward<A>(args)...);
}

namespace detail {
inline Blocks blocks_of(const LaunchGrid& grid) noexcept {
    return {{grid.grid.x, grid.grid.y, grid.grid.z},
            {grid.block.x, grid.block.y, grid.block.z},
            grid.shared_bytes,
            grid.where,
            grid.how};
}
}  // namespace detail

/// Launches a kernel of a module. The grid takes the place of blocks().
template <class... A>
void launch(StreamRef stream, ModuleKernel kernel, const LaunchGrid& grid, A&&... args) {
    launch(stream, kernel, detail::blocks_of(grid), std::forward<A>(args)...);
}
/// Makes a node that launches a kernel of a module. The grid takes the place of blocks().
template <class... A>
ModuleNode kernel_node(ModuleKernel kernel, const LaunchGrid& grid, A&&... args) {
    return kernel_node(kernel, detail::blocks_of(grid), std::forward<A>(args)...);
}

/// A graph node that launches a __global__ function.
template <class... P> class GlobalNode : public NodeOf<GlobalNode<P...>> {
public:
    /// Sets the arguments, checked at compile time as those of launch(). Can be called again at any
    /// time, for the graph's next launch.
    template <class... A> GlobalNode& args(A&&... arguments) {
        static_assert(sizeof...(P) == sizeof...(A),
                      "heddle::kernel_node: the kernel takes another number of arguments");
        (detail::check_node_argument(arguments, this->device(), grid_.where), ...);
        using Operation = detail::GlobalOp<P...>;
        values_ = std::make_shared<Operation>(Operation{
            kernel_, grid_, {detail::global_argument<std::remove_const_t<P>>(arguments)...}});
        blocks_.clear();
        (detail::add_block(blocks_, arguments), ...);
        give();
        return *this;
    }
    /// Sets the grid, from the next launch on.
    GlobalNode& grid(const LaunchGrid& grid) {
        detail::check_grid(detail::any_stream(this->device()), grid,
                           reinterpret_cast<const void*>(kernel_));
        grid_ = grid;
        if (values_ == nullptr) return *this;
        values_ = std::make_shared<detail::GlobalOp<P...>>(*values_);
        values_->grid = grid;
        give();
        return *this;
    }
    /// Sets the priority, as KernelNode::priority() does.
    GlobalNode& priority(int value, Where where = {}) {
        detail::set_priority(this->data(), value, where);
        return *this;
    }

private:
    friend detail::Access;
    GlobalNode(void (*kernel)(P...), const LaunchGrid& grid, Device device)
        : NodeOf<GlobalNode>(detail::new_node(NodeKind::kernel, device, grid.where)),
          kernel_(kernel), grid_(grid) {
        detail::check_grid(detail::any_stream(device), grid, reinterpret_cast<const void*>(kernel));
        this->name(detail::global_name(reinterpret_cast<const void*>(kernel)));
        if constexpr (sizeof...(P) == 0) args();
    }
    void give() {
        detail::Work work;
        work.type = &detail::GlobalOp<P...>::work_type;
        work.closure = values_;
        work.blocks = blocks_;
        work.options = grid_.how.options;
        detail::set_work(this->data(), std::move(work), grid_.where);
    }

    void (*kernel_)(P...);
    LaunchGrid grid_;
    std::shared_ptr<detail::GlobalOp<P...>> values_;
    std::vector<detail::Block*> blocks_;
};

/// Makes a node that launches a __global__ function on `device`, by default the current one. The
/// arguments can be left out and set later with GlobalNode::args().
template <class... P, class... A>
GlobalNode<P...> kernel_node(Device device, void (*kernel)(P...), const LaunchGrid& grid,
                             A&&... args) {
    auto node = detail::Access::make<GlobalNode<P...>>(kernel, grid, device);
    if constexpr (sizeof...(A) > 0) node.args(std::forward<A>(args)...);
    return node;
}
template <class... P, class... A>
GlobalNode<P...> kernel_node(void (*kernel)(P...), const LaunchGrid& grid, A&&... args) {
    return kernel_node(current_device(), kernel, grid, std::forward<A>(args)...);
}

}  // namespace heddle
