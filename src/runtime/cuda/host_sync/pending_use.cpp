#include "cuda/host_sync/pending_use.hpp"

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

void add_pending_use(PendingUses& pending_uses, const StreamUse& use) {
    StreamRecord& user = *use.stream;
    PendingUse pending_use;
    if (user.device.is_cpu()) {
        if (!use.is_same()) return;
        const CompletionRef done = make_completion();
        pending_use.done = done;
        pending_uses.push_back(
            std::move(pending_use));  // first: nothing may fail after signal_use()
        user.backend->signal_use(use, done);
        return;
    }
    pending_use.gpu = &gpu_of(user);
    Gpu& g = *pending_use.gpu;
    if (g.lost.load(std::memory_order_acquire)) return;
    pending_uses.reserve(pending_uses.size() + 1);
    cudaEvent_t fresh = take_event(g, {});
    CUresult code = CUDA_SUCCESS;
    {
        std::lock_guard life(user.life);
        const auto native = static_cast<cudaStream_t>(user.native);
        pending_use.stream_id = use.id;
        if (!use.is_same()) {
            // Another stream uses the record now, so all work of the user's stream has completed.
        } else if (native != nullptr) {
            code = record_on(g, fresh, native);
            if (code == CUDA_SUCCESS) pending_use.event = std::exchange(fresh, nullptr);
            pending_use.own = true;
        } else if (const auto last = static_cast<cudaEvent_t>(user.final_event);
                   last != nullptr && api.cuEventQuery(last) != CUDA_SUCCESS) {
            // The zombie returns this event to the pool only once the event is reached. So the
            // event can be queried even after it was reused.
            pending_use.event = last;
        }
    }
    give_event(g, fresh);
    check(code, "cuEventRecord", g.index, {});
    if (pending_use.event != nullptr) pending_uses.push_back(std::move(pending_use));
}

void wait_for(Gpu& g, cudaStream_t stream, CompletionWaits* completion_waits,
              const PendingUses& pending_uses) {
    for (const PendingUse& pending_use : pending_uses) {
        if (!pending_use.done)
            check(wait_on(g, stream, pending_use.event), "cuStreamWaitEvent", g.index, {});
        else if (!pending_use.done->is_done())
            completion_waits->wait(g, stream, pending_use.done, nullptr, {});
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

bool HeldUp::has(const PendingUse& pending_use) const noexcept {
    return pending_use.stream_id != 0 &&
           std::find(ids_, ids_ + count_, pending_use.stream_id) != ids_ + count_;
}

void HeldUp::add(const PendingUse& pending_use) noexcept {
    if (pending_use.stream_id != 0 && count_ < most) ids_[count_++] = pending_use.stream_id;
}

bool have_ended(PendingUses& pending_uses, HeldUp& held_up) noexcept {
    while (!pending_uses.empty()) {
        const PendingUse& pending_use = pending_uses.back();
        if (pending_use.done) {
            if (!pending_use.done->is_done()) return false;
        } else {
            if (held_up.has(pending_use)) return false;
            if (!is_reached(*pending_use.gpu, pending_use.event)) {
                held_up.add(pending_use);
                return false;
            }
        }
        pending_uses.pop_back();
    }
    return true;
}

bool have_ended(PendingUses& pending_uses) noexcept {
    HeldUp nobody;
    return have_ended(pending_uses, nobody);
}

}  // namespace heddle::detail::cu
