// GPU memory and events that other processes can open (CUDA IPC). Pool memory cannot be shared
// through a plain handle, so shared memory is allocated by cudaMalloc.
//
// cudaFree and cudaIpcCloseMemHandle wait for all work of the device, and block other threads'
// driver calls until then. If the device waits for a blocked thread, the process deadlocks. So only
// trim_pool() and allocations that find no free memory call these two functions.
#include <algorithm>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include <heddle/memory/interprocess.hpp>

#include "core/base/background.hpp"
#include "core/base/made_once.hpp"
#include "core/base/report.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/deferred.hpp"
#include "cuda/host_sync/pending_use.hpp"
#include "cuda/host_sync/wait_gate.hpp"
#include "cuda/memory/shared_memory.hpp"

namespace heddle::detail::cu {

namespace {

/// Returns the site of a failed call, with the native error appended. Clears CUDA's error.
ErrorSite failed_site(const char* call, cudaError_t code, int device,
                      const SourceLocation& where) noexcept {
    cudaGetLastError();
    return with_native({call, where, gpu_device(device)}, code);
}
/// Throws Unsupported, because the owning process has released the memory or event, or has ended.
[[noreturn]] void throw_gone(const ErrorSite& site, int process, const char* given_up) {
    unsupported_error(site,
                      "process {} has ended, has {}, or is not accessible from this process (for "
                      "example, because it is in another container): keep the exporting process "
                      "running and the exported object alive, and run both processes in one "
                      "container",
                      process, given_up);
}

/// Returns whether opening failed because the memory or event no longer exists.
bool is_gone(cudaError_t code) {
    return code == cudaErrorMapBufferObjectFailed || code == cudaErrorInvalidResourceHandle ||
           code == cudaErrorInvalidValue || code == cudaErrorDeviceUninitialized;
}

void give_back(const SharedMemory& memory) noexcept {
    Gpu* g = gpu_if_used(memory.device);
    if (is_forked() || g == nullptr || g->lost.load(std::memory_order_acquire)) return;
    RelaxedCapture relaxed;
    InContext in(*g);
    if (memory.is_imported)
        note_failure(api.cudaIpcCloseMemHandle(memory.base), "cudaIpcCloseMemHandle",
                     memory.device);
    else note_failure(api.cudaFree(memory.base), "cudaFree", memory.device);
}

/// Memory whose users are done. It is reused for later shareable arrays, or released.
struct Unused {
    std::mutex mutex;
    std::list<SharedMemory> of[max_devices];
};
constinit MadeOnce<Unused> instance;
Unused& unused() { return instance.get(); }
[[maybe_unused]] const Unused& made_at_load = unused();

void keep(std::list<SharedMemory>& one) noexcept {
    const std::lock_guard lock(unused().mutex);
    std::list<SharedMemory>& all = unused().of[one.front().device];
    all.splice(all.end(), one);
}

/// Rounds up to blocks of 2 MiB, because CUDA shares only entire blocks with another process
/// (programming guide, interprocess communication). Two arrays never use one block.
std::size_t whole_blocks(std::size_t bytes) {
    constexpr std::size_t block = std::size_t{2} << 20;
    return (bytes + block - 1) / block * block;
}

/// Returns unused memory of exactly `whole` bytes, or null if there is none.
void* take_unused(int device, std::size_t whole) noexcept {
    const std::lock_guard lock(unused().mutex);
    std::list<SharedMemory>& all = unused().of[device];
    const auto found = std::ranges::find_if(all, [&](const SharedMemory& memory) {
        return !memory.is_imported && whole_blocks(memory.bytes) == whole;
    });
    if (found == all.end()) return nullptr;
    void* const base = found->base;
    all.erase(found);
    return base;
}

}  // namespace

bool give_unused_shared_memory_back(int device) noexcept {
    std::list<SharedMemory> all;
    if (!wait_gate.close()) return false;
    {
        const std::lock_guard lock(unused().mutex);
        all.swap(unused().of[device]);
    }
    for (const SharedMemory& memory : all) give_back(memory);
    wait_gate.open();
    return !all.empty();
}

Allocated CudaBackend::allocate_shared(int device, std::size_t bytes, const SourceLocation& where) {
    refuse_forked("shareable", where);
    Gpu& g = gpu(device, where);
    const std::size_t whole = whole_blocks(bytes);
    // The pending uses of this memory had already ended when keep() was called.
    if (void* const kept = take_unused(device, whole)) return {kept, true};
    RelaxedCapture relaxed;
    InContext in(g);
    void* data = nullptr;
    cudaError_t code = api.cudaMalloc(&data, whole);
    if (code == cudaErrorMemoryAllocation && give_unused_shared_memory_back(device)) {
        cudaGetLastError();
        code = api.cudaMalloc(&data, whole);
    }
    if (code == cudaErrorMemoryAllocation) {
        coded_error(ErrorCode::out_of_memory, failed_site("cudaMalloc", code, device, where),
                    "{} bytes on {} cannot be allocated outside heddle's pool: call trim_pool() to "
                    "release cached memory",
                    bytes, gpu_device(device));
    }
    check(code, "cudaMalloc", device, where);
    return {data};
}

void CudaBackend::export_shared(const void* base, ArrayHandle& handle,
                                const SourceLocation& where) {
    Gpu& g = gpu(handle.device_index, where);
    InContext in(g);
    cudaIpcMemHandle_t native{};
    static_assert(sizeof native.reserved == sizeof handle.memory);
    const cudaError_t code = api.cudaIpcGetMemHandle(&native, const_cast<void*>(base));
    if (code == cudaErrorNotSupported)
        unsupported_error(failed_site("cudaIpcGetMemHandle", code, handle.device_index, where),
                          "this system cannot share GPU memory between processes: share an array "
                          "made with shareable<T>() on a CPU device, and copy through it");
    check(code, "cudaIpcGetMemHandle", handle.device_index, where);
    std::memcpy(handle.memory.data(), native.reserved, sizeof native.reserved);
}

void* CudaBackend::import_shared(int device, const ArrayHandle& handle,
                                 const SourceLocation& where) {
    refuse_forked("import_array", where);
    Gpu& g = gpu(device, where);
    RelaxedCapture relaxed;
    InContext in(g);
    cudaIpcMemHandle_t native{};
    std::memcpy(native.reserved, handle.memory.data(), sizeof native.reserved);
    void* data = nullptr;
    const cudaError_t code =
        api.cudaIpcOpenMemHandle(&data, native, cudaIpcMemLazyEnablePeerAccess);
    if (is_gone(code))
        throw_gone(failed_site("cudaIpcOpenMemHandle", code, device, where), handle.process,
                   "released the array");
    check(code, "cudaIpcOpenMemHandle", device, where);
    return data;
}

namespace {
/// Returns a pending use for each user. If CUDA refuses to record an event, uses a notification
/// instead. Throws std::bad_alloc.
PendingUses pending_uses_of(const StreamUse* users, std::size_t user_count) {
    PendingUses pending_uses;
    for (std::size_t i = 0; i < user_count; ++i) {
        try {
            add_pending_use(pending_uses, users[i]);
        } catch (const std::bad_alloc&) {
            throw;
        } catch (...) {
            report(std::current_exception());
            const CompletionRef done = make_completion();
            PendingUse& pending_use = pending_uses.emplace_back();
            pending_use.done = done;
            users[i].stream->backend->signal_use(users[i], done);
        }
    }
    return pending_uses;
}
}  // namespace

bool CudaBackend::free_shared(const SharedMemory& memory, const StreamUse* users,
                              std::size_t user_count) noexcept try {
    Gpu* g = gpu_if_used(memory.device);
    if (is_forked() || g == nullptr || g->lost.load(std::memory_order_acquire)) return true;
    // As for pool memory, callbacks must not call CUDA, and captures must not record events.
    if (in_callback || any_capturing(users, user_count)) {
        defer(*g, [this, memory, list = std::vector<StreamUse>(users, users + user_count)] {
            if (!free_shared(memory, list.data(), list.size())) throw std::bad_alloc();
        });
        return true;
    }
    RelaxedCapture relaxed;
    auto pending_uses = std::make_shared<PendingUses>(pending_uses_of(users, user_count));
    // Allocated now, because nothing may fail later.
    const auto one = std::make_shared<std::list<SharedMemory>>(1, memory);
    poll_in_background([one, pending_uses] {
        RelaxedCapture here;
        if (!have_ended(*pending_uses)) return false;
        keep(*one);
        return true;
    });
    static std::once_flag once;
    std::call_once(once, end_background_at_exit);
    return true;
} catch (const std::bad_alloc&) {
    return false;
} catch (...) {
    report(std::current_exception());
    return true;  // the memory stays allocated, because it may be in use
}

EventHandle CudaBackend::export_event(EventState& event, const SourceLocation& where) {
    InContext in(gpu(event.device.index(), where));
    cudaIpcEventHandle_t native{};
    check(api.cudaIpcGetEventHandle(&native, native_of(event)), "cudaIpcGetEventHandle",
          event.device.index(), where);
    EventHandle handle;
    static_assert(sizeof native.reserved == sizeof handle.bytes);
    std::memcpy(handle.bytes.data(), native.reserved, sizeof native.reserved);
    return handle;
}

void CudaBackend::import_event(EventState& event, const EventHandle& handle,
                               const SourceLocation& where) {
    Gpu& g = gpu(event.device.index(), where);
    InContext in(g);
    cudaIpcEventHandle_t bytes{};
    std::memcpy(bytes.reserved, handle.bytes.data(), sizeof bytes.reserved);
    cudaEvent_t native = nullptr;
    const cudaError_t code = api.cudaIpcOpenEventHandle(&native, bytes);
    if (is_gone(code))
        throw_gone(failed_site("cudaIpcOpenEventHandle", code, g.index, where), handle.process,
                   "destroyed the event");
    check(code, "cudaIpcOpenEventHandle", g.index, where);
    event.backend = this;
    event.options.interprocess = true;
    event.native = native;
    event.owns_native = false;
    event.handed_out = true;  // the other process records it
    event.recorded = true;
}

}  // namespace heddle::detail::cu
