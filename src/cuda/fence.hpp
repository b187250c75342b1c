// Points in streams of either kind, for memory that may be used again once all of them are passed.
#pragma once

#include <vector>

#include "core/completion.hpp"
#include "core/records.hpp"
#include "cuda/gpu.hpp"

namespace heddle::detail::cu {

/// One point in one stream.
struct Fence {
    Gpu* gpu = nullptr;
    cudaEvent_t event = nullptr;
    bool own = false;    ///< the event goes back to the pool
    CompletionRef done;  ///< a CPU stream's instead
};

using Fences = std::vector<Fence>;

/// Whether work of one of them is being captured now: then no fence can be set.
bool any_capturing(const StreamUse* users, std::size_t count) noexcept;

/// Adds what stands for all that `user` was given until now; nothing if it is known to be done. Wants
/// RelaxedCapture.
void add_fence(Fences& fences, const StreamUse& user);

/// Makes `stream` wait for all that `user` was given until now; on the CPU side through `awaits`. Wants
/// RelaxedCapture.
void wait_for_user(Gpu& g, Reclaimer& on, const StreamUse& user);

/// Makes `waiter`, of `g`, wait for all that a CUDA stream was given until now. Returns false if nothing was pending. Wants RelaxedCapture.
bool wait_natively(Gpu& g, cudaStream_t waiter, const StreamUse& use);

/// Whether all are passed; those that are go out of the list. Wants RelaxedCapture.
bool passed(Fences& fences) noexcept;

}  // namespace heddle::detail::cu
