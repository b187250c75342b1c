// Kernel code: registers and loads the program's kernels, and handles first launches that load code
// while the device is busy.
#include <atomic>
#include <mutex>
#include <vector>

#include <heddle/code/preload.hpp>
#include <heddle/detail/launch_nvcc_registry.hpp>

#include "core/base/errors.hpp"
#include "core/base/kernel_name.hpp"
#include "core/base/made_once.hpp"
#include "core/base/report.hpp"
#include "core/launch/launch.hpp"
#include "core/launch/preload.hpp"
#include "core/seam/code_backend.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/native_event.hpp"
#include "cuda/launch/launch_options.hpp"
#include "cuda/launch/preload.hpp"

namespace heddle::detail {

namespace cu {

namespace {

struct Known {
    const void* function;
    const void* tag;
    std::atomic<std::uint64_t>* loaded;
};
struct Kernels {
    std::mutex mutex;
    std::vector<Known> all;
};
/// Kernels register during static initialisation, in any order.
constinit NeverDestroyed<Kernels> instance;
Kernels& kernels() noexcept { return instance.get(); }

/// Loads a kernel: querying a kernel's attributes loads it. Source: CUDA programming guide, lazy
/// loading.
void load(Gpu& g, const void* function, const SourceLocation& where) {
    cudaFuncAttributes attributes{};
    check(api.cudaFuncGetAttributes(&attributes, function), "cudaFuncGetAttributes", g.index,
          where);
}

/// Returns whether kernels are loaded at their first launch. Queries the driver once.
/// cuFuncIsLoaded cannot be used, because looking up the function already loads it (CUDA 13.0).
bool loads_late() {
    static const bool late = [] {
        CUmoduleLoadingMode mode = CU_MODULE_EAGER_LOADING;
        return api.cuModuleGetLoadingMode != nullptr &&
               api.cuModuleGetLoadingMode(&mode) == CUDA_SUCCESS && mode == CU_MODULE_LAZY_LOADING;
    }();
    return late;
}

/// Applies the policy to a launch that may load code.
void note_first_launch(StreamState& stream, const char* pretty, const SourceLocation& where) {
    if (!loads_late()) return;
    if (capture_of(record_of(stream)) == 0 && code_backend().is_idle(stream.device)) return;
    count_load_while_busy();
    const CodeLoadPolicy policy = code_load_policy();
    if (policy == CodeLoadPolicy::count) return;
    ErrorInfo info =
        error_info(ErrorCode::usage, {"launch", where, stream},
                   "the first launch of {} loads its code, which waits until the device is idle: "
                   "call preload() for the kernel while no work is pending",
                   kernel_name(pretty));
    if (policy == CodeLoadPolicy::refuse) throw_error(std::move(info));
    report(info);
}

}  // namespace

}  // namespace cu

bool register_kernel(const void* function, const void* tag, std::atomic<std::uint64_t>* loaded) {
    cu::Kernels& known = cu::kernels();
    const std::lock_guard lock(known.mutex);
    known.all.push_back({function, tag, loaded});
    return true;
}

void cu::note_launch(StreamState& stream, const LaunchCall& call) {
    const PortableCode code = call.type.code();
    if (has_launched(code, stream.device)) [[likely]]
        return;
    if (code.registered) note_first_launch(stream, call.type.op->pretty, call.where);
    code.loaded->fetch_or(std::uint64_t{1} << (stream.device.index() & 63),
                          std::memory_order_relaxed);
}
void cu::CudaBackend::preload(int device, const void* tag, const SourceLocation& where) {
    cu::Gpu& g = cu::gpu(device, where);
    std::vector<cu::Known> wanted;
    {
        const std::lock_guard lock(cu::kernels().mutex);
        for (const cu::Known& one : cu::kernels().all)
            if (tag == nullptr || one.tag == tag) wanted.push_back(one);
    }
    cu::RelaxedCapture relaxed;
    cu::InContext in(g);
    for (const cu::Known& one : wanted) {
        cu::load(g, one.function, where);
        one.loaded->fetch_or(std::uint64_t{1} << (device & 63), std::memory_order_relaxed);
    }
}

void preload_function(Device device, const void* function, const SourceLocation& where) {
    if (!device.is_cuda()) throw_global_on_cpu({"preload", where, device});
    cu::Gpu& g = cu::gpu(device.index(), where);
    cu::RelaxedCapture relaxed;
    cu::InContext in(g);
    cu::load(g, function, where);
}

}  // namespace heddle::detail
