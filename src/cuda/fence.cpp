#include "cuda/fence.hpp"

#include "core/backend.hpp"
#include "cuda/await.hpp"

namespace heddle::detail::cu {

bool any_capturing(const StreamUse* users, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        StreamRecord& user = *users[i].stream;
        if (!user.device.is_cuda() || !user.has(stream_flag::capturing | stream_flag::handed_out)) continue;
        std::lock_guard life(user.life);
        if (users[i].is_same() && user.native != nullptr && capture_of(user) != 0) return true;
    }
    return false;
}

void add_fence(Fences& fences, const StreamUse& use) {
    StreamRecord& user = *use.stream;
    Fence fence;
    if (user.device.is_cpu()) {
        fence.done = make_completion();
        fences.push_back(fence);  // first, so that nothing can fail behind the fence
        user.backend->fence(use, fence.done);
        return;
    }
    fence.gpu = &gpu_of(user);
    Gpu& g = *fence.gpu;
    if (g.lost.load(std::memory_order_acquire)) return;
    fences.reserve(fences.size() + 1);
    cudaEvent_t fresh = take_event(g, {});
    CUresult code = CUDA_SUCCESS;
    {
        std::lock_guard life(user.life);
        if (!use.is_same()) {
            // Another stream by now: all that this one was given has ended.
        } else if (user.native != nullptr) {
            code = record_on(g, fresh, static_cast<cudaStream_t>(user.native));
            fence.event = fresh;
            fence.own = true;
        } else {
            // Its zombie gives this event back only when it is reached: whatever it stands for later, it is
            // safe to ask.
            fence.event = static_cast<cudaEvent_t>(user.final_event);
        }
    }
    if (!fence.own || code != CUDA_SUCCESS) give_event(g, fresh);
    check(code, "cuEventRecord", g.index, {});
    if (fence.event != nullptr) fences.push_back(std::move(fence));
}

void wait_for_user(Gpu& g, Reclaimer& on, const StreamUse& use) {
    StreamRecord& user = *use.stream;
    if (user.device.is_cpu()) {
        CompletionRef done = make_completion();
        user.backend->fence(use, done);
        if (done->is_done()) return;
        on.awaits->await(g, on.stream, done, nullptr, {});
        return;
    }
    wait_natively(g, on.stream, use);
}

bool wait_natively(Gpu& g, cudaStream_t waiter, const StreamUse& use) {
    StreamRecord& user = *use.stream;
    Gpu& theirs = gpu_of(user);
    if (theirs.lost.load(std::memory_order_acquire)) return false;
    cudaEvent_t event = take_event(theirs, {});
    CUresult code = CUDA_SUCCESS;
    bool waits = false;
    {
        std::lock_guard life(user.life);
        if (!use.is_same()) {
            // Another stream by now: all that this one was given has ended.
        } else if (user.native != nullptr) {
            code = record_on(theirs, event, static_cast<cudaStream_t>(user.native));
            if (code == CUDA_SUCCESS) code = wait_on(g, waiter, event);
            waits = true;
        } else if (user.final_event != nullptr) {
            code = wait_on(g, waiter, static_cast<cudaEvent_t>(user.final_event));
            waits = true;
        }
    }
    give_event(theirs, event);
    check(code, "cuStreamWaitEvent", theirs.index, {});
    return waits;
}

bool passed(Fences& fences) noexcept {
    while (!fences.empty()) {
        Fence& fence = fences.back();
        if (fence.done) {
            if (!fence.done->is_done()) return false;
        } else {
            if (!is_reached(*fence.gpu, fence.event)) return false;
            if (fence.own) give_event(*fence.gpu, fence.event);
        }
        fences.pop_back();
    }
    return true;
}

}  // namespace heddle::detail::cu
