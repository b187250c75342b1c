// Launches of kernels: limits of grids and options, and the handling of launch failures.
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "core/base/errors.hpp"
#include "core/base/kernel_name.hpp"
#include "core/launch/launch.hpp"
#include "core/stream/submission.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/driver_log.hpp"
#include "cuda/host_sync/bounds.hpp"
#include "cuda/launch/kernel_form.hpp"
#include "cuda/launch/launch_options.hpp"
#include "cuda/launch/module_launch.hpp"
#include "cuda/launch/preload.hpp"
#include "cuda/timing/timing.hpp"
#include <heddle/cuda.hpp>

namespace heddle::detail {

namespace cu {

namespace {

/// The dynamic shared memory that a kernel may use on a device after opting in. Few kernels need
/// more than 48 KB, so entries are never removed, and the list is read without a lock.
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

/// Raises the kernel's limit. One thread at a time does so, because the limit must never shrink.
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

[[noreturn]] void throw_over_limit(StreamState& stream, const SourceLocation& where,
                                   std::string_view what, std::size_t is, std::size_t limit) {
    usage_error({"launch", where, stream}, "{} is {}, but {} allows {}{}", what, is, stream.device,
                is == 0 ? "1 to " : "at most ", limit);
}

/// Throws UsageError, which names the limit that the grid exceeds.
[[noreturn]] void throw_exceeded(StreamState& stream, const GridHead& grid, const Limits& limits,
                                 const SourceLocation& where) {
    const unsigned blocks[3] = {grid.grid.x, grid.grid.y, grid.grid.z};
    const unsigned threads[3] = {grid.block.x, grid.block.y, grid.block.z};
    for (int i = 0; i < 3; ++i) {
        const char* const of_block[] = {"the block's x", "the block's y", "the block's z"};
        const char* const of_grid[] = {"the grid's x", "the grid's y", "the grid's z"};
        if (threads[i] == 0 || threads[i] > static_cast<unsigned>(limits.max_block[i]))
            throw_over_limit(stream, where, of_block[i], threads[i],
                             static_cast<std::size_t>(limits.max_block[i]));
        if (blocks[i] == 0 || blocks[i] > static_cast<unsigned>(limits.max_grid[i]))
            throw_over_limit(stream, where, of_grid[i], blocks[i],
                             static_cast<std::size_t>(limits.max_grid[i]));
    }
    if (grid.shared_bytes > static_cast<std::size_t>(limits.max_shared_opt_in))
        throw_over_limit(stream, where, "dynamic shared memory (bytes)", grid.shared_bytes,
                         static_cast<std::size_t>(limits.max_shared_opt_in));
    throw_over_limit(stream, where, "the number of threads in a block",
                     std::size_t{threads[0]} * threads[1] * threads[2],
                     static_cast<std::size_t>(limits.max_threads_per_block));
}

void check_limits(StreamState& stream, const GridHead& grid, const Limits& l,
                  const SourceLocation& where) {
    // Also excludes 0.
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
        throw_exceeded(stream, grid, l, where);
}

}  // namespace

namespace {

bool is_hopper(StreamState& stream) { return gpu_of(stream).limits.is_hopper; }

void check_cluster(StreamState& stream, const LaunchOptions& options, dim3 grid,
                   const SourceLocation& where) {
    const unsigned x = options.cluster_x, y = options.cluster_y, z = options.cluster_z;
    if (!is_hopper(stream))
        unsupported_error({"launch", where, stream},
                          "{} does not support clusters: use a device of compute capability 9.0 or "
                          "higher",
                          stream.device);
    // The largest cluster size that every device with clusters allows. Source: CUDA programming
    // guide.
    constexpr unsigned most = 8;
    if (y == 0 || z == 0 || x * y * z > most)
        usage_error(
            {"launch", where, stream},
            "a cluster of {} x {} x {} blocks is not supported: use 1 to {} blocks in total", x, y,
            z, most);
    if (grid.x % x != 0 || grid.y % y != 0 || grid.z % z != 0)
        usage_error({"launch", where, stream},
                    "the grid of {} x {} x {} blocks is not a multiple, in each dimension, of the "
                    "cluster of {} x {} x {}: round the grid up",
                    grid.x, grid.y, grid.z, x, y, z);
}

/// Returns how many blocks of a launch with these parameters can be resident on the device at once.
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

std::size_t cluster_size(const LaunchOptions& options) noexcept {
    return std::size_t{options.cluster_x} * options.cluster_y * options.cluster_z;
}

void check_fits_at_once(StreamState& stream, std::size_t most, dim3 grid,
                        const SourceLocation& where) {
    const std::size_t blocks = std::size_t{grid.x} * grid.y * grid.z;
    if (blocks > most)
        usage_error({"launch", where, stream},
                    "a cooperative launch has {} blocks, but {} runs at most {} of this kernel at "
                    "the same time: launch fewer blocks",
                    blocks, stream.device, most);
}

void check_way(StreamState& stream, const LaunchOptions& options, dim3 grid,
               const SourceLocation& where) {
    if (options.memory_domain != 0 && options.memory_domain != 1)
        usage_error({"launch", where, stream}, "memory domain {} does not exist: use 0 or 1",
                    options.memory_domain);
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
                    "{} bytes of dynamic shared memory are requested, but {} allows at most {}: "
                    "request less",
                    shared_bytes, stream.device, limits.max_shared_opt_in);
    if (shared_bytes > static_cast<std::size_t>(limits.max_shared))
        raise_shared(stream, shared_bytes, function, where);
    check_way(stream, options, grid, where);
    if (options.cooperative)
        check_fits_at_once(
            stream, most_at_once(stream, function, grid, block, shared_bytes, options, where), grid,
            where);
}

namespace {

cudaError_t launch_with_options(StreamState& stream, const KernelForm& form,
                                const LaunchOptions& options, const SourceLocation& where) {
    check_options(stream, form.function, form.grid, form.block, form.shared_bytes, options, where);
    cudaLaunchAttribute attributes[6];
    cudaLaunchConfig_t config{};
    config.gridDim = form.grid;
    config.blockDim = form.block;
    config.dynamicSmemBytes = form.shared_bytes;
    config.stream = native_of(stream);
    config.attrs = attributes;
    config.numAttrs = attributes_of(stream, options, attributes);
    if (options.dependence == Dependence::on_stream && is_hopper(stream)) {
        attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
    }
    return api.cudaLaunchKernelExC(&config, form.function, form.arguments);
}

/// Throws the error of a failed launch. Marks the device lost if the error is sticky.
[[noreturn]] void throw_launch_failed(StreamRecord& stream, const char* name, cudaError_t code,
                                      const SourceLocation& where) {
    cudaGetLastError();  // clears the error, which is thrown below
    refuse_forked("launch", where);
    if (is_sticky(code)) fail(code, "cudaLaunchKernel", stream.device.index(), &stream, where);
    const bool misuse = code == cudaErrorInvalidConfiguration || code == cudaErrorInvalidValue ||
                        code == cudaErrorLaunchOutOfResources ||
                        code == cudaErrorCooperativeLaunchTooLarge || is_capture_error(code);
    const bool no_code =
        code == cudaErrorInvalidDeviceFunction || code == cudaErrorNoKernelImageForDevice;
    const char* const hint = code == cudaErrorLaunchOutOfResources
                                 ? ": use fewer threads in a block, which need fewer registers"
                             : no_code
                                 ? ": add this device's architecture to CMAKE_CUDA_ARCHITECTURES"
                                 : "";
    coded_error(no_code  ? ErrorCode::unsupported
                : misuse ? ErrorCode::usage
                         : ErrorCode::native,
                with_native({"cudaLaunchKernel", where, stream}, code),
                "kernel {} was not launched: {}{}", kernel_name(name), failure_text(code), hint);
}

}  // namespace

void CudaBackend::check_grid(StreamRecord& stream, const WorkType& type, const GridHead& head,
                             const PassedOptions& how, const SourceLocation& where) {
    const Limits& limits = gpu_of(stream).limits;
    check_limits(stream, head, limits, where);
    const bool is_module = type.kernel == KernelKind::in_module;
    if (head.shared_bytes > static_cast<std::size_t>(limits.max_shared)) [[unlikely]] {
        if (is_module) raise_shared_of_module(stream, head, where);
        else raise_shared(stream, head.shared_bytes, head.kernel, where);
    }
    if (is_module && how.is_set) [[unlikely]]
        check_module_options(stream, head, how.options, where);
}

namespace {

/// The kernel and grid of a launch without options, and the addresses of its parameters.
struct PlainForm {
    const void* function;
    dim3 grid, block;
    std::size_t shared_bytes;
    void** arguments;
};

/// Returns whether plain_form() can describe the launch.
bool is_plain(const LaunchCall& call) noexcept {
    if (call.how.is_set || call.type.has_bounds) return false;
    if (call.type.kernel == KernelKind::portable) return call.type.dimensions == 1;
    return call.type.kernel == KernelKind::global;
}

/// Makes the form that form_of() makes, and notes the launch of a portable kernel.
[[gnu::always_inline]] inline PlainForm plain_form(StreamRecord& stream, const LaunchCall& call) {
    void** const parts = call.addresses;
    call.type.addresses(call.closure, parts);
    if (call.type.kernel == KernelKind::global) {
        const auto& head = *static_cast<const GridHead*>(parts[0]);
        return {head.kernel, dim3_of(head.grid), dim3_of(head.block), head.shared_bytes, parts + 1};
    }
    const PortableCode code = call.type.code();
    if (!has_launched(code, stream.device)) [[unlikely]]
        note_launch(stream, call);
    const std::size_t indices = *static_cast<const std::size_t*>(parts[1]);
    const unsigned threads = threads_for(indices, stream.processors);
    const std::size_t blocks = blocks_for(indices, threads);
    if (blocks > most_blocks) [[unlikely]]
        throw_too_many_indices(call.where);
    return {code.function, dim3(static_cast<unsigned>(blocks)), dim3(threads), 0, parts};
}

/// Launches a kernel of any form. Separate from launch(), which is short, because the driver's code
/// has usually displaced it from the processor's caches.
[[gnu::noinline]] void launch_any(StreamRecord& stream, const LaunchCall& call) {
    if (call.type.code != nullptr) note_launch(stream, call);
    const BoundsSite* const site = call.type.has_bounds ? site_of_launch(stream, call) : nullptr;
    const KernelForm form = form_of(call.type, call.closure, call.addresses, stream.processors,
                                    call.how.options, site, call.where);
    Submission submission(stream, call.where);
    const cudaError_t code =
        form.is_loaded ? launch_of_module(stream, form, call.how)
        : call.how.is_set
            ? launch_with_options(stream, form, call.how.options, call.where)
            : api.cudaLaunchKernel(form.function, form.grid, form.block, form.arguments,
                                   form.shared_bytes, native_of(stream));
    if (code != cudaSuccess) [[unlikely]]
        throw_launch_failed(stream, name_of_kernel(call.type, call.addresses[0]), code, call.where);
    submission.count();
}

}  // namespace

void CudaBackend::launch(StreamRecord& stream, const LaunchCall& call) {
    if (!is_plain(call)) [[unlikely]]
        return launch_any(stream, call);
    const PlainForm form = plain_form(stream, call);
    Submission submission(stream, call.where);
    const cudaError_t code = api.cudaLaunchKernel(
        form.function, form.grid, form.block, form.arguments, form.shared_bytes, native_of(stream));
    if (code != cudaSuccess) [[unlikely]]
        throw_launch_failed(stream, name_of_kernel(call.type, call.addresses[0]), code, call.where);
    submission.count();
}

void CudaBackend::launch_timed(StreamRecord& stream, const LaunchCall& call, std::uint64_t id) {
    const TimedOp timed(stream, id);
    launch(stream, call);
}

}  // namespace cu

const char* global_name(const void* kernel) noexcept {
    const char* name = nullptr;
    if (cu::api.cudaFuncGetName(&name, kernel) == cudaSuccess && name != nullptr) return name;
    cudaGetLastError();
    return "?";
}

}  // namespace heddle::detail
