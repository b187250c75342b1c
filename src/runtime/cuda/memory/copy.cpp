// Chooses the method of each copy on a CUDA stream. Copies in graphs are in cuda/graph.
#include <memory>

#include "core/base/errors.hpp"
#include "core/base/host_function_mark.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/native_event.hpp"
#include "cuda/host_sync/host_function.hpp"
#include "cuda/memory/copy_parts.hpp"
#include "cuda/memory/native_copy.hpp"
#include "cuda/memory/parallel_memcpy.hpp"
#include "cuda/memory/staging.hpp"
#include "cuda/timing/timing.hpp"

namespace heddle::detail::cu {

namespace {

/// The kinds of memory that copies distinguish.
enum class Side {
    device,    ///< memory of a GPU
    pinned,    ///< host memory that the GPU accesses itself
    pageable,  ///< the user's memory: the host accesses it before the call returns
    ordered,   ///< memory of a CPU device: accessed in stream order
};

Side side_of(const MemorySpace& space) noexcept {
    if (space.kind == MemoryKind::pinned) return Side::pinned;
    if (space.kind == MemoryKind::pageable) return Side::pageable;
    return space.device.is_cuda() ? Side::device : Side::ordered;
}

/// Copies from pageable memory to other host memory. Reads the source immediately, and writes the
/// destination in stream order.
void copy_from_snapshot(Gpu& g, StreamRecord& stream, const Operand& to, const Operand& from,
                        const SourceLocation& where) {
    auto snapshot = std::make_shared_for_overwrite<std::byte[]>(from.total());
    const MemoryRange packed{snapshot.get(), from.bytes, from.rows, from.bytes};
    copy_on_host(packed, from);
    run_on_host(
        g, stream, [to = MemoryRange(to), snapshot, packed] { copy_on_host(to, packed); }, where);
}

}  // namespace

void CudaBackend::copy(StreamRecord& stream, const Operand& to_operand, const Operand& from_operand,
                       const SourceLocation& where) {
    Operand to = to_operand, from = from_operand;
    flatten(to, from);
    if (to.bytes == 0 || to.rows == 0) return;
    Gpu& g = gpu_of(stream);
    const Side to_side = side_of(to.space), from_side = side_of(from.space);
    const auto direct = [](Side s) { return s == Side::device || s == Side::pinned; };
    const bool is_direct = direct(to_side) && direct(from_side);
    const TimedOp timed(stream, is_direct ? RunBy::device : RunBy::host_too);

    Submission submission(stream, where);
    if (is_direct) {
        copy_natively(g, stream, to, from, where);
        return submission.count();
    }
    if (capture_of(stream) != 0) throw_capture_of_host_memory(stream, "copy", where);
    submission.count_on_exit();
    if (from_side == Side::pageable && to_side == Side::device)
        return stage_to_device(g, stream, to, from, where);
    if (to_side == Side::pageable && from_side == Side::device)
        return stage_from_device(g, stream, to, from, where);
    if (to_side == Side::pageable) {
        // Both sides are on the host, and the destination must be filled when this call returns.
        check_may_wait("copy to pageable memory", where);
        if (from_side == Side::pageable && !is_complete(stream, where)) {
            copy_from_snapshot(g, stream, to, from, where);
            return synchronize(stream, where);
        }
        synchronize(stream, where);
        return copy_on_host(to, from);
    }
    if (from_side == Side::pageable) return copy_from_snapshot(g, stream, to, from, where);
    if (to_side == Side::device || from_side == Side::device)
        return stage_in_order(g, stream, to, from, where);
    copy_in_host_function(g, stream, to, from, where);
}

}  // namespace heddle::detail::cu
