#include "cuda/host_sync/fence.hpp"

#include <algorithm>
#include <utility>

#include "core/seam/backend.hpp"
#include "cuda/device/native_event.hpp"
#include "cuda/host_sync/completion_waits.hpp"

namespace heddle::detail::cu {

bool any_capturing(const StreamUse* users, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        StreamRecord& user = *users[i].stream;
        if (!user.device.is_cuda() || !user.has(stream_flag::capturing | stream_flag::unseen))
            continue;
        std::lock_guard life(user.life);
        if (users[i].is_same() && user.native != nullptr && capture_of(user) != 0) return true;
    }
    return false;
}

void add_fence(Fences& fences, const StreamUse& use) {
    StreamRecord& user = *use.stream;
    Fence fence;
    if (user.device.is_cpu()) {
        if (!use.is_same()) return;
        const CompletionRef done = make_completion();
        fence.done = done;
        fences.push_back(std::move(fence));  // first: nothing may fail after signal_use()
        user.backend->signal_use(use, done);
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
        const auto native = static_cast<cudaStream_t>(user.native);
        fence.stream_id = use.id;
        if (!use.is_same()) {
            // Another stream uses the record now, so all work of the user's stream has completed.
        } else if (native != nullptr) {
            code = record_on(g, fresh, native);
            if (code == CUDA_SUCCESS) fence.event = std::exchange(fresh, nullptr);
            fence.own = true;
        } else if (const auto last = static_cast<cudaEvent_t>(user.final_event);
                   last != nullptr && api.cuEventQuery(last) != CUDA_SUCCESS) {
            // The zombie returns this event to the pool only once the event is reached. So the
            // event can be queried even after it was reused.
            fence.event = last;
        }
    }
    give_event(g, fresh);
    check(code, "cuEventRecord", g.index, {});
    if (fence.event != nullptr) fences.push_back(std::move(fence));
}

void wait_for(Gpu& g, cudaStream_t stream, CompletionWaits* completion_waits,
              const Fences& fences) {
    for (const Fence& fence : fences) {
        if (!fence.done) check(wait_on(g, stream, fence.event), "cuStreamWaitEvent", g.index, {});
        else if (!fence.done->is_done()) completion_waits->wait(g, stream, fence.done, nullptr, {});
    }
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
            // Another stream uses the record now, so all work of the user's stream has completed.
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

bool HeldUp::has(const Fence& fence) const noexcept {
    return fence.stream_id != 0 && std::find(ids_, ids_ + count_, fence.stream_id) != ids_ + count_;
}

void HeldUp::add(const Fence& fence) noexcept {
    if (fence.stream_id != 0 && count_ < most) ids_[count_++] = fence.stream_id;
}

bool passed(Fences& fences, HeldUp& held_up) noexcept {
    while (!fences.empty()) {
        const Fence& fence = fences.back();
        if (fence.done) {
            if (!fence.done->is_done()) return false;
        } else {
            if (held_up.has(fence)) return false;
            if (!is_reached(*fence.gpu, fence.event)) {
                held_up.add(fence);
                return false;
            }
        }
        fences.pop_back();
    }
    return true;
}

bool passed(Fences& fences) noexcept {
    HeldUp nobody;
    return passed(fences, nobody);
}

}  // namespace heddle::detail::cu
