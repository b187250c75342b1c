// Reports bad indices of `__global__` functions. These have no site, but one report for each file.
#include <new>

#include "core/failure/told.hpp"
#include "core/seam/code_backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/host_sync/bounds_state.hpp"

namespace heddle::detail::cu {

namespace {
/// Returns whether modules are loaded when the device is first used.
bool is_loaded_early() noexcept {
    CUmoduleLoadingMode mode = CU_MODULE_LAZY_LOADING;
    return api.cuModuleGetLoadingMode != nullptr &&
           api.cuModuleGetLoadingMode(&mode) == CUDA_SUCCESS && mode == CU_MODULE_EAGER_LOADING;
}
}  // namespace

void read_file_reports(Gpu& g, StreamRecord* synchronized, const SourceLocation& where) {
    BoundsState* const state = bounds_state_if_made();
    if (state == nullptr) [[likely]]
        return;
    BoundsState& all = *state;
    // Finding a report may load the report's module, and loading waits for the device.
    const bool may_load = synchronized == nullptr || is_loaded_early() ||
                          code_backend().is_idle(Access::device(DeviceKind::cuda, g.index));
    const WaitedFor waited{synchronized,
                           synchronized != nullptr ? Access::stream(*synchronized).name()
                                                   : std::string(),
                           where, may_load};
    try {
        all.reserve_units(g);
    } catch (const std::bad_alloc&) {
        return;  // the next call reads the reports
    }
    const std::lock_guard files_lock(all.files_mutex);
    if (all.files.empty()) return;
    bool is_used = false;
    {
        const std::lock_guard lock(all.mutex);
        is_used = (all.used >> g.index & 1) != 0;
    }
    // Skipped if no kernel with checks can have run on the stream.
    if (synchronized == nullptr || is_used || synchronized->has(stream_flag::unseen))
        all.read_files(g, waited);
}

void BoundsState::read_files(Gpu& g, const WaitedFor& waited) {
    const RelaxedCapture relaxed;
    const InContext in(g);
    const auto device = static_cast<std::size_t>(g.index);
    if (readers[device] == nullptr &&
        api.cudaStreamCreateWithPriority(&readers[device], cudaStreamNonBlocking,
                                         g.priorities.greatest) != cudaSuccess)
        return (void)cudaGetLastError();
    const cudaStream_t reader = readers[device];
    const auto address_of = [&](const FileReport& file) {
        return reinterpret_cast<CUdeviceptr>(file.address[device]);
    };
    for (FileReport& file : files) {
        void*& address = file.address[device];
        file.is_copied = false;
        if (address == nullptr && !waited.may_load) continue;
        if (file.copy == nullptr) {
            const std::lock_guard lock(mutex);
            file.copy = &take_unit();
        }
        file.is_copied = (address != nullptr ||
                          api.cudaGetSymbolAddress(&address, file.symbol) == cudaSuccess) &&
                         api.cuMemcpyDtoHAsync(file.copy, address_of(file), sizeof(BoundsReport),
                                               reader) == CUDA_SUCCESS;
    }
    cudaGetLastError();  // clears the error for a file that has no code for this device
    if (api.cuStreamSynchronize(reader) != CUDA_SUCCESS) return;
    for (const FileReport& file : files) {
        if (!file.is_copied) continue;
        const BoundsReport& report = file.copy->report;
        if (report.is_written == 0) continue;
        // Clears only the words that kernels compare, because running kernels may be using the
        // report.
        (void)api.cuMemsetD8Async(address_of(file), 0, 2 * sizeof(unsigned), reader);
        (void)api.cuStreamSynchronize(reader);
        const std::lock_guard lock(mutex);
        fail_unknown(g, report.bad, waited);
    }
    const std::lock_guard lock(mutex);
    forget_launches(g, waited.stream == nullptr);
}

GlobalLaunch BoundsState::find_launch(const Gpu& g, const void* data, const StreamRecord* only) {
    GlobalLaunch best;
    const auto is_newer = [&](const CheckedKernel& one) {
        return one.site == nullptr && one.order > best.order && one.has_memory(data);
    };
    for (const auto& [stream, of] : streams) {
        if (stream->device.index() != g.index || of.id != stream->id.load() ||
            (only != nullptr ? stream != only : stream->has(stream_flag::dead)))
            continue;
        for (const auto& [key, one] : of.kernels)
            if (is_newer(one)) best = {one.order, stream, &of, &one, nullptr, nullptr};
    }
    for (GraphBounds* const graph : graphs)
        for (const auto& node : graph->kernels_)
            if (is_newer(node->checked) && (only == nullptr || graph->is_launched_on(*only)))
                best = {node->checked.order, nullptr, nullptr, nullptr, graph, node.get()};
    return best;
}

void BoundsState::fail_unknown(const Gpu& g, const BadIndex& bad, const WaitedFor& waited) {
    GlobalLaunch launch;
    if (waited.stream != nullptr) launch = find_launch(g, bad.data, waited.stream);
    // On `unseen` streams, the kernel may have been launched outside heddle. So other streams are
    // not searched.
    if (launch.order == 0 && (waited.stream == nullptr || !waited.stream->has(stream_flag::unseen)))
        launch = find_launch(g, bad.data, nullptr);
    if (launch.graph != nullptr) return launch.graph->fail(launch.node, bad);
    const Device device = Access::device(DeviceKind::cuda, g.index);
    if (launch.kernel != nullptr)
        return launch.stream->poison(
            failure_of(launch.kernel, bad, device, launch.of->id, launch.of->name, waited.where),
            launch.kernel->since);
    const std::uint64_t id = waited.stream != nullptr ? waited.stream->id.load() : 0;
    const Failure failure = failure_of(nullptr, bad, device, id, waited.name, waited.where);
    if (waited.stream == nullptr) throw_failure(failure);
    waited.stream->poison(failure, waited.stream->submissions.load(std::memory_order_acquire));
}

void BoundsState::forget_launches(const Gpu& g, bool of_all) noexcept {
    for (auto& [stream, of] : streams) {
        if (stream->device.index() != g.index) continue;
        const std::uint64_t seen = stream->seen_complete.load(std::memory_order_acquire);
        for (auto& [key, one] : of.kernels)
            if (of_all || one.last <= seen) one.order = 0;
    }
    for (GraphBounds* const graph : graphs) graph->forget_done_launches();
}

}  // namespace heddle::detail::cu
