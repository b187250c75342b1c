// GPU memory and events that other processes open (CUDA IPC). Pool memory cannot be shared through
// a handle of bytes, so this memory comes from cudaMalloc.
//
// cudaFree and cudaIpcCloseMemHandle wait for all work of the device, and block the driver calls of
// other threads meanwhile. If the device waits for one of those threads, that is a deadlock. So
// only trim_pool() calls them, and an allocation that finds no memory left.
#include <algorithm>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include <heddle/memory/interprocess.hpp>

#include "core/base/background.hpp"
#include "core/base/report.hpp"
#include "cuda/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/deferred.hpp"
#include "cuda/host_sync/stream_point.hpp"

namespace heddle::detail::cu {

namespace {

[[noreturn]] void refuse(const char* call, cudaError_t code, std::string message, int device,
                         const SourceLocation& where) {
    cudaGetLastError();
    throw_error({.code = ErrorCode::unsupported,
                 .message = std::move(message),
                 .call = call,
                 .native_code = static_cast<int>(code),
                 .native_name = cudaGetErrorName(code),
                 .device = Access::device(DeviceKind::cuda, device),
                 .where = where});
}

/// Returns whether opening failed because the memory or event does not exist any more.
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

/// Memory whose users are done: reused for later shareable arrays, or released.
struct Unused {
    std::mutex mutex;
    std::list<SharedMemory> of[max_devices];
};
Unused& unused() {
    static auto* const instance = new Unused;
    return *instance;
}

void keep(std::list<SharedMemory>& one) noexcept {
    const std::lock_guard lock(unused().mutex);
    std::list<SharedMemory>& all = unused().of[one.front().device];
    all.splice(all.end(), one);
}

/// Rounds up to whole blocks of 2 MiB, which CUDA shares as a whole (programming guide,
/// interprocess communication). Each array has blocks of its own.
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
    {
        const std::lock_guard lock(unused().mutex);
        all.swap(unused().of[device]);
    }
    for (const SharedMemory& memory : all) give_back(memory);
    return !all.empty();
}

void* CudaBackend::allocate_shared(int device, std::size_t bytes, const SourceLocation& where) {
    refuse_forked("shareable", where);
    Gpu& g = gpu(device, where);
    const std::size_t whole = whole_blocks(bytes);
    if (void* const kept = take_unused(device, whole)) return kept;
    RelaxedCapture relaxed;
    InContext in(g);
    void* data = nullptr;
    cudaError_t code = api.cudaMalloc(&data, whole);
    if (code == cudaErrorMemoryAllocation && give_unused_shared_memory_back(device)) {
        cudaGetLastError();
        code = api.cudaMalloc(&data, whole);
    }
    if (code == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        throw_coded(ErrorCode::out_of_memory,
                    "no " + std::to_string(bytes) + " bytes on cuda:" + std::to_string(device) +
                        " outside of heddle's pool (trim_pool() gives back what that keeps)",
                    "cudaMalloc", device, where, code);
    }
    check(code, "cudaMalloc", device, where);
    return data;
}

void CudaBackend::export_shared(const void* base, ArrayHandle& handle,
                                const SourceLocation& where) {
    Gpu& g = gpu(handle.device_index, where);
    InContext in(g);
    cudaIpcMemHandle_t native{};
    static_assert(sizeof native.reserved == sizeof handle.memory);
    const cudaError_t code = api.cudaIpcGetMemHandle(&native, const_cast<void*>(base));
    if (code == cudaErrorNotSupported)
        refuse("cudaIpcGetMemHandle", code, "this system cannot share GPU memory between processes",
               handle.device_index, where);
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
        refuse("cudaIpcOpenMemHandle", code,
               "process " + std::to_string(handle.process) +
                   " has ended or has given the array up, or runs where its memory cannot be "
                   "opened (another "
                   "container?)",
               device, where);
    check(code, "cudaIpcOpenMemHandle", device, where);
    return data;
}

void CudaBackend::free_shared(const SharedMemory& memory, const StreamUse* users,
                              std::size_t user_count) noexcept {
    Gpu* g = gpu_if_used(memory.device);
    if (is_forked() || g == nullptr || g->lost.load(std::memory_order_acquire)) return;
    try {
        // As with pool memory: no CUDA call in callbacks, and no events in captures.
        if (in_callback || any_capturing(users, user_count))
            return defer(*g,
                         [this, memory, list = std::vector<StreamUse>(users, users + user_count)] {
                             free_shared(memory, list.data(), list.size());
                         });
        RelaxedCapture relaxed;
        auto fences = std::make_shared<Fences>();
        for (std::size_t i = 0; i < user_count; ++i) {
            try {
                add_fence(*fences, users[i]);
            } catch (...) {
                report(std::current_exception());
                const CompletionRef done = make_completion();
                Fence& fence = fences->emplace_back();
                fence.done = done;
                users[i].stream->backend->fence(users[i], done);
            }
        }
        // Allocated now, because nothing may fail later.
        const auto one = std::make_shared<std::list<SharedMemory>>(1, memory);
        poll_in_background([one, fences] {
            RelaxedCapture here;
            if (!passed(*fences)) return false;
            keep(*one);
            return true;
        });
        static std::once_flag once;
        std::call_once(once, end_background_at_exit);
    } catch (...) {
        report(std::current_exception());  // the memory stays allocated: it may be in use
    }
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
        refuse(
            "cudaIpcOpenEventHandle", code,
            "process " + std::to_string(handle.process) +
                " has ended or has destroyed the event, or runs where it cannot be opened (another "
                "container?)",
            g.index, where);
    check(code, "cudaIpcOpenEventHandle", g.index, where);
    event.backend = this;
    event.options.interprocess = true;
    event.native = native;
    event.owns_native = false;
    event.handed_out = true;  // the other process records it
    event.recorded = true;
}

}  // namespace heddle::detail::cu
