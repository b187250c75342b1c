#include "cuda/staging.hpp"

#include <algorithm>
#include <array>

#include "core/registry.hpp"
#include "cuda/backend.hpp"
#include "cuda/copy_crew.hpp"
#include "cuda/host_function.hpp"
#include "cuda/pinned_cache.hpp"

namespace heddle::detail::cu {

namespace {

// An H200's link carries 49 GB/s in pieces of 1 MB and 54 in pieces of 4; smaller ones start sooner.
constexpr std::size_t piece_bytes = 2 * 1024 * 1024, large_piece_bytes = 4 * 1024 * 1024;
constexpr std::size_t large_bytes = 32 * 1024 * 1024;  ///< copies from here on take large pieces
constexpr std::size_t cached_bytes = 4 * 1024 * 1024;  ///< copies up to here go through the caches
constexpr std::size_t pieces = 8;
constexpr std::size_t ordered_bytes = 16 * 1024 * 1024;  ///< a piece of stage_in_order

const Place pinned_place{Device::unchecked(DeviceKind::cpu, 0), MemoryKind::pinned};

/// A part of a copy: `rows` rows from `row` on, of each the `bytes` from `first` on. More than one row: whole
/// ones.
struct Part {
    std::size_t row, rows, first, bytes;

    std::size_t total() const noexcept { return rows * bytes; }
    Piece of(const Piece& whole) const noexcept {
        return {static_cast<char*>(whole.data) + row * whole.pitch + first, bytes, rows, whole.pitch,
                whole.place};
    }
    Rows rows_of(const Piece& whole) const noexcept {
        return {static_cast<std::byte*>(whole.data) + row * whole.pitch + first, whole.pitch};
    }
    Piece packed(void* data) const noexcept { return {data, bytes, rows, bytes, pinned_place}; }
    Rows packed_rows(void* data) const noexcept { return {static_cast<std::byte*>(data), bytes}; }
};

std::size_t size_of(const Piece& whole) noexcept { return whole.bytes * whole.rows; }
std::size_t piece_of(std::size_t total) noexcept {
    return std::min(total, total < large_bytes ? piece_bytes : large_piece_bytes);
}
Stores stores_for(std::size_t total) noexcept {
    return total > cached_bytes ? Stores::past_caches : Stores::cached;
}

/// Calls function(part) for parts of at most `most` bytes that make up the whole.
template <class F> void cut(const Piece& whole, std::size_t most, F&& function) {
    if (whole.bytes > most) {
        for (std::size_t row = 0; row < whole.rows; ++row)
            for (std::size_t first = 0; first < whole.bytes; first += most)
                function(Part{row, 1, first, std::min(most, whole.bytes - first)});
    } else {
        const std::size_t at_once = most / whole.bytes;
        for (std::size_t row = 0; row < whole.rows; row += at_once)
            function(Part{row, std::min(at_once, whole.rows - row), 0, whole.bytes});
    }
}

/// The pinned pieces of one copy, used in turn.
class Pieces {
public:
    struct Slot {
        void* data = nullptr;
        cudaEvent_t event = nullptr;  ///< behind the newest copy that uses it
        bool pending = false;
        bool unknown = false;  ///< a copy may use it, and no event tells
        Part part{};
    };

    Pieces(Gpu& g, StreamRecord& stream, std::size_t total, const SourceLocation& where)
        : g_(g), stream_(stream), bytes_(piece_of(total)), where_(where) {}
    ~Pieces() {
        for (Slot& slot : slots_) {
            if (slot.data == nullptr || slot.unknown) continue;  // lost rather than used twice at once
            Fences fences;
            try {
                if (slot.pending) {
                    fences.push_back({&g_, slot.event, true, {}});
                    slot.event = nullptr;
                }
            } catch (...) {
                continue;  // no memory to remember it by
            }
            give_event(g_, slot.event);
            pinned_cache().give(slot.data, std::move(fences));
        }
    }
    Pieces(const Pieces&) = delete;
    Pieces& operator=(const Pieces&) = delete;

    std::size_t bytes() const noexcept { return bytes_; }

    /// The slot for the copy's n-th part. It may still be pending: see wait().
    Slot& slot(std::size_t n) {
        Slot& s = slots_[n % pieces];
        if (s.data == nullptr) s.data = pinned_cache().take(bytes_, where_);
        if (s.event == nullptr) s.event = take_event(g_, where_);
        return s;
    }

    /// Does a native copy that uses the slot.
    void copy(Slot& s, const Piece& to, const Piece& from) {
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
        check(driver.event_synchronize(s.event), "cuEventSynchronize", stream_, where_);
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

void stage_to_device(Gpu& g, StreamRecord& stream, const Piece& to, const Piece& from,
                     const SourceLocation& where) {
    Pieces ring(g, stream, size_of(to), where);
    const Stores stores = stores_for(size_of(to));
    std::size_t n = 0;
    cut(to, ring.bytes(), [&](const Part& part) {
        Pieces::Slot& slot = ring.slot(n++);
        ring.wait(slot);
        copy_on_host(part.packed_rows(slot.data), part.rows_of(from), part.bytes, part.rows, stores);
        ring.copy(slot, part.of(to), part.packed(slot.data));
    });
}

void stage_from_device(Gpu& g, StreamRecord& stream, const Piece& to, const Piece& from,
                       const SourceLocation& where) {
    check_may_wait("copy to pageable memory", where);
    Pieces ring(g, stream, size_of(to), where);
    const Stores stores = stores_for(size_of(to));
    const auto unload = [&](Pieces::Slot& slot) {
        if (!slot.pending) return;
        ring.wait(slot);
        copy_on_host(slot.part.rows_of(to), slot.part.packed_rows(slot.data), slot.part.bytes, slot.part.rows,
                     stores);
    };
    std::size_t n = 0;
    cut(from, ring.bytes(), [&](const Part& part) {
        Pieces::Slot& slot = ring.slot(n++);
        unload(slot);  // its part of one round ago, while the later ones are on their way
        slot.part = part;
        ring.copy(slot, part.packed(slot.data), part.of(from));
    });
    for (std::size_t i = n > pieces ? n - pieces : 0; i < n; ++i) unload(ring.slot(i));
}

void stage_in_order(Gpu& g, StreamRecord& stream, const Piece& to, const Piece& from,
                    const SourceLocation& where) {
    const bool upload = to.place.device.is_cuda();
    const std::size_t bytes = std::min(size_of(to), ordered_bytes);
    const Stores stores = stores_for(size_of(to));
    // One piece is enough: all that uses it is in the stream's order.
    void* piece = pinned_cache().take(bytes, where);
    cut(to, bytes, [&](const Part& part) {  // an error here loses the piece: the stream may be using it
        const Rows packed = part.packed_rows(piece);
        if (upload) {
            run_on_host(
                g, stream,
                [part, packed, host = part.rows_of(from), stores] {
                    copy_on_host(packed, host, part.bytes, part.rows, stores);
                },
                where);
            copy_natively(g, stream, part.of(to), part.packed(piece), where);
        } else {
            copy_natively(g, stream, part.packed(piece), part.of(from), where);
            run_on_host(
                g, stream,
                [part, packed, host = part.rows_of(to), stores] {
                    copy_on_host(host, packed, part.bytes, part.rows, stores);
                },
                where);
        }
    });
    Fences fences;
    RelaxedCapture relaxed;
    add_fence(fences, {&stream, stream.id.load(std::memory_order_relaxed)});
    pinned_cache().give(piece, std::move(fences));
}

}  // namespace heddle::detail::cu
