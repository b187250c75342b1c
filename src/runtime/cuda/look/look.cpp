// Returns the known progress of streams without querying the driver, for the watch (docs/adr/0051).
#include <algorithm>
#include <vector>

#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/look/probe.hpp"

namespace heddle::detail::cu {

namespace {

StreamCounts counts_of(const StreamRecord& stream) noexcept {
    StreamCounts counts;
    counts.done = stream.seen_complete.load(std::memory_order_relaxed);
    counts.pushed = std::max(counts.done, stream.submissions.load(std::memory_order_acquire));
    return counts;
}

/// Returns whether the only pending operation is neither a wait nor a graph launch, which may
/// advance while they are pending.
bool is_one_operation(const StreamRecord& stream, const StreamCounts& counts) {
    const FlightRing* const ring = stream.flight.load(std::memory_order_acquire);
    if (ring == nullptr) return false;
    const std::vector<FlightEntry> all = ring->read(stream.noted_before.load());
    const auto found = std::ranges::find_if(all, [&](const FlightEntry& one) {
        return one.mode == OpMode::run && one.kind != OpKind::record &&
               one.submissions == counts.pushed;
    });
    return found != all.end() && found->kind <= OpKind::fill && found->kind != OpKind::graph_launch;
}

}  // namespace

// If several operations are pending, it is unknown which one runs, so the stream may be advancing.
bool CudaBackend::count_steps(StreamRecord& stream, StreamCounts& to) noexcept try {
    to = counts_of(stream);
    if (to.pushed == to.done) return true;
    return to.pushed - to.done == 1 && !stream.has(stream_flag::unseen) &&
           is_one_operation(stream, to);
} catch (...) {
    return false;
}

Looked CudaBackend::look(StreamRecord& stream, StreamLook& to) {
    // The stream may have work that heddle did not enqueue, and the driver is not queried here.
    if (stream.has(stream_flag::unseen)) return Looked::refused;
    to.counts = counts_of(stream);
    to.pending = to.counts.pushed - to.counts.done;
    to.next = to.counts.done + 1;
    to.at = to.pending == 0 ? StreamAt::idle : StreamAt::between;
    // Pending work may complete events that others wait for.
    to.is_whole = to.pending == 0;
    return Looked::seen;
}

std::chrono::nanoseconds CudaBackend::ask_progress(std::chrono::nanoseconds patience) noexcept try {
    if (is_forked() || in_callback) return std::chrono::nanoseconds(0);
    return ask_driver(patience);
} catch (...) {
    return std::chrono::nanoseconds(0);
}

}  // namespace heddle::detail::cu
