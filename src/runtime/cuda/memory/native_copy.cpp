#include "cuda/memory/native_copy.hpp"

#include "core/base/errors.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/native_event.hpp"
#include "cuda/host_sync/host_function.hpp"
#include "cuda/memory/access.hpp"
#include "cuda/memory/copy_parts.hpp"
#include "cuda/memory/parallel_memcpy.hpp"

namespace heddle::detail::cu {

namespace {

cudaMemcpyKind kind_of(const Operand& to, const Operand& from) noexcept {
    const bool to_device = to.space.device.is_cuda(), from_device = from.space.device.is_cuda();
    if (to_device) return from_device ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice;
    return from_device ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
}

CUresult copy_row(cudaMemcpyKind kind, void* to, const void* from, std::size_t bytes,
                  cudaStream_t stream) noexcept {
    const auto to_device = reinterpret_cast<CUdeviceptr>(to),
               from_device = reinterpret_cast<CUdeviceptr>(from);
    if (kind == cudaMemcpyHostToDevice)
        return api.cuMemcpyHtoDAsync(to_device, from, bytes, stream);
    if (kind == cudaMemcpyDeviceToHost)
        return api.cuMemcpyDtoHAsync(to, from_device, bytes, stream);
    return api.cuMemcpyDtoDAsync(to_device, from_device, bytes, stream);
}

/// Copies rows between two GPUs, with the 2D copy function that takes both devices.
cudaError_t copy_rows_between(const Operand& to, const Operand& from,
                              cudaStream_t stream) noexcept {
    cudaMemcpy3DPeerParms p{};
    p.dstDevice = to.space.device.index();
    p.srcDevice = from.space.device.index();
    p.dstPtr = {writable(to), to.pitch, to.bytes, to.rows};
    p.srcPtr = {writable(from), from.pitch, from.bytes, from.rows};
    p.extent = {to.bytes, to.rows, 1};
    return api.cudaMemcpy3DPeerAsync(&p, stream);
}

/// Copies between two GPUs, even if the stream's GPU cannot access their memory.
void copy_between(Gpu& g, StreamRecord& stream, const Operand& to, const Operand& from,
                  const SourceLocation& where) {
    InContext in(g);
    cudaStream_t native = native_of(stream);
    // This capture was begun outside heddle, because heddle's own captures do not call this
    // function.
    if (capture_of(stream) != 0) {
        if (!open_pools(to.space.device, from.space.device, where))
            usage_error({"copy", where, stream},
                        "the stream is capturing, and {} and {} cannot access each other: copy "
                        "through pinned(), in two steps",
                        from.space.device, to.space.device);
        return check(api.cudaMemcpy2DAsync(writable(to), to.pitch, from.data, from.pitch, to.bytes,
                                           to.rows, cudaMemcpyDefault, native),
                     "cudaMemcpy2DAsync", stream, where);
    }
    if (to.rows != 1)
        return check(copy_rows_between(to, from, native), "cudaMemcpy3DPeerAsync", stream, where);
    check(api.cudaMemcpyPeerAsync(writable(to), to.space.device.index(), from.data,
                                  from.space.device.index(), to.bytes, native),
          "cudaMemcpyPeerAsync", stream, where);
}

/// Returns the GPU whose context a copy needs. It depends on the memory, not on the stream: CUDA
/// refuses pool memory while another device's context is current (see OnStream).
Gpu& gpu_of_memory(const Operand& to, const Operand& from, Gpu& of_stream) noexcept {
    for (const Operand* operand : {&to, &from})
        if (operand->space.device.is_cuda() && operand->space.kind == MemoryKind::device)
            if (Gpu* const found = gpu_if_used(operand->space.device.index()); found != nullptr)
                return *found;
    return of_stream;
}

}  // namespace

void copy_in_host_function(Gpu& g, StreamRecord& stream, const Operand& to, const Operand& from,
                           const SourceLocation& where) {
    run_on_host(
        g, stream, [to = MemoryRange(to), from = MemoryRange(from)] { copy_on_host(to, from); },
        where);
}

void copy_natively(Gpu& g, StreamRecord& stream, const Operand& to, const Operand& from,
                   const SourceLocation& where) {
    const cudaMemcpyKind kind = kind_of(to, from);
    // CUDA's own host-to-host copies block the calling thread (CUDA runtime API, "API
    // synchronization behavior").
    if (kind == cudaMemcpyHostToHost && capture_of(stream) == 0)
        return copy_in_host_function(g, stream, to, from, where);
    cudaStream_t native = native_of(stream);
    if (kind == cudaMemcpyDeviceToDevice && to.space.device != from.space.device)
        return copy_between(g, stream, to, from, where);
    InContext in(gpu_of_memory(to, from, g));
    if (to.rows != 1)
        return check(api.cudaMemcpy2DAsync(writable(to), to.pitch, from.data, from.pitch, to.bytes,
                                           to.rows, kind, native),
                     "cudaMemcpy2DAsync", stream, where);
    if (kind == cudaMemcpyHostToHost)
        return check(api.cudaMemcpyAsync(writable(to), from.data, to.bytes, kind, native),
                     "cudaMemcpyAsync", stream, where);
    check(copy_row(kind, writable(to), from.data, to.bytes, native), "cuMemcpyAsync", stream,
          where);
}

}  // namespace heddle::detail::cu
