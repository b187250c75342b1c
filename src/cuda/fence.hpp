// Points in streams of either kind, for memory that may be used again once all of them are passed.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/completion.hpp"
#include "core/records.hpp"
#include "cuda/gpu.hpp"

namespace heddle::detail::cu {

/// One point in one stream.
struct Fence {
    Gpu* gpu = nullptr;
    cudaEvent_t event = nullptr;
    bool own = false;             ///< the event goes back to the pool with the fence
    std::uint64_t stream_id = 0;  ///< fences of one stream are passed in the order in which they were set
    CompletionRef done;           ///< a CPU stream's instead

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

/// Whether work of one of them is being captured now: then no fence can be set.
bool any_capturing(const StreamUse* users, std::size_t count) noexcept;

/// Adds what stands for all that the stream was given until now; nothing if it is known to be done. Wants RelaxedCapture.
void add_fence(Fences& fences, const StreamUse& use);

/// Makes a stream wait for all of them; for those of CPU streams through `awaits`, which may be null where there are none. Wants
/// RelaxedCapture.
void wait_for(Gpu& g, cudaStream_t stream, AwaitLine* awaits, const Fences& fences);

/// Makes `waiter`, of `g`, wait for all that a CUDA stream was given until now. Returns false if nothing was pending. Wants RelaxedCapture.
bool wait_natively(Gpu& g, cudaStream_t waiter, const StreamUse& use);

/// Throws UsageError where others capture the stream natively: what it was given before cannot be waited for then.
void refuse_native_capture(const StreamUse& use, const char* call, const SourceLocation& where);

/// Streams that were found held up during one search: what is behind a point that is not passed need not be asked for.
class HeldUp {
public:
    bool has(const Fence& fence) const noexcept;
    void add(const Fence& fence) noexcept;

private:
    static constexpr std::size_t most = 16;
    std::uint64_t ids_[most] = {};
    std::size_t count_ = 0;
};

/// Whether all are passed; those that are go out of the list. Wants RelaxedCapture.
bool passed(Fences& fences, HeldUp& held_up) noexcept;
bool passed(Fences& fences) noexcept;

/// Memory that is freed once its users are done.
struct LaterFree {
    void* data;
    Fences users;
};

}  // namespace heddle::detail::cu
