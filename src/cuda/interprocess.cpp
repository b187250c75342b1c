// Memory and events of GPUs that other processes open (CUDA's IPC). Memory of pools cannot be shared by a handle of bytes, so this is
// cudaMalloc's. cudaFree and cudaIpcCloseMemHandle wait for the device: a thread of heddle's own calls them, once the users are done.
#include <cstring>
#include <memory>

#include <heddle/interprocess.hpp>

#include "core/background.hpp"
#include "core/registry.hpp"
#include "cuda/backend.hpp"
#include "cuda/fence.hpp"

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
                 .device = Device::unchecked(DeviceKind::cuda, device),
                 .where = where});
}

void give_back(const SharedMemory& memory) noexcept {
    Gpu* g = gpu_if_used(memory.device);
    if (is_forked() || g == nullptr || g->lost.load(std::memory_order_acquire)) return;
    RelaxedCapture relaxed;
    InContext in(*g);
    if (memory.is_imported)
        note_failure(cudaIpcCloseMemHandle(memory.base), "cudaIpcCloseMemHandle", memory.device);
    else note_failure(cudaFree(memory.base), "cudaFree", memory.device);
}

}  // namespace

void* CudaBackend::allocate_shared(int device, std::size_t bytes, const SourceLocation& where) {
    refuse_forked("shareable", where);
    Gpu& g = gpu(device, where);
    RelaxedCapture relaxed;
    InContext in(g);
    void* data = nullptr;
    const cudaError_t code = cudaMalloc(&data, bytes);
    if (code == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        throw_coded(ErrorCode::out_of_memory,
                    "no " + std::to_string(bytes) + " bytes on cuda:" + std::to_string(device) +
                        " outside of heddle's pool (trim_pool() gives back what that keeps)",
                    "cudaMalloc", device, where);
    }
    check(code, "cudaMalloc", device, where);
    return data;
}

void CudaBackend::export_shared(const void* base, ArrayHandle& handle, const SourceLocation& where) {
    Gpu& g = gpu(handle.device_index, where);
    InContext in(g);
    cudaIpcMemHandle_t native{};
    static_assert(sizeof native.reserved == sizeof handle.memory);
    const cudaError_t code = cudaIpcGetMemHandle(&native, const_cast<void*>(base));
    if (code == cudaErrorNotSupported)
        refuse("cudaIpcGetMemHandle", code, "this system cannot share GPU memory between processes",
               handle.device_index, where);
    check(code, "cudaIpcGetMemHandle", handle.device_index, where);
    std::memcpy(handle.memory.data(), native.reserved, sizeof native.reserved);
}

void* CudaBackend::import_shared(int device, const ArrayHandle& handle, const SourceLocation& where) {
    refuse_forked("import_array", where);
    Gpu& g = gpu(device, where);
    RelaxedCapture relaxed;
    InContext in(g);
    cudaIpcMemHandle_t native{};
    std::memcpy(native.reserved, handle.memory.data(), sizeof native.reserved);
    void* data = nullptr;
    const cudaError_t code = cudaIpcOpenMemHandle(&data, native, cudaIpcMemLazyEnablePeerAccess);
    if (code == cudaErrorMapBufferObjectFailed || code == cudaErrorInvalidResourceHandle ||
        code == cudaErrorInvalidValue)
        refuse("cudaIpcOpenMemHandle", code,
               "process " + std::to_string(handle.process) +
                   " has ended or has given the array up, or runs where its memory cannot be opened (another "
                   "container?)",
               device, where);
    check(code, "cudaIpcOpenMemHandle", device, where);
    return data;
}

void CudaBackend::free_shared(const SharedMemory& memory, StreamRecord* const* users,
                              std::size_t user_count) noexcept {
    Gpu* g = gpu_if_used(memory.device);
    if (is_forked() || g == nullptr || g->lost.load(std::memory_order_acquire)) return;
    try {
        // As with memory of pools: nothing of CUDA in callbacks, and no events in captures.
        if (in_callback || any_capturing(users, user_count))
            return defer(*g, [this, memory, list = std::vector<StreamRecord*>(users, users + user_count)] {
                free_shared(memory, list.data(), list.size());
            });
        RelaxedCapture relaxed;
        auto fences = std::make_shared<Fences>();
        for (std::size_t i = 0; i < user_count; ++i) add_fence(*fences, *users[i]);
        poll_in_background([memory, fences] {
            RelaxedCapture here;
            if (!passed(*fences)) return false;
            in_background([memory] { give_back(memory); });
            return true;
        });
        end_background_at_exit();
    } catch (...) {
        report(std::current_exception());  // the memory stays allocated: it may be in use
    }
}

EventHandle CudaBackend::export_event(EventState& event, const SourceLocation& where) {
    InContext in(gpu(event.device.index(), where));
    cudaIpcEventHandle_t native{};
    check(cudaIpcGetEventHandle(&native, native_of(event)), "cudaIpcGetEventHandle", event.device.index(),
          where);
    EventHandle handle;
    static_assert(sizeof native.reserved == sizeof handle.bytes);
    std::memcpy(handle.bytes.data(), native.reserved, sizeof native.reserved);
    return handle;
}

void CudaBackend::import_event(EventState& event, const EventHandle& handle, const SourceLocation& where) {
    Gpu& g = gpu(event.device.index(), where);
    InContext in(g);
    cudaIpcEventHandle_t bytes{};
    std::memcpy(bytes.reserved, handle.bytes.data(), sizeof bytes.reserved);
    cudaEvent_t native = nullptr;
    check(cudaIpcOpenEventHandle(&native, bytes), "cudaIpcOpenEventHandle", g.index, where);
    event.backend = this;
    event.options.interprocess = true;
    event.native = native;
    event.owns_native = false;
    event.handed_out = true;  // the other process records it
    event.recorded = true;
}

}  // namespace heddle::detail::cu
