// What launches in the callers' code need of the library: limits of grids, names of kernels, and
// the meaning of launch failures.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>

#include <cxxabi.h>

#include "core/base/errors.hpp"
#include "core/base/kernel_name.hpp"
#include "cuda/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/launch/launch_options.hpp"
#include <heddle/cuda.hpp>

namespace heddle::detail {

namespace cu {

namespace {

/// Dynamic shared memory that a kernel has been opted in to on a device. Few kernels need more than
/// 48 KB, so a list that only grows is read without a lock.
struct Raised {
    const void* kernel;
    int device;
    std::atomic<std::size_t> bytes;
    Raised* next;
};
std::atomic<Raised*> raised{nullptr};
constinit std::mutex raising;

/// Returns the entry of the kernel on the device, or null if there is none.
Raised* find_raised(const void* kernel, int device) noexcept {
    Raised* known = raised.load(std::memory_order_acquire);
    while (known != nullptr && (known->kernel != kernel || known->device != device))
        known = known->next;
    return known;
}

/// The driver's limit only grows: threads that raise it to different sizes do so one at a time.
void raise_shared(StreamState& stream, std::size_t bytes, const void* kernel,
                  const SourceLocation& where) {
    const int device = stream.device.index();
    const auto is_enough = [&](const Raised* known) {
        return known != nullptr && known->bytes.load(std::memory_order_acquire) >= bytes;
    };
    if (is_enough(find_raised(kernel, device))) return;
    const std::lock_guard lock(raising);
    Raised* const known = find_raised(kernel, device);
    if (is_enough(known)) return;
    std::unique_ptr<Raised> fresh;
    if (known == nullptr) fresh.reset(new Raised{kernel, device, bytes, raised.load()});
    {
        InContext in(gpu_of(stream));
        check(api.cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(bytes)),
              "cudaFuncSetAttribute", record_of(stream), where);
    }
    if (known != nullptr) known->bytes.store(bytes, std::memory_order_release);
    else raised.store(fresh.release(), std::memory_order_release);
}

[[noreturn]] void throw_over_limit(StreamState& stream, const LaunchGrid& grid,
                                   std::string_view what, std::size_t is, std::size_t limit) {
    usage_error({"launch", grid.where, stream}, "{} is {}, and {} allows {}{}", what, is,
                stream.device, is == 0 ? "1 to " : "at most ", limit);
}

/// Throws UsageError for the limit that the grid exceeds.
[[noreturn]] void throw_exceeded(StreamState& stream, const LaunchGrid& grid,
                                 const Limits& limits) {
    const unsigned blocks[3] = {grid.grid.x, grid.grid.y, grid.grid.z};
    const unsigned threads[3] = {grid.block.x, grid.block.y, grid.block.z};
    for (int i = 0; i < 3; ++i) {
        const char* const of_block[] = {"the block's x", "the block's y", "the block's z"};
        const char* const of_grid[] = {"the grid's x", "the grid's y", "the grid's z"};
        if (threads[i] == 0 || threads[i] > static_cast<unsigned>(limits.max_block[i]))
            throw_over_limit(stream, grid, of_block[i], threads[i],
                             static_cast<std::size_t>(limits.max_block[i]));
        if (blocks[i] == 0 || blocks[i] > static_cast<unsigned>(limits.max_grid[i]))
            throw_over_limit(stream, grid, of_grid[i], blocks[i],
                             static_cast<std::size_t>(limits.max_grid[i]));
    }
    if (grid.shared_bytes > static_cast<std::size_t>(limits.max_shared_opt_in))
        throw_over_limit(stream, grid, "dynamic shared memory (bytes)", grid.shared_bytes,
                         static_cast<std::size_t>(limits.max_shared_opt_in));
    throw_over_limit(stream, grid, "the number of threads in a block",
                     std::size_t{threads[0]} * threads[1] * threads[2],
                     static_cast<std::size_t>(limits.max_threads_per_block));
}

std::string readable(const char* name) {
    if (name[0] == '_' && name[1] == 'Z') {
        int status = 0;
        const std::unique_ptr<char, void (*)(void*)> text(
            abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
        if (status == 0 && text != nullptr) return text.get();
    }
    return kernel_name(name);
}

}  // namespace

namespace {

bool is_hopper(StreamState& stream) { return gpu_of(stream).limits.is_hopper; }

void check_cluster(StreamState& stream, const LaunchOptions& options, dim3 grid,
                   const SourceLocation& where) {
    const unsigned x = options.cluster_x, y = options.cluster_y, z = options.cluster_z;
    if (!is_hopper(stream))
        unsupported_error({"launch", where, stream},
                          "{} has no clusters: they need compute capability 9.0", stream.device);
    // Source: CUDA programming guide; the size that every device with clusters allows.
    constexpr unsigned most = 8;
    if (y == 0 || z == 0 || x * y * z > most)
        usage_error({"launch", where, stream},
                    "a cluster of {} x {} x {} blocks: 1 to {} are allowed", x, y, z, most);
    if (grid.x % x != 0 || grid.y % y != 0 || grid.z % z != 0)
        usage_error({"launch", where, stream},
                    "the grid is no multiple of the cluster, in every dimension");
}

/// Returns how many blocks of such a launch the device holds at once.
std::size_t most_at_once(StreamState& stream, const void* function, dim3 grid, dim3 block,
                         std::size_t shared_bytes, const LaunchOptions& options,
                         const SourceLocation& where) {
    InContext in(gpu_of(stream));
    int count = 0;
    if (options.cluster_x == 0) {
        check(api.cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                  &count, function, static_cast<int>(block.x * block.y * block.z), shared_bytes),
              "cudaOccupancyMaxActiveBlocksPerMultiprocessor", record_of(stream), where);
        return static_cast<std::size_t>(count) * stream.processors;
    }
    cudaLaunchAttribute attributes[6];
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    config.attrs = attributes;
    config.numAttrs = attributes_of(stream, options, attributes);
    check(api.cudaOccupancyMaxActiveClusters(&count, function, &config),
          "cudaOccupancyMaxActiveClusters", record_of(stream), where);
    return static_cast<std::size_t>(count) * cluster_size(options);
}

}  // namespace

void throw_global_on_cpu(const ErrorSite& site) {
    usage_error(
        site,
        "a __global__ function runs on CUDA devices only; a portable kernel (an object with a "
        "HEDDLE_FN operator()) would run here");
}

std::size_t cluster_size(const LaunchOptions& options) noexcept {
    return std::size_t{options.cluster_x} * options.cluster_y * options.cluster_z;
}

void check_fits_at_once(StreamState& stream, std::size_t most, dim3 grid,
                        const SourceLocation& where) {
    const std::size_t blocks = std::size_t{grid.x} * grid.y * grid.z;
    if (blocks > most)
        usage_error({"launch", where, stream},
                    "a cooperative launch of {} blocks, and {} holds at most {} of this kernel at "
                    "the same time",
                    blocks, stream.device, most);
}

void check_way(StreamState& stream, const LaunchOptions& options, dim3 grid,
               const SourceLocation& where) {
    if (options.memory_domain != 0 && options.memory_domain != 1)
        usage_error({"launch", where, stream}, "memory domains are 0 and 1");
    if (options.cluster_x != 0) check_cluster(stream, options, grid, where);
}

unsigned attributes_of(StreamState& stream, const LaunchOptions& options, cudaLaunchAttribute* to) {
    unsigned count = 0;
    const auto add = [&](cudaLaunchAttributeID id) -> cudaLaunchAttributeValue& {
        to[count].id = id;
        return to[count++].val;
    };
    const Gpu& g = gpu_of(stream);
    if (options.cluster_x != 0) {
        auto& value = add(cudaLaunchAttributeClusterDimension);
        value.clusterDim.x = options.cluster_x;
        value.clusterDim.y = options.cluster_y;
        value.clusterDim.z = options.cluster_z;
    }
    if (options.cooperative) add(cudaLaunchAttributeCooperative).cooperative = 1;
    if (options.priority != LaunchOptions::inherit_priority)
        add(cudaLaunchAttributePriority).priority =
            std::clamp(options.priority, g.priorities.greatest, g.priorities.least);
    if (options.memory_domain != 0 && is_hopper(stream))
        add(cudaLaunchAttributeMemSyncDomain).memSyncDomain = cudaLaunchMemSyncDomainRemote;
    return count;
}

void check_options(StreamState& stream, const void* function, dim3 grid, dim3 block,
                   std::size_t shared_bytes, const LaunchOptions& options,
                   const SourceLocation& where) {
    const Limits& limits = gpu_of(stream).limits;
    if (shared_bytes > static_cast<std::size_t>(limits.max_shared_opt_in))
        usage_error({"launch", where, stream},
                    "dynamic shared memory of {} bytes, and {} allows at most {}", shared_bytes,
                    stream.device, limits.max_shared_opt_in);
    if (shared_bytes > static_cast<std::size_t>(limits.max_shared))
        raise_shared(stream, shared_bytes, function, where);
    check_way(stream, options, grid, where);
    if (options.cooperative)
        check_fits_at_once(
            stream, most_at_once(stream, function, grid, block, shared_bytes, options, where), grid,
            where);
}

}  // namespace cu

void check_portable_options(const LaunchOptions& options, int dimensions,
                            const SourceLocation& where) {
    // What portable kernels are compiled for (detail/launch_nvcc.hpp).
    constexpr unsigned most = 256;
    if (options.block > most)
        usage_error({"launch", where}, "a block of {} threads: portable kernels have at most {}",
                    options.block, most);
    if (dimensions > 1 && options.block % 32 != 0)
        usage_error({"launch", where},
                    "a block of {} threads: with two and three dimensions it is a multiple of 32",
                    options.block);
    if (options.cluster_x != 0 && (options.cluster_y == 0 || options.cluster_z == 0))
        usage_error({"launch", where}, "a cluster has at least one block in every dimension");
}

cudaError_t launch_in_a_way(StreamState& stream, const void* function, dim3 grid, dim3 block,
                            void** arguments, std::size_t shared_bytes,
                            const LaunchOptions& options, const SourceLocation& where) {
    cu::check_options(stream, function, grid, block, shared_bytes, options, where);
    cudaLaunchAttribute attributes[6];
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = cu::native_of(stream);
    config.attrs = attributes;
    config.numAttrs = cu::attributes_of(stream, options, attributes);
    if (options.dependence == Dependence::on_stream && cu::is_hopper(stream)) {
        attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
    }
    return cu::api.cudaLaunchKernelExC(&config, function, arguments);
}

void check_grid(StreamState& stream, const LaunchGrid& grid, const void* kernel) {
    if (!stream.device.is_cuda()) [[unlikely]]
        cu::throw_global_on_cpu({"launch", grid.where, stream});
    check_limits(stream, grid);
    if (grid.shared_bytes > static_cast<std::size_t>(cu::gpu_of(stream).limits.max_shared))
        [[unlikely]]
        cu::raise_shared(stream, grid.shared_bytes, kernel, grid.where);
}

void check_limits(StreamState& stream, const LaunchGrid& grid) {
    const cu::Limits& l = cu::gpu_of(stream).limits;
    // Excludes 0 too.
    const auto in = [](unsigned value, int most) {
        return value - 1u < static_cast<unsigned>(most);
    };
    const auto &b = grid.block, &g = grid.grid;
    const bool fits =
        in(b.x, l.max_block[0]) && in(b.y, l.max_block[1]) && in(b.z, l.max_block[2]) &&
        in(g.x, l.max_grid[0]) && in(g.y, l.max_grid[1]) && in(g.z, l.max_grid[2]) &&
        std::size_t{b.x} * b.y * b.z <= static_cast<std::size_t>(l.max_threads_per_block) &&
        grid.shared_bytes <= static_cast<std::size_t>(l.max_shared_opt_in);
    if (!fits) [[unlikely]]
        cu::throw_exceeded(stream, grid, l);
}

const char* global_name(const void* kernel) noexcept {
    const char* name = nullptr;
    if (cu::api.cudaFuncGetName(&name, kernel) == cudaSuccess && name != nullptr) return name;
    cudaGetLastError();
    return "?";
}

void throw_launch_failed(StreamState& stream, const char* pretty, int native, Where where) {
    const auto code = static_cast<cudaError_t>(native);
    cudaGetLastError();  // clears the error, which is thrown below
    cu::refuse_forked("launch", where);
    if (cu::is_sticky(code))
        cu::fail(code, "cudaLaunchKernel", stream.device.index(), &record_of(stream), where);
    const bool misuse =
        code == cudaErrorInvalidConfiguration || code == cudaErrorInvalidValue ||
        code == cudaErrorLaunchOutOfResources || code == cudaErrorCooperativeLaunchTooLarge ||
        (code >= cudaErrorStreamCaptureUnsupported && code <= cudaErrorStreamCaptureWrongThread);
    const bool no_code =
        code == cudaErrorInvalidDeviceFunction || code == cudaErrorNoKernelImageForDevice;
    const char* const hint =
        code == cudaErrorLaunchOutOfResources ? " (fewer threads in a block need fewer registers)"
        : no_code ? " (the program holds no code for this device: see CMAKE_CUDA_ARCHITECTURES)"
                  : "";
    coded_error(no_code  ? ErrorCode::unsupported
                : misuse ? ErrorCode::usage
                         : ErrorCode::native,
                cu::with_native({"cudaLaunchKernel", where, stream}, code),
                "kernel {} was not launched: {}{}", cu::readable(pretty), cudaGetErrorString(code),
                hint);
}

}  // namespace heddle::detail
