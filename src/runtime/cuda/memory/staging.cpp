#include "cuda/memory/staging.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/host_function_mark.hpp"
#include "core/base/report.hpp"
#include "core/stream/notify.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/native_event.hpp"
#include "cuda/host_sync/host_function.hpp"
#include "cuda/memory/copy_parts.hpp"
#include "cuda/memory/native_copy.hpp"
#include "cuda/memory/parallel_memcpy.hpp"
#include "cuda/memory/pinned_cache.hpp"

namespace heddle::detail::cu {

namespace {

// An H200's link transfers 49 GB/s in pieces of 1 MB and 54 GB/s in pieces of 4 MB. Smaller pieces
// start sooner.
constexpr std::size_t piece_bytes = 2 * 1024 * 1024, large_piece_bytes = 4 * 1024 * 1024;
/// Copies of at least this size use large pieces.
constexpr std::size_t large_bytes = 32 * 1024 * 1024;
constexpr std::size_t pieces = 8;

std::size_t piece_of(std::size_t total) noexcept {
    return std::min(total, total < large_bytes ? piece_bytes : large_piece_bytes);
}

/// The pinned pieces of one copy, in a ring.
class Pieces {
public:
    struct Slot {
        void* data = nullptr;
        cudaEvent_t event = nullptr;  ///< recorded after the newest copy that uses the slot
        bool pending = false;
        bool unknown = false;  ///< whether a copy that `event` does not cover may use the slot
        PendingUses pending_uses{};  ///< empty, with capacity for one
        Part part{};
    };

    Pieces(Gpu& g, StreamRecord& stream, std::size_t total, const SourceLocation& where)
        : g_(g), stream_(stream), bytes_(piece_of(total)), where_(where) {}
    ~Pieces() {
        for (Slot& slot : slots_) {
            if (slot.data == nullptr) continue;
            PendingUses& pending_uses = slot.pending_uses;
            try {
                if (slot.unknown) {
                    const RelaxedCapture relaxed;
                    add_pending_use(pending_uses,
                                    {&stream_, stream_.id.load(std::memory_order_relaxed)});
                } else if (slot.pending) {
                    pending_uses.emplace_back(g_, std::exchange(slot.event, nullptr),
                                              stream_.id.load(std::memory_order_relaxed));
                }
            } catch (...) {
                // Leaks the piece, because the end of its copy is unknown. If the piece were
                // reused, two copies could use it at the same time.
                continue;
            }
            give_event(g_, slot.event);
            pinned_cache().give(slot.data, std::move(pending_uses));
        }
    }
    Pieces(const Pieces&) = delete;
    Pieces& operator=(const Pieces&) = delete;

    std::size_t bytes() const noexcept { return bytes_; }

    /// Returns the slot for the copy's n-th part. The slot may still be pending: see wait().
    Slot& slot(std::size_t n) {
        Slot& s = slots_[n % pieces];
        s.pending_uses.reserve(1);
        if (s.data == nullptr) s.data = pinned_cache().take(bytes_, where_).data;
        if (s.event == nullptr) s.event = take_event(g_, where_);
        return s;
    }

    /// Enqueues a native copy that uses the slot.
    void copy(Slot& s, const Operand& to, const Operand& from) {
        s.unknown = true;
        copy_natively(g_, stream_, to, from, where_);
        check(record_on(g_, s.event, native_of(stream_)), "cuEventRecord", stream_, where_);
        s.unknown = false;
        s.pending = true;
    }

    /// Blocks until the slot's copy is done.
    void wait(Slot& s) {
        if (!s.pending) return;
        RelaxedCapture relaxed;
        check(api.cuEventSynchronize(s.event), "cuEventSynchronize", stream_, where_);
        s.pending = false;
    }

private:
    Gpu& g_;
    StreamRecord& stream_;
    std::size_t bytes_;
    const SourceLocation& where_;
    std::array<Slot, pieces> slots_;
};

}  // namespace

void stage_to_device(Gpu& g, StreamRecord& stream, const Operand& to, const Operand& from,
                     const SourceLocation& where) {
    Pieces ring(g, stream, to.total(), where);
    const Stores stores = stores_for(to.total());
    std::size_t n = 0;
    cut(to, ring.bytes(), [&](const Part& part) {
        Pieces::Slot& slot = ring.slot(n++);
        if (slot.pending) {
            const BlockedSpan blocked("copy", stream, BlockedSpan::For::earlier, WaitReason::copy,
                                      where);
            ring.wait(slot);
        }
        copy_on_host(part.packed(slot.data), part.of(from), stores);
        ring.copy(slot, part.of(to), part.packed(slot.data));
    });
}

void stage_from_device(Gpu& g, StreamRecord& stream, const Operand& to, const Operand& from,
                       const SourceLocation& where) {
    check_may_wait("copy to pageable memory", where);
    Pieces ring(g, stream, to.total(), where);
    const Stores stores = stores_for(to.total());
    const auto unload = [&](Pieces::Slot& slot) {
        if (!slot.pending) return;
        ring.wait(slot);
        copy_on_host(slot.part.of(to), slot.part.packed(slot.data), stores);
    };
    std::size_t n = 0;
    cut(from, ring.bytes(), [&](const Part& part) {
        Pieces::Slot& slot = ring.slot(n++);
        unload(slot);  // the part that used this slot before, while later parts are in flight
        slot.part = part;
        ring.copy(slot, part.packed(slot.data), part.of(from));
    });
    for (std::size_t i = n > pieces ? n - pieces : 0; i < n; ++i) unload(ring.slot(i));
}

namespace {
/// A piece of pinned memory that a stream uses in order. The destructor returns the piece to the
/// cache, for reuse after all work enqueued so far.
class PieceInOrder {
public:
    PieceInOrder(StreamRecord& stream, std::size_t bytes, const SourceLocation& where)
        : stream_(stream), data_(pinned_cache().take(bytes, where).data) {}
    ~PieceInOrder() {
        try {
            const RelaxedCapture relaxed;
            PendingUses pending_uses;
            add_pending_use(pending_uses, {&stream_, stream_.id.load(std::memory_order_relaxed)});
            pinned_cache().give(data_, std::move(pending_uses));
        } catch (...) {
            // Leaks the piece: otherwise two copies could use it at the same time.
            report(std::current_exception());
        }
    }
    PieceInOrder(const PieceInOrder&) = delete;
    PieceInOrder& operator=(const PieceInOrder&) = delete;
    void* data() const noexcept { return data_; }

private:
    StreamRecord& stream_;
    void* data_;
};
}  // namespace

void stage_in_order(Gpu& g, StreamRecord& stream, const Operand& to, const Operand& from,
                    const SourceLocation& where) {
    const bool upload = to.space.device.is_cuda();
    const std::size_t bytes = std::min(to.total(), ordered_bytes);
    const Stores stores = stores_for(to.total());
    // One piece is enough, because its uses are in stream order.
    const PieceInOrder piece(stream, bytes, where);
    cut(to, bytes, [&](const Part& part) {
        const Operand packed = part.packed(piece.data());
        const MemoryRange staged = packed, host = part.of(upload ? from : to);
        if (upload) {
            run_on_host(g, stream, [=] { copy_on_host(staged, host, stores); }, where);
            copy_natively(g, stream, part.of(to), packed, where);
        } else {
            copy_natively(g, stream, packed, part.of(from), where);
            run_on_host(g, stream, [=] { copy_on_host(host, staged, stores); }, where);
        }
    });
}

}  // namespace heddle::detail::cu
