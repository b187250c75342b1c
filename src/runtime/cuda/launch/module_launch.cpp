#include "cuda/launch/module_launch.hpp"

#include <array>
#include <cstring>
#include <mutex>

#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/launch/launch_options.hpp"
#include <heddle/cuda.hpp>

#include "core/base/errors.hpp"

namespace heddle::detail::cu {

namespace {

CUfunction function_of(const ModuleKernelData& kernel) noexcept {
    return static_cast<CUfunction>(kernel.native);
}

ModuleKernelData& kernel_of(const GridHead& grid) noexcept {
    return *static_cast<ModuleKernelData*>(grid.kernel);
}

constinit std::mutex raising;

/// The driver's launch attributes have the runtime's numbers and layout (cuda.h and driver_types.h
/// of one toolkit).
static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute));
static_assert(static_cast<int>(CU_LAUNCH_ATTRIBUTE_PRIORITY) ==
              static_cast<int>(cudaLaunchAttributePriority));

/// The configuration of a launch with options.
struct Config {
    CUlaunchConfig native{};
    std::array<CUlaunchAttribute, 6> attributes{};

    Config(StreamState& stream, const dim3& grid, const dim3& block, std::size_t shared_bytes,
           const LaunchOptions& options) {
        std::array<cudaLaunchAttribute, 6> of_runtime{};
        native.gridDimX = grid.x, native.gridDimY = grid.y, native.gridDimZ = grid.z;
        native.blockDimX = block.x, native.blockDimY = block.y, native.blockDimZ = block.z;
        native.sharedMemBytes = static_cast<unsigned>(shared_bytes);
        native.hStream = native_of(stream);
        native.numAttrs = attributes_of(stream, options, of_runtime.data());
        std::memcpy(attributes.data(), of_runtime.data(), sizeof attributes);
        native.attrs = attributes.data();
    }
    Config(const Config&) = delete;
    Config& operator=(const Config&) = delete;
};

/// Returns how many blocks of a launch with these parameters can be resident on the device at once.
std::size_t most_at_once(StreamState& stream, const GridHead& grid, const LaunchOptions& options,
                         const SourceLocation& where) {
    const InContext in(gpu_of(stream));
    const CUfunction function = function_of(kernel_of(grid));
    int count = 0;
    if (options.cluster_x == 0) {
        check(api.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                  &count, function, static_cast<int>(grid.block.x * grid.block.y * grid.block.z),
                  grid.shared_bytes),
              "cuOccupancyMaxActiveBlocksPerMultiprocessor", record_of(stream), where);
        return static_cast<std::size_t>(count) * stream.processors;
    }
    const Config config(stream, dim3_of(grid.grid), dim3_of(grid.block), grid.shared_bytes,
                        options);
    check(api.cuOccupancyMaxActiveClusters(&count, function, &config.native),
          "cuOccupancyMaxActiveClusters", record_of(stream), where);
    return static_cast<std::size_t>(count) * cluster_size(options);
}

}  // namespace

// One thread at a time raises the kernel's limit, because the limit must never shrink.
void raise_shared_of_module(StreamState& stream, const GridHead& grid,
                            const SourceLocation& where) {
    ModuleKernelData& kernel = kernel_of(grid);
    if (kernel.shared_bytes.load(std::memory_order_acquire) >= grid.shared_bytes) return;
    const std::lock_guard lock(raising);
    if (kernel.shared_bytes.load(std::memory_order_relaxed) >= grid.shared_bytes) return;
    const InContext in(gpu_of(stream));
    check(api.cuFuncSetAttribute(function_of(kernel),
                                 CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                 static_cast<int>(grid.shared_bytes)),
          "cuFuncSetAttribute", record_of(stream), where);
    kernel.shared_bytes.store(grid.shared_bytes, std::memory_order_release);
}

void check_module_options(StreamState& stream, const GridHead& grid, const LaunchOptions& options,
                          const SourceLocation& where) {
    if (options.dependence != Dependence::none)
        usage_error({"launch", where, stream},
                    "kernel {} belongs to a module, so heddle cannot determine whether it waits "
                    "for the previous kernel: use launch() instead of launch_dependent()",
                    kernel_of(grid).readable);
    const dim3 blocks = dim3_of(grid.grid);
    check_way(stream, options, blocks, where);
    if (options.cooperative)
        check_fits_at_once(stream, most_at_once(stream, grid, options, where), blocks, where);
}

cudaError_t launch_of_module(StreamState& stream, const KernelForm& form,
                             const PassedOptions& how) {
    const OnStream on(gpu_of(stream), stream.native);
    const auto function = static_cast<CUfunction>(const_cast<void*>(form.function));
    if (how.is_set) {
        const Config config(stream, form.grid, form.block, form.shared_bytes, how.options);
        return as_runtime(api.cuLaunchKernelEx(&config.native, function, form.arguments, nullptr));
    }
    return as_runtime(api.cuLaunchKernel(
        function, form.grid.x, form.grid.y, form.grid.z, form.block.x, form.block.y, form.block.z,
        static_cast<unsigned>(form.shared_bytes), native_of(stream), form.arguments, nullptr));
}

}  // namespace heddle::detail::cu
