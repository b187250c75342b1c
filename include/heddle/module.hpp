// Modules: code loaded at run time, and launches of its kernels.
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

#include <heddle/launch.hpp>
#include <heddle/launch_options.hpp>

namespace heddle {

/// Numbers of blocks, or of threads in a block, in up to three dimensions; none given is 1.
struct Extents {
    unsigned x = 1, y = 1, z = 1;
    constexpr Extents(unsigned nx, unsigned ny = 1, unsigned nz = 1) noexcept : x(nx), y(ny), z(nz) {}
    bool operator==(const Extents&) const = default;
};

/// The shape of a module kernel's launch; made by blocks(). Remembers where it was written.
struct Blocks {
    Extents grid;
    Extents block;
    std::size_t shared_bytes;
    SourceLocation where;
    detail::GivenOptions how{};

    /// The same blocks, launched in a certain way; LaunchOptions::block and shared_bytes are not used.
    Blocks with(const LaunchOptions& options) const noexcept {
        Blocks other = *this;
        other.how = {options, true};
        return other;
    }
};
/// So many blocks, of so many threads, with so many bytes of dynamic shared memory: blocks(n / 256, 256),
/// blocks({4, 4}, {16, 16}).
constexpr Blocks blocks(Extents grid, Extents block, std::size_t shared_bytes = 0,
                        SourceLocation where = SourceLocation::current()) noexcept {
    return {grid, block, shared_bytes, where, {}};
}

namespace detail {
struct ModuleState;
struct ProgramState;

/// A kernel of a loaded module. Lives as long as the process, as modules do.
struct ModuleKernelData {
    std::string name;      ///< as it is in the code: mangled
    std::string readable;  ///< "my::scale<float>"
    Device device = Device::unchecked(DeviceKind::cuda, 0);
    void* native = nullptr;               ///< CUfunction
    std::vector<std::size_t> parameters;  ///< bytes of each
    std::atomic<std::size_t> shared_bytes{
        0};  ///< of dynamic shared memory it was allowed beyond what all have
};
}  // namespace detail

/// A kernel of a module. A pointer, valid for the life of the process.
class ModuleKernel {
public:
    const std::string& name() const noexcept { return data_->readable; }
    Device device() const noexcept { return data_->device; }
    /// Bytes of each parameter.
    std::span<const std::size_t> parameters() const noexcept { return data_->parameters; }
    /// For launching it by other means: a CUfunction.
    void* native_handle() const noexcept { return data_->native; }
    bool operator==(const ModuleKernel&) const = default;

    explicit ModuleKernel(detail::ModuleKernelData& data) noexcept : data_(&data) {}  ///< for the library
    detail::ModuleKernelData& data() const noexcept { return *data_; }                ///< for the library

private:
    detail::ModuleKernelData* data_;
};

/// Code on a device. It stays loaded for the life of the process: unloading would wait for the device, and streams and graphs may
/// need it. Copies are the same module. Thread-safety: all members may be called from many threads at once.
class Module {
public:
    /// Loads a cubin, a fatbin or PTX. Loading waits until the device is idle, and the caller with it. Throws UsageError where it is
    /// none of them, Unsupported where it is for other GPUs or the device is a CPU; the log of the driver's compiler is in the error.
    static Module from_image(Device device, std::span<const std::byte> image,
                             SourceLocation where = SourceLocation::current());
    /// The same, of a file. Throws NativeError where it cannot be read.
    static Module from_file(Device device, const std::string& path,
                            SourceLocation where = SourceLocation::current());

    Device device() const noexcept;
    /// Whether loading is over, well or not (Program::load_when_idle()). Never blocks.
    [[nodiscard]] bool is_ready() const noexcept;
    /// Blocks until the code is loaded. Throws what went wrong; UsageError in host functions.
    void wait(SourceLocation where = SourceLocation::current()) const;

    /// A kernel by its name: "scale", "my::scale<float>", "_Z5scalePf", or one of ProgramOptions::names as it was given. Waits as wait() does. UsageError,
    /// with the names that there are, where none or several are meant.
    ModuleKernel kernel(const std::string& name, SourceLocation where = SourceLocation::current()) const;
    /// The names of all kernels; waits as wait() does.
    std::vector<std::string> kernel_names(SourceLocation where = SourceLocation::current()) const;

private:
    explicit Module(std::shared_ptr<detail::ModuleState> state) noexcept : state_(std::move(state)) {}
    friend class Program;
    std::shared_ptr<detail::ModuleState> state_;
};

namespace detail {

/// An argument of a module's kernel, kept in the shape that the kernel's parameter turns out to have.
template <class T> struct ModuleArg {
    T value;
    explicit ModuleArg(const T& v) noexcept : value(v) {}
    static bool fits(std::size_t bytes) noexcept { return bytes == sizeof(T); }
    const void* address(std::size_t) const noexcept { return &value; }
};
/// An array: a pointer to its elements, or a View.
template <class T> struct ModuleArg<View<T>> {
    View<T> value;
    T* pointer;
    explicit ModuleArg(const View<T>& v) noexcept : value(v), pointer(v.data()) {}
    static bool fits(std::size_t bytes) noexcept { return bytes == sizeof(T*) || bytes == sizeof(View<T>); }
    const void* address(std::size_t bytes) const noexcept {
        return bytes == sizeof(T*) ? static_cast<const void*>(&pointer) : &value;
    }
};

[[noreturn]] void throw_argument_count(const ModuleKernelData& kernel, std::size_t given,
                                       const SourceLocation& where);
[[noreturn]] void throw_argument_size(const ModuleKernelData& kernel, std::size_t index, std::size_t given,
                                      const SourceLocation& where);
/// Throws UsageError for a stream of another device, impossible extents, and options that the device cannot do. Lets the kernel have its dynamic shared
/// memory.
void check_blocks(StreamState& stream, ModuleKernelData& kernel, const Blocks& blocks);
void launch_module(StreamState& stream, ModuleKernelData& kernel, const Blocks& blocks, void** arguments);

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
    static void run(void*, std::size_t, std::size_t) {}  // never: such nodes are on CUDA devices
    static constexpr OpType type = op_type<ModuleOp>(&run, true, "launch", pretty());

    /// Calls add(void*) for each argument.
    template <class F> void each_argument(F&& add) {
        std::apply(
            [&](auto&... arg) {
                [[maybe_unused]] const std::size_t* bytes = kernel->parameters.data();
                (add(const_cast<void*>(arg.address(*bytes++))), ...);
            },
            args);
    }
    static void form(void* closure, unsigned, const LaunchOptions&, KernelForm& form, const SourceLocation&) {
        auto& op = *static_cast<ModuleOp*>(closure);
        form.arguments.clear();
        form.function = op.kernel->native;
        form.is_loaded = true;
        form.grid[0] = op.blocks.grid.x, form.grid[1] = op.blocks.grid.y, form.grid[2] = op.blocks.grid.z;
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
    std::apply([&](const auto&... arg) { (keep_part(bytes, operation, arg), ...); }, operation.args);
    Block* used[sizeof...(A) + 1] = {};
    std::size_t count = 0;
    (collect_block(used, count, args), ...);
    return record_work(state, Operation::work_type, bytes, 1, used, count, operation.blocks.how.options,
                       operation.blocks.where);
}

template <class... A> void give_module(StreamState& state, ModuleOp<A...>& operation) {
    void* pointers[sizeof...(A) + 1] = {};
    std::size_t count = 0;
    operation.each_argument([&](void* argument) { pointers[count++] = argument; });
    launch_module(state, *operation.kernel, operation.blocks, pointers);
}

/// Blocks of 256 threads (or LaunchOptions::block) along the first extent, for kernels that look whether their index is in range.
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

/// Launches a kernel of a module. There must be as many arguments as parameters, each of its parameter's size: what differs is a UsageError, since the
/// types themselves are not known (a double where a long is declared goes unnoticed). An Array or View may stand where a pointer is
/// declared. With a stream: runs there and orders nothing else; without one: on the current stream of the current device.
/// Throws UsageError for streams of another device, impossible blocks, and arrays out of reach.
template <class... A> void launch(StreamRef stream, ModuleKernel kernel, const Blocks& blocks, A&&... args) {
    static_assert((detail::is_kernel_argument<A> && ...),
                  "heddle::launch: arguments are arrays, views and trivially copyable values");
    using Operation = detail::ModuleOp<detail::KernelArg<A>...>;
    detail::StreamState& state = stream.state();
    const detail::Admission admission = detail::admit(state, "launch", blocks.where);
    if (admission == detail::Admission::dropped) [[unlikely]]
        return;
    detail::check_blocks(state, kernel.data(), blocks);
    detail::check_module_arguments<detail::KernelArg<A>...>(kernel.data(), blocks.where,
                                                            std::index_sequence_for<A...>());
    (detail::check_argument(args, state, blocks.where), ...);
    (detail::check_not_empty(args, blocks.where), ...);
    (detail::note_argument(args, state), ...);
    Operation operation{&kernel.data(), blocks,
                        std::tuple<detail::ModuleArg<detail::KernelArg<A>>...>(
                            detail::ModuleArg<detail::KernelArg<A>>(detail::kernel_argument(args))...)};
    if (admission != detail::Admission::recorded ||
        !detail::record_module<detail::KernelArg<A>...>(state, operation, detail::kernel_argument(args)...))
        [[likely]]
        detail::give_module(state, operation);
    if (detail::is_observed()) [[unlikely]]
        detail::notify_launch<detail::Parameters<void>, 0, A...>(kernel.name().c_str(), state, blocks.where,
                                                                 std::index_sequence_for<A...>(), args...);
}
/// With dim(): as many threads as it says, rounded up along the first extent to blocks of 256 (or LaunchOptions::block): the kernel has to look whether its
/// index is in range. An extent of 0 enqueues nothing.
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
