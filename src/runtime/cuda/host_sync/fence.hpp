// Fences: points in CUDA and CPU streams. Memory may be reused once all its fences are passed.
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
struct Fence {
    Gpu* gpu = nullptr;
    cudaEvent_t event = nullptr;
    bool own = false;  ///< whether the fence returns `event` to the pool
    /// The stream's id, or 0 if `done` is set. Fences of one stream are passed in the order of
    /// their addition.
    std::uint64_t stream_id = 0;
    CompletionRef done;  ///< used instead of `event` for CPU streams

    Fence() = default;
    Fence(Gpu& g, cudaEvent_t of_pool, std::uint64_t id) noexcept
        : gpu(&g), event(of_pool), own(true), stream_id(id) {}
    Fence(Fence&& other) noexcept
        : gpu(other.gpu), event(std::exchange(other.event, nullptr)), own(other.own),
          stream_id(other.stream_id), done(std::move(other.done)) {}
    Fence& operator=(Fence&& other) noexcept {
        std::swap(gpu, other.gpu);
        std::swap(event, other.event);
        std::swap(own, other.own);
        std::swap(stream_id, other.stream_id);
        std::swap(done, other.done);
        return *this;
    }
    ~Fence() {
        if (own && event != nullptr) give_event(*gpu, event);
    }
};

using Fences = std::vector<Fence>;

/// Returns whether one of the streams is in a native capture. Fences cannot be added then.
bool any_capturing(const StreamUse* users, std::size_t count) noexcept;

/// Adds a fence for all work enqueued so far on the stream, unless that work is known to be
/// complete. Call with a RelaxedCapture in scope.
void add_fence(Fences& fences, const StreamUse& use);

/// Makes a stream wait for all fences. `completion_waits` is used for fences of CPU streams, and
/// may be null if there are none. Call with a RelaxedCapture in scope.
void wait_for(Gpu& g, cudaStream_t stream, CompletionWaits* completion_waits, const Fences& fences);

/// Makes `waiter`, a stream of `g`, wait for all work enqueued so far on a CUDA stream. Returns
/// false if no wait is needed. Call with a RelaxedCapture in scope.
bool wait_natively(Gpu& g, cudaStream_t waiter, const StreamUse& use);

/// Throws UsageError if the stream is captured natively, because no wait for its earlier work is
/// possible then. (signal.cpp)
void refuse_native_capture(const StreamUse& use, const char* call, const SourceLocation& where);

/// Lists the streams found pending during one search: later fences of these streams need no query.
class HeldUp {
public:
    bool has(const Fence& fence) const noexcept;
    void add(const Fence& fence) noexcept;

private:
    static constexpr std::size_t most = 16;
    std::uint64_t ids_[most] = {};
    std::size_t count_ = 0;
};

/// Removes the fences that are passed. Returns whether all are passed. Call with a RelaxedCapture
/// in scope.
bool passed(Fences& fences, HeldUp& held_up) noexcept;
bool passed(Fences& fences) noexcept;

/// Memory that will be freed once its users are done.
struct LaterFree {
    void* data;
    Fences users;
};

}  // namespace heddle::detail::cu
