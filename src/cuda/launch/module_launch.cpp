// Launches of module kernels.
#include <array>
#include <cstring>
#include <mutex>

#include "cuda/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/launch/launch_options.hpp"
#include <heddle/cuda.hpp>

#include "core/base/errors.hpp"

namespace heddle::detail {

namespace cu {

namespace {

CUfunction function_of(const ModuleKernelData& kernel) noexcept {
    return static_cast<CUfunction>(kernel.native);
}

constinit std::mutex raising;

/// The driver's limit only grows: threads that raise it to different sizes do so one at a time.
void raise_shared(StreamState& stream, ModuleKernelData& kernel, const Blocks& blocks) {
    if (kernel.shared_bytes.load(std::memory_order_acquire) >= blocks.shared_bytes) return;
    const std::lock_guard lock(raising);
    if (kernel.shared_bytes.load(std::memory_order_relaxed) >= blocks.shared_bytes) return;
    const InContext in(gpu_of(stream));
    check(api.cuFuncSetAttribute(function_of(kernel),
                                 CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                 static_cast<int>(blocks.shared_bytes)),
          "cuFuncSetAttribute", record_of(stream), blocks.where);
    kernel.shared_bytes.store(blocks.shared_bytes, std::memory_order_release);
}

/// The driver's launch attributes have the runtime's numbers and layout (cuda.h and driver_types.h
/// of one toolkit).
static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute));
static_assert(static_cast<int>(CU_LAUNCH_ATTRIBUTE_PRIORITY) ==
              static_cast<int>(cudaLaunchAttributePriority));

/// The configuration of a launch with options.
struct Config {
    CUlaunchConfig native{};
    std::array<CUlaunchAttribute, 6> attributes{};

    Config(StreamState& stream, const Blocks& blocks) {
        std::array<cudaLaunchAttribute, 6> of_runtime{};
        native.gridDimX = blocks.grid.x, native.gridDimY = blocks.grid.y,
        native.gridDimZ = blocks.grid.z;
        native.blockDimX = blocks.block.x, native.blockDimY = blocks.block.y,
        native.blockDimZ = blocks.block.z;
        native.sharedMemBytes = static_cast<unsigned>(blocks.shared_bytes);
        native.hStream = native_of(stream);
        native.numAttrs = attributes_of(stream, blocks.how.options, of_runtime.data());
        std::memcpy(attributes.data(), of_runtime.data(), sizeof attributes);
        native.attrs = attributes.data();
    }
    Config(const Config&) = delete;
    Config& operator=(const Config&) = delete;
};

/// Returns how many blocks of such a launch the device holds at once.
std::size_t most_at_once(StreamState& stream, const ModuleKernelData& kernel,
                         const Blocks& blocks) {
    const InContext in(gpu_of(stream));
    const LaunchOptions& options = blocks.how.options;
    int count = 0;
    if (options.cluster_x == 0) {
        check(api.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                  &count, function_of(kernel),
                  static_cast<int>(blocks.block.x * blocks.block.y * blocks.block.z),
                  blocks.shared_bytes),
              "cuOccupancyMaxActiveBlocksPerMultiprocessor", record_of(stream), blocks.where);
        return static_cast<std::size_t>(count) * stream.processors;
    }
    const Config config(stream, blocks);
    check(api.cuOccupancyMaxActiveClusters(&count, function_of(kernel), &config.native),
          "cuOccupancyMaxActiveClusters", record_of(stream), blocks.where);
    return static_cast<std::size_t>(count) * cluster_size(options);
}

void check_module_way(StreamState& stream, const ModuleKernelData& kernel, const Blocks& blocks) {
    const LaunchOptions& options = blocks.how.options;
    const dim3 grid(blocks.grid.x, blocks.grid.y, blocks.grid.z);
    if (options.dependence != Dependence::none)
        usage_error(
            {"launch", blocks.where, stream},
            "kernel {} is of a module, which cannot say that it waits for the kernel before it",
            kernel.readable);
    check_way(stream, options, grid, blocks.where);
    if (options.cooperative)
        check_fits_at_once(stream, most_at_once(stream, kernel, blocks), grid, blocks.where);
}

CUresult launch_in_a_way(StreamState& stream, const ModuleKernelData& kernel, const Blocks& blocks,
                         void** arguments) {
    const Config config(stream, blocks);
    return api.cuLaunchKernelEx(&config.native, function_of(kernel), arguments, nullptr);
}

}  // namespace

}  // namespace cu

void check_blocks(StreamState& stream, ModuleKernelData& kernel, const Blocks& blocks) {
    if (stream.device != kernel.device) [[unlikely]]
        usage_error({"launch", blocks.where, stream},
                    "kernel {} is loaded on {}, and the stream is of {}", kernel.readable,
                    kernel.device, stream.device);
    check_limits(stream, {dim3(blocks.grid.x, blocks.grid.y, blocks.grid.z),
                          dim3(blocks.block.x, blocks.block.y, blocks.block.z), blocks.shared_bytes,
                          blocks.where});
    if (blocks.shared_bytes > static_cast<std::size_t>(cu::gpu_of(stream).limits.max_shared))
        [[unlikely]]
        cu::raise_shared(stream, kernel, blocks);
    if (blocks.how.given) [[unlikely]]
        cu::check_module_way(stream, kernel, blocks);
}

void launch_module(StreamState& stream, ModuleKernelData& kernel, const Blocks& blocks,
                   void** arguments) {
    const cu::OnStream on(cu::gpu_of(stream), stream.native);
    const CUresult code =
        blocks.how.given
            ? cu::launch_in_a_way(stream, kernel, blocks, arguments)
            : cu::api.cuLaunchKernel(cu::function_of(kernel), blocks.grid.x, blocks.grid.y,
                                     blocks.grid.z, blocks.block.x, blocks.block.y, blocks.block.z,
                                     static_cast<unsigned>(blocks.shared_bytes),
                                     cu::native_of(stream), arguments, nullptr);
    if (code != CUDA_SUCCESS) [[unlikely]]
        throw_launch_failed(stream, kernel.name.c_str(), static_cast<int>(code), blocks.where);
    count_submission(stream);
}

}  // namespace heddle::detail
