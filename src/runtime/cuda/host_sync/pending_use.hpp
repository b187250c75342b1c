// Pending uses of memory, in CUDA and CPU streams. Memory may be reused once all of them have
// ended.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/seam/completion.hpp"
#include "core/seam/records.hpp"
#include "cuda/device/gpu.hpp"
#include "cuda/device/native_event.hpp"

namespace heddle::detail::cu {

/// A point in a stream.
struct PendingUse {
    Gpu* gpu = nullptr;
    cudaEvent_t event = nullptr;
    bool own = false;  ///< whether this object returns `event` to the pool
    /// The stream's id, or 0 if `done` is set. Pending uses of one stream end in the order of
    /// their addition.
    std::uint64_t stream_id = 0;
    CompletionRef done;  ///< used instead of `event` for CPU streams

    PendingUse() = default;
    PendingUse(Gpu& g, cudaEvent_t of_pool, std::uint64_t id) noexcept
        : gpu(&g), event(of_pool), own(true), stream_id(id) {}
    PendingUse(PendingUse&& other) noexcept
        : gpu(other.gpu), event(std::exchange(other.event, nullptr)), own(other.own),
          stream_id(other.stream_id), done(std::move(other.done)) {}
    PendingUse& operator=(PendingUse&& other) noexcept {
        std::swap(gpu, other.gpu);
        std::swap(event, other.event);
        std::swap(own, other.own);
        std::swap(stream_id, other.stream_id);
        std::swap(done, other.done);
        return *this;
    }
    ~PendingUse() {
        if (own && event != nullptr) give_event(*gpu, event);
    }
};

using PendingUses = std::vector<PendingUse>;

/// Returns whether one of the streams is in a native capture. Pending uses cannot be added then.
bool any_capturing(const StreamUse* users, std::size_t count) noexcept;

/// Adds a pending use for all work enqueued so far on the stream, unless that work is known to be
/// complete. Call with a RelaxedCapture in scope.
void add_pending_use(PendingUses& pending_uses, const StreamUse& use);

/// Makes a stream wait for all pending uses. `completion_waits` is used for pending uses of CPU
/// streams, and may be null if there are none. Call with a RelaxedCapture in scope.
void wait_for(Gpu& g, cudaStream_t stream, CompletionWaits* completion_waits,
              const PendingUses& pending_uses);

/// Makes `waiter`, a stream of `g`, wait for all work enqueued so far on a CUDA stream. Returns
/// false if no wait is needed. Call with a RelaxedCapture in scope.
bool wait_natively(Gpu& g, cudaStream_t waiter, const StreamUse& use);

/// Throws UsageError if the stream is captured natively, because no wait for its earlier work is
/// possible then. (signal.cpp)
void refuse_native_capture(const StreamUse& use, const char* call, const SourceLocation& where);

/// Lists the streams found pending during one search: later pending uses of these streams need no
/// query.
class HeldUp {
public:
    bool has(const PendingUse& pending_use) const noexcept;
    void add(const PendingUse& pending_use) noexcept;

private:
    static constexpr std::size_t most = 16;
    std::uint64_t ids_[most] = {};
    std::size_t count_ = 0;
};

/// Removes the pending uses that have ended. Returns whether all have ended. Call with a
/// RelaxedCapture in scope.
bool have_ended(PendingUses& pending_uses, HeldUp& held_up) noexcept;
bool have_ended(PendingUses& pending_uses) noexcept;

/// Memory that will be freed once its users are done.
struct LaterFree {
    void* data;
    PendingUses users;
};

}  // namespace heddle::detail::cu
