// Launching kernels of modules.
#include <array>
#include <cstring>

#include "core/registry.hpp"
#include "cuda/backend.hpp"
#include <heddle/cuda.hpp>

namespace heddle::detail {

namespace cu {

namespace {

CUfunction function_of(const ModuleKernelData& kernel) noexcept {
    return static_cast<CUfunction>(kernel.native);
}

void raise_shared(StreamState& stream, ModuleKernelData& kernel, const Blocks& blocks) {
    if (kernel.shared_bytes.load(std::memory_order_relaxed) >= blocks.shared_bytes) return;
    const InContext in(gpu_of(stream));
    check(driver.set_function_attribute(function_of(kernel), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                        static_cast<int>(blocks.shared_bytes)),
          "cuFuncSetAttribute", record_of(stream), blocks.where);
    kernel.shared_bytes.store(blocks.shared_bytes, std::memory_order_relaxed);
}

void check_module_way(StreamState& stream, const ModuleKernelData& kernel, const Blocks& blocks) {
    const LaunchOptions& options = blocks.how.options;
    const dim3 grid(blocks.grid.x, blocks.grid.y, blocks.grid.z);
    if (options.dependent)
        throw_usage("kernel " + kernel.readable +
                        " is of a module, which cannot say that it waits for the kernel before it",
                    "launch", &record_of(stream), blocks.where);
    check_way(stream, options, grid, blocks.where);
    if (!options.cooperative) return;
    int each = 0;
    const InContext in(gpu_of(stream));
    check(driver.blocks_per_processor(&each, function_of(kernel),
                                      static_cast<int>(blocks.block.x * blocks.block.y * blocks.block.z),
                                      blocks.shared_bytes),
          "cuOccupancyMaxActiveBlocksPerMultiprocessor", record_of(stream), blocks.where);
    check_fits_at_once(stream, each, grid, blocks.where);
}

/// The driver's attributes are the runtime's, with the same numbers and the same layout (cuda.h and driver_types.h of one toolkit).
static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute));
static_assert(static_cast<int>(CU_LAUNCH_ATTRIBUTE_PRIORITY) ==
              static_cast<int>(cudaLaunchAttributePriority));

CUresult launch_in_a_way(StreamState& stream, const ModuleKernelData& kernel, const Blocks& blocks,
                         void** arguments) {
    std::array<cudaLaunchAttribute, 6> of_runtime{};
    std::array<CUlaunchAttribute, 6> attributes{};
    CUlaunchConfig config{};
    config.gridDimX = blocks.grid.x, config.gridDimY = blocks.grid.y, config.gridDimZ = blocks.grid.z;
    config.blockDimX = blocks.block.x, config.blockDimY = blocks.block.y, config.blockDimZ = blocks.block.z;
    config.sharedMemBytes = static_cast<unsigned>(blocks.shared_bytes);
    config.hStream = native_of(stream);
    config.numAttrs = attributes_of(stream, blocks.how.options, of_runtime.data());
    std::memcpy(attributes.data(), of_runtime.data(), sizeof attributes);
    config.attrs = attributes.data();
    return driver.launch_kernel_in_a_way(&config, function_of(kernel), arguments, nullptr);
}

}  // namespace

}  // namespace cu

void check_blocks(StreamState& stream, ModuleKernelData& kernel, const Blocks& blocks) {
    if (stream.device != kernel.device) [[unlikely]]
        cu::throw_usage("kernel " + kernel.readable + " is loaded on " + kernel.device.name() +
                            ", and the stream is of " + stream.device.name(),
                        "launch", &record_of(stream), blocks.where);
    check_limits(stream,
                 {dim3(blocks.grid.x, blocks.grid.y, blocks.grid.z),
                  dim3(blocks.block.x, blocks.block.y, blocks.block.z), blocks.shared_bytes, blocks.where});
    if (blocks.shared_bytes > static_cast<std::size_t>(cu::gpu_of(stream).limits.max_shared)) [[unlikely]]
        cu::raise_shared(stream, kernel, blocks);
    if (blocks.how.given) [[unlikely]]
        cu::check_module_way(stream, kernel, blocks);
}

void launch_module(StreamState& stream, ModuleKernelData& kernel, const Blocks& blocks, void** arguments) {
    const cu::OnStream on(cu::gpu_of(stream), stream.native);
    const CUresult code =
        blocks.how.given
            ? cu::launch_in_a_way(stream, kernel, blocks, arguments)
            : cu::driver.launch_kernel(cu::function_of(kernel), blocks.grid.x, blocks.grid.y, blocks.grid.z,
                                       blocks.block.x, blocks.block.y, blocks.block.z,
                                       static_cast<unsigned>(blocks.shared_bytes), cu::native_of(stream),
                                       arguments, nullptr);
    if (code != CUDA_SUCCESS) [[unlikely]]
        throw_launch_failed(stream, kernel.name.c_str(), static_cast<int>(code), blocks.where);
    count_submission(stream);
}

}  // namespace heddle::detail
