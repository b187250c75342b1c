// Modules: GPU code loaded at run time, and launches of its kernels.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <heddle/launch/launch.hpp>
#include <heddle/launch/launch_options.hpp>

namespace heddle {

/// The extents of a grid in blocks, or of a block in threads. Extents left out are 1.
struct Extents {
    unsigned x = 1;  ///< along the first axis
    unsigned y = 1;  ///< along the second
    unsigned z = 1;  ///< along the third
    /// Converts from numbers, so that `256` and `{16, 16}` can be passed.
    constexpr Extents(unsigned nx, unsigned ny = 1, unsigned nz = 1) noexcept
        : x(nx), y(ny), z(nz) {}
    bool operator==(const Extents&) const = default;
};

/// The grid, block and dynamic shared memory of a module kernel's launch, with the call site for
/// errors. Made by blocks().
struct Blocks {
    /// In blocks.
    Extents grid;
    /// In threads.
    Extents block;
    /// Dynamic shared memory of a block.
    std::size_t shared_bytes;
    /// The call of blocks(), which errors of the launch name.
    SourceLocation where;
    /// For the library.
    detail::GivenOptions how{};

    /// Returns the same blocks with launch options. LaunchOptions::block and shared_bytes are
    /// ignored.
    Blocks with(const LaunchOptions& options) const noexcept {
        Blocks other = *this;
        other.how = {options, true};
        return other;
    }
};
/// Makes a grid of blocks with so many threads each, and `shared_bytes` bytes of dynamic shared
/// memory per block: `blocks(n / 256, 256)`, `blocks({4, 4}, {16, 16})`.
constexpr Blocks blocks(Extents grid, Extents block, std::size_t shared_bytes = 0,
                        Where where = {}) noexcept {
    return {grid, block, shared_bytes, where, {}};
}

namespace detail {
struct ModuleState;
struct ProgramState;

/// A kernel of a loaded module. Lives until the process ends, as modules do.
struct ModuleKernelData {
    std::string name;      ///< mangled, as in the code
    std::string readable;  ///< "my::scale<float>"
    Device device = Access::device(DeviceKind::cuda, 0);
    void* native = nullptr;               ///< CUfunction
    std::vector<std::size_t> parameters;  ///< bytes of each
    /// The kernel's limit of dynamic shared memory, if raised above the default, else 0.
    std::atomic<std::size_t> shared_bytes{0};
};
}  // namespace detail

/// A handle to a kernel of a module, from Module::kernel(). The size of a pointer, and valid until
/// the process ends.
class ModuleKernel {
public:
    /// Returns the readable name, "my::scale<float>".
    const std::string& name() const noexcept { return data_->readable; }
    /// Returns the device that its code is on.
    Device device() const noexcept { return data_->device; }
    /// Returns the size of each parameter in bytes.
    std::span<const std::size_t> parameters() const noexcept { return data_->parameters; }
    /// Returns the CUfunction, for launches by other means.
    void* native_handle() const noexcept { return data_->native; }
    bool operator==(const ModuleKernel&) const = default;

private:
    friend detail::Access;
    explicit ModuleKernel(detail::ModuleKernelData& data) noexcept : data_(&data) {}
    detail::ModuleKernelData* data_;
};

inline detail::ModuleKernelData& detail::Access::data(ModuleKernel kernel) noexcept {
    return *kernel.data_;
}

/// A handle to code on a device, from Program::load() or from an image. Copies refer to the same
/// module.
///
///     Module code = Module::from_file(device, "scale.ptx");
///     ModuleKernel scale = code.kernel("scale<float>");
///     launch(stream, scale, blocks(4, 256), x, 2.0f, 1000);
///
/// Lifetime: the code stays loaded until the process ends. Unloading would wait for the device, and
/// streams and graphs may need it. Thread-safe.
class Module {
public:
    /// Loads a cubin, a fatbin or PTX. Blocks until the device is idle. Throws UsageError if the
    /// image is none of them, and Unsupported if it is for other GPUs or the device is a CPU.
    /// Throws CompileError, with the log of the driver's compiler, for PTX that does not compile.
    static Module from_image(Device device, std::span<const std::byte> image, Where where = {});
    /// The same for a file. Throws NativeError if it cannot be read.
    static Module from_file(Device device, const std::string& path, Where where = {});

    /// Returns the device that the code is on, or will be.
    Device device() const noexcept;
    /// Returns whether loading has ended, in success or failure (Program::load_when_idle()). Never
    /// blocks.
    [[nodiscard]] bool is_ready() const noexcept;
    /// Blocks until the code is loaded. Throws the error if loading failed, and UsageError in host
    /// functions.
    void wait(Where where = {}) const;

    /// Returns a kernel by its name: "scale", "my::scale<float>", "_Z5scalePf", or one of
    /// ProgramOptions::names as written there. Blocks and throws as wait() does. Throws UsageError,
    /// which lists the names, if none or several match.
    ModuleKernel kernel(const std::string& name, Where where = {}) const;
    /// Returns the names of all kernels. Blocks and throws as wait() does.
    std::vector<std::string> kernel_names(Where where = {}) const;

private:
    friend detail::Access;
    explicit Module(std::shared_ptr<detail::ModuleState> state) noexcept
        : state_(std::move(state)) {}
    std::shared_ptr<detail::ModuleState> state_;
};

namespace detail {

/// An argument of a module's kernel, which may take several forms; the size of the kernel's
/// parameter selects one.
template <class T> struct ModuleArg {
    T value;
    explicit ModuleArg(const T& v) noexcept : value(v) {}
    static bool fits(std::size_t bytes) noexcept { return bytes == sizeof(T); }
    const void* address(std::size_t) const noexcept { return &value; }
};
/// An array or view: passed as a pointer to its elements, or as a View.
template <class T> struct ModuleArg<View<T>> {
    View<T> value;
    T* pointer;
    explicit ModuleArg(const View<T>& v) noexcept : value(v), pointer(v.data()) {}
    static bool fits(std::size_t bytes) noexcept {
        return bytes == sizeof(T*) || bytes == sizeof(View<T>);
    }
    const void* address(std::size_t bytes) const noexcept {
        return bytes == sizeof(T*) ? static_cast<const void*>(&pointer) : &value;
    }
};

[[noreturn]] void throw_argument_count(const ModuleKernelData& kernel, std::size_t given,
                                       const SourceLocation& where);
[[noreturn]] void throw_argument_size(const ModuleKernelData& kernel, std::size_t index,
                                      std::size_t given, const SourceLocation& where);
/// Throws UsageError or Unsupported for a stream of another device, impossible extents, and options
/// that the device does not support. Raises the kernel's limit of dynamic shared memory if needed.
void check_blocks(StreamState& stream, ModuleKernelData& kernel, const Blocks& blocks);
void launch_module(StreamState& stream, ModuleKernelData& kernel, const Blocks& blocks,
                   void** arguments);

template <class... A, std::size_t... I>
void check_module_arguments(const ModuleKernelData& kernel, const SourceLocation& where,
                            std::index_sequence<I...>) {
    if (kernel.parameters.size() != sizeof...(A)) [[unlikely]]
        throw_argument_count(kernel, sizeof...(A), where);
    [[maybe_unused]] const auto check = [&](bool fits, std::size_t index, std::size_t bytes) {
        if (!fits) [[unlikely]]
            throw_argument_size(kernel, index, bytes, where);
    };
    (check(ModuleArg<A>::fits(kernel.parameters[I]), I, sizeof(A)), ...);
}

/// A module's kernel with its arguments.
template <class... A> struct ModuleOp {
    ModuleKernelData* kernel;
    Blocks blocks;
    std::tuple<ModuleArg<A>...> args;

    static constexpr const char* pretty() noexcept { return "kernel of a module"; }
    // Never called: such nodes are on CUDA devices.
    static void run(void*, std::size_t, std::size_t) {}
    static constexpr OpType type = op_type<ModuleOp>(&run, true, "launch", pretty());

    /// Calls add(void*) with the address of each argument.
    template <class F> void each_argument(F&& add) {
        std::apply(
            [&](auto&... arg) {
                [[maybe_unused]] const std::size_t* bytes = kernel->parameters.data();
                (add(const_cast<void*>(arg.address(*bytes++))), ...);
            },
            args);
    }
    static void form(void* closure, unsigned, const LaunchOptions&, KernelForm& form,
                     const SourceLocation&) {
        auto& op = *static_cast<ModuleOp*>(closure);
        form.arguments.clear();
        form.function = op.kernel->native;
        form.is_loaded = true;
        form.grid[0] = op.blocks.grid.x, form.grid[1] = op.blocks.grid.y,
        form.grid[2] = op.blocks.grid.z;
        form.block[0] = op.blocks.block.x, form.block[1] = op.blocks.block.y,
        form.block[2] = op.blocks.block.z;
        form.shared_bytes = op.blocks.shared_bytes;
        op.each_argument([&](void* argument) { form.arguments.push_back(argument); });
    }
    static const char* name(const void* closure) {
        return static_cast<const ModuleOp*>(closure)->kernel->name.c_str();
    }
    static constexpr WorkType work_type{&type, &form, nullptr, &name};
};

template <class... A>
bool record_module(StreamState& state, const ModuleOp<A...>& operation, const A&... args) {
    using Operation = ModuleOp<A...>;
    alignas(Operation) std::byte bytes[sizeof(Operation)] = {};
    keep_part(bytes, operation, operation.kernel);
    keep_part(bytes, operation, operation.blocks);
    std::apply([&](const auto&... arg) { (keep_part(bytes, operation, arg), ...); },
               operation.args);
    Block* used[sizeof...(A) + 1] = {};
    std::size_t count = 0;
    (collect_block(used, count, args), ...);
    return record_work(state, Operation::work_type, bytes, 1, used, count,
                       operation.blocks.how.options, operation.blocks.where);
}

template <class... A> void give_module(StreamState& state, ModuleOp<A...>& operation) {
    void* pointers[sizeof...(A) + 1] = {};
    std::size_t count = 0;
    operation.each_argument([&](void* argument) { pointers[count++] = argument; });
    launch_module(state, *operation.kernel, operation.blocks, pointers);
}

/// Returns blocks of 256 threads (or LaunchOptions::block) along the first extent, for kernels that
/// check that their index is in range. Throws UsageError for extents that CUDA cannot count.
template <int N> Blocks blocks_for(const Dim<N>& d) {
    const unsigned block = d.how.options.block != 0 ? d.how.options.block : 256;
    const auto whole = [&](std::size_t n) {
        if (n > 0xffffffffu) throw_too_many_indices(d.where);
        return static_cast<unsigned>(n);
    };
    return {{whole((d.extent[0] + block - 1) / block), N > 1 ? whole(d.extent[N > 1 ? 1 : 0]) : 1u,
             N > 2 ? whole(d.extent[N > 2 ? 2 : 0]) : 1u},
            block,
            d.how.options.shared_bytes,
            d.where,
            d.how};
}

}  // namespace detail

/// Launches a kernel of a module on `stream` (default: the current stream of the current device),
/// and orders nothing else.
///
/// There must be as many arguments as parameters, each of its parameter's size, or UsageError is
/// thrown. Types are not checked: a double for a `long` parameter goes unnoticed. An Array or
/// View may be passed for a pointer.
///
/// Throws UsageError for a stream of another device, impossible blocks, and arrays out of reach.
/// Throws Unsupported for launch options that the device does not have.
template <class... A>
void launch(StreamRef stream, ModuleKernel kernel, const Blocks& blocks, A&&... args) {
    static_assert((detail::KernelArgument<A> && ...),
                  "heddle: a kernel's arguments are arrays, views and trivially copyable values");
    using Operation = detail::ModuleOp<detail::KernelArg<A>...>;
    detail::StreamState& state = detail::Access::state(stream);
    detail::ModuleKernelData& data = detail::Access::data(kernel);
    const detail::Admission admission = detail::admit(state, "launch", blocks.where);
    if (admission == detail::Admission::dropped) [[unlikely]]
        return;
    detail::check_blocks(state, data, blocks);
    detail::check_module_arguments<detail::KernelArg<A>...>(data, blocks.where,
                                                            std::index_sequence_for<A...>());
    (detail::check_argument(args, state, blocks.where), ...);
    (detail::check_not_empty(args, blocks.where), ...);
    (detail::note_argument(args, state), ...);
    Operation operation{
        &data, blocks,
        std::tuple<detail::ModuleArg<detail::KernelArg<A>>...>(
            detail::ModuleArg<detail::KernelArg<A>>(detail::kernel_argument(args))...)};
    if (admission != detail::Admission::recorded ||
        !detail::record_module<detail::KernelArg<A>...>(
            state, operation, detail::kernel_argument(args)...)) [[likely]]
        detail::give_module(state, operation);
    if (detail::is_observed()) [[unlikely]]
        detail::notify_launch<detail::Parameters<void>, 0, A...>(
            kernel.name().c_str(), state, blocks.where, std::index_sequence_for<A...>(), args...);
}
/// The same with dim(): one thread per index, rounded up along the first extent to blocks of 256
/// (or LaunchOptions::block), so that the kernel must check that its index is in range. An extent
/// of 0 enqueues nothing.
template <int N, class... A>
void launch(StreamRef stream, const ModuleKernel& kernel, const Dim<N>& d, A&&... args) {
    if (detail::count_of(d.extent, N, d.where) == 0) return;
    launch(stream, kernel, detail::blocks_for(d), std::forward<A>(args)...);
}
template <class... A> void launch(ModuleKernel kernel, const Blocks& blocks, A&&... args) {
    launch(current_stream(), kernel, blocks, std::forward<A>(args)...);
}
template <int N, class... A> void launch(const ModuleKernel& kernel, const Dim<N>& d, A&&... args) {
    launch(current_stream(), kernel, d, std::forward<A>(args)...);
}

}  // namespace heddle
