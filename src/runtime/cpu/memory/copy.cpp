// Copies on CPU devices.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "core/base/host_function_mark.hpp"
#include "core/stream/notify.hpp"
#include "cpu/device/backend.hpp"
#include "cpu/host_sync/help.hpp"
#include "cpu/launch/launch.hpp"
#include "cpu/memory/memory.hpp"
#include "cpu/queue/queue.hpp"
#include <heddle/stream/detail/thread_state.hpp>

namespace heddle::detail::cpu {

namespace {

/// Copies an operand in parts: `part` bytes, or a row. Index i copies the i-th part.
struct CopyOp {
    static constexpr std::size_t part = 256 << 10;
    Operand to;
    Operand from;

    static std::size_t parts(const Operand& operand) {
        return operand.rows > 1 ? operand.rows : (operand.bytes + part - 1) / part;
    }
    static const char* pretty() noexcept { return "copy"; }
    static void run(void* self, std::size_t begin, std::size_t end) {
        const auto& op = *static_cast<const CopyOp*>(self);
        auto* const to = writable(op.to);
        const auto* const from = static_cast<const std::byte*>(op.from.data);
        if (op.to.rows > 1) {
            for (std::size_t row = begin; row < end; ++row)
                std::memcpy(to + row * op.to.pitch, from + row * op.from.pitch, op.to.bytes);
        } else {
            const std::size_t first = begin * part;
            std::memcpy(to + first, from + first, std::min(end * part, op.to.bytes) - first);
        }
    }
    static const OpType type;
};
const OpType CopyOp::type = op_type<CopyOp>(&CopyOp::run, true, "copy", "copy");

/// Copies from a snapshot of pageable memory.
struct SnapshotOp {
    CopyOp copy;
    std::unique_ptr<std::byte[]> snapshot;
    static void run(void* self, std::size_t begin, std::size_t end) {
        CopyOp::run(&static_cast<SnapshotOp*>(self)->copy, begin, end);
    }
    static const OpType type;
};
const OpType SnapshotOp::type = op_type<SnapshotOp>(&SnapshotOp::run, false, "copy", "copy");

}  // namespace

SharedClosure copy_closure(const Operand& to, const Operand& from, const OpType*& type,
                           std::size_t& count) {
    type = &CopyOp::type;
    count = CopyOp::parts(to);
    return std::make_shared<CopyOp>(CopyOp{to, from});
}

namespace {

/// Enqueues a copy from a snapshot of the source, taken now.
void copy_snapshot(StreamRecord& stream, const Operand& to, const Operand& from,
                   const SourceLocation& where) {
    const std::size_t parts = CopyOp::parts(to);
    SnapshotOp later{{to, from}, std::make_unique_for_overwrite<std::byte[]>(from.total())};
    const Operand compact{{later.snapshot.get(), from.bytes, from.rows, from.bytes}, from.space};
    CopyOp now{compact, from};
    CopyOp::run(&now, 0, parts);
    later.copy.from = compact;
    push_work(stream, SnapshotOp::type, &later, parts, where);
}

/// The maximum total size of one copy's snapshots in flight. A copy exceeds it if it must not wait,
/// or if a row is longer.
constexpr std::size_t snapshot_bytes = 64 << 20;

/// Like copy_snapshot(), but in parts, of which at most two are in flight: waits for part i before
/// it reads part i + 2.
void copy_snapshots(StreamRecord& stream, const Operand& to, const Operand& from,
                    const SourceLocation& where) {
    const std::size_t all = to.rows == 1 ? to.bytes : to.rows;
    const std::size_t unit = to.rows == 1 ? 1 : to.bytes;
    const std::size_t step = std::max<std::size_t>(1, snapshot_bytes / 2 / unit);
    const StreamUse use{&stream, stream.id.load(std::memory_order_relaxed)};
    CompletionRef older, newer;
    for (std::size_t first = 0; first < all; first += step) {
        if (older) {
            const BlockedSpan blocked("copy", stream, BlockedSpan::For::earlier, WaitReason::copy,
                                      where);
            wait_for(*older);
        }
        const std::size_t count = std::min(step, all - first);
        copy_snapshot(stream, {to.part(first, count), to.space},
                      {from.part(first, count), from.space}, where);
        older = std::exchange(newer, pending_work(use));
    }
}

}  // namespace

void CpuBackend::copy(StreamRecord& stream, const Operand& to, const Operand& from,
                      const SourceLocation& where) {
    const bool fills_now = to.space.kind == MemoryKind::pageable;
    const bool reads_now = from.space.kind == MemoryKind::pageable;
    // Throws before the copy is enqueued, because an enqueued copy would still write to the
    // destination.
    if (fills_now) check_may_wait("copy (to pageable memory)", where);
    const bool may_wait = !thread_states.in_host_function;
    // Reads a pageable source now, even if work is pending on the stream, because the caller may
    // change it after this call. An idle stream runs the copy immediately, without a snapshot.
    if (reads_now && !(may_wait && queue_of(stream).is_idle())) {
        const bool in_parts = may_wait && from.total() > snapshot_bytes;
        (in_parts ? copy_snapshots : copy_snapshot)(stream, to, from, where);
        if (!fills_now) return;
    } else {
        CopyOp op{to, from};
        push_work(stream, CopyOp::type, &op, CopyOp::parts(to), where);
    }
    if (fills_now || reads_now) synchronize(stream, where);
}

}  // namespace heddle::detail::cpu
