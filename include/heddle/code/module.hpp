// Modules: GPU code loaded at run time, and launches of its kernels.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <heddle/launch/launch.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
struct ModuleState;
struct ProgramState;

/// A kernel of a loaded module. Exists until the process ends, as modules do.
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

/// A handle to a kernel of a module, returned by Module::kernel(). It has the size of a pointer,
/// and is valid until the process ends. Module has an example, and the errors of a launch. Members
/// throw nothing and are thread-safe.
class ModuleKernel {
public:
    /// Returns the readable name, "my::scale<float>".
    const std::string& name() const noexcept { return data_->readable; }
    /// Returns the device on which its code is loaded.
    Device device() const noexcept { return data_->device; }
    /// Returns the size of each parameter in bytes.
    std::span<const std::size_t> parameters() const noexcept;
    /// Returns the CUfunction, for launches outside heddle.
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

/// A handle to code on a device, made from an image or by Program::load(). Copies refer to the same
/// module.
///
///     Module code = Module::from_file(device, "scale.ptx");
///     ModuleKernel scale = code.kernel("scale<float>");
///     launch(stream, scale, grid(4, 256), x, 2.0f, 1000);
///
/// A launch takes grid(), or dim(): one thread for each index, rounded up along the first extent to
/// blocks of 256 (or LaunchOptions::block). With dim() the kernel must check that its index is in
/// range. An Array or View may be passed for a pointer.
///
/// Errors: a launch throws UsageError unless it has as many arguments as parameters, each of its
/// parameter's size. Types are not checked: a double passed for a `long` parameter is not detected.
///
/// Lifetime: the code stays loaded until the process ends. Unloading would wait for the device, and
/// streams and graphs may need it. Thread-safe.
class Module {
public:
    /// Loads a cubin, a fatbin or PTX. Blocks until the device is idle. Throws UsageError if the
    /// image has another format, and Unsupported if it is for other GPUs or the device is a CPU.
    /// Throws CompileError, with the log of the driver's compiler, for PTX that does not compile.
    static Module from_image(Device device, std::span<const std::byte> image, Where where = {});
    /// Loads an image from a file. Throws as from_image(), and NativeError if the file cannot be
    /// read.
    static Module from_file(Device device, const std::string& path, Where where = {});

    /// Returns the device on which the code is, or will be, loaded.
    Device device() const noexcept;
    /// Returns whether loading has ended, in success or failure (Program::load_when_idle()). Never
    /// blocks.
    [[nodiscard]] bool is_ready() const noexcept;
    /// Blocks until the code is loaded. Throws the error if loading failed, and UsageError in host
    /// functions.
    void wait(Where where = {}) const;

    /// Returns a kernel by its name: "scale", "my::scale<float>", "_Z5scalePf", or one of
    /// ProgramOptions::names as written there. Blocks and throws as wait() does. Throws UsageError,
    /// which lists the names, unless exactly one matches.
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

/// Returns whether an argument of type T fits a parameter of `bytes` bytes. An array or view is
/// passed as a pointer to its elements, or as a View, which begins with that pointer.
template <class T> inline constexpr bool fits(std::size_t bytes) noexcept {
    return bytes == sizeof(T) || (ViewTraits<T>::is_view && bytes == sizeof(void*));
}
static_assert(std::is_standard_layout_v<View<float>>);

[[noreturn]] void throw_argument_count(const ModuleKernelData& kernel, std::size_t passed,
                                       const SourceLocation& where);
[[noreturn]] void throw_argument_size(const ModuleKernelData& kernel, std::size_t index,
                                      std::size_t passed, const SourceLocation& where);

/// Describes launches of modules' kernels with grid().
template <> struct LaunchTraits<ModuleKernel, LaunchGrid> {
    template <class... A> static constexpr bool can_launch = (KernelArgument<A> && ...);
    template <class... A> static constexpr auto why() { return why_not_passed<1, A...>(); }

    template <class... A> using Closure = GridOp<KernelArg<A>...>;
    template <class... A>
    static constexpr const WorkType* type =
        &Closure<A...>::template work_type<KernelKind::in_module>;
    /// Throws UsageError unless there are as many arguments as parameters, each of its parameter's
    /// size.
    template <class... A>
    static Closure<A...> closure(ModuleKernel kernel, const LaunchGrid& grid, A&... args) {
        ModuleKernelData& data = Access::data(kernel);
        if (data.parameters.size() != sizeof...(A)) [[unlikely]]
            throw_argument_count(data, sizeof...(A), grid.where);
        [[maybe_unused]] std::size_t i = 0;
        [[maybe_unused]] const auto check_size = [&](bool it_fits, std::size_t bytes) {
            if (!it_fits) [[unlikely]]
                throw_argument_size(data, i, bytes, grid.where);
            ++i;
        };
        (check_size(fits<KernelArg<A>>(data.parameters[i]), sizeof(KernelArg<A>)), ...);
        return {{&data, grid.grid, grid.block, grid.shared_bytes}, {kernel_argument(args)...}};
    }
    /// Returns whether the kernel may write the argument. The loaded code does not state whether
    /// parameters are const.
    template <class A> static constexpr bool writes(std::size_t) noexcept {
        return is_written<KernelArg<A>>;
    }
    static constexpr std::size_t count(const LaunchGrid&) noexcept { return 1; }

    // Used by nodes.
    static constexpr bool may_take_nothing = true;
    static bool takes_nothing(ModuleKernel kernel) noexcept {
        return Access::data(kernel).parameters.empty();
    }
    static Device device(ModuleKernel kernel) noexcept { return kernel.device(); }
    static const std::string& name(ModuleKernel kernel) noexcept { return kernel.name(); }
    static const WorkType& any_type() noexcept { return *type<>; }
    static void* symbol(ModuleKernel kernel) noexcept { return &Access::data(kernel); }
};

/// Returns a grid with one thread for each index, rounded up along the first extent to blocks of
/// 256 threads (or LaunchOptions::block). Throws UsageError for extents that CUDA cannot count.
template <int N> LaunchGrid grid_for(const Dim<N>& d) {
    const unsigned block = d.how.options.block != 0 ? d.how.options.block : 256;
    const auto whole = [&](std::size_t n) {
        if (n > 0xffffffffu) throw_too_many_indices(d.where);
        return static_cast<unsigned>(n);
    };
    return {{d.where, d.how},
            {whole((d.extent[0] + block - 1) / block), N > 1 ? whole(d.extent[N > 1 ? 1 : 0]) : 1u,
             N > 2 ? whole(d.extent[N > 2 ? 2 : 0]) : 1u},
            block,
            d.how.options.shared_bytes};
}

/// Describes launches with dim(). There may be more threads than indices, so the kernel must check
/// that its index is in range.
template <int N>
struct LaunchTraits<ModuleKernel, Dim<N>> : LaunchTraits<ModuleKernel, LaunchGrid> {
    template <class... A> static auto closure(ModuleKernel kernel, const Dim<N>& d, A&... args) {
        return LaunchTraits<ModuleKernel, LaunchGrid>::closure(kernel, grid_for(d), args...);
    }
    static std::size_t count(const Dim<N>& d) { return count_of(d); }
};

}  // namespace detail

}  // namespace heddle
