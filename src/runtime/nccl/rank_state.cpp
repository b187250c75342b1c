#include "nccl/rank_state.hpp"

#include <algorithm>
#include <utility>

#include "core/base/report.hpp"
#include "core/stream/registry.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/errors.hpp"
#include "cuda/device/gpu.hpp"
#include "nccl/nccl_error.hpp"

namespace heddle::detail {

RankState::~RankState() {
    if (cu::is_forked()) return;
    for (const Mark& mark : marks_) cu::give_event(*cu::gpu_if_used(device.index()), mark.event);
}

RankState::Mark* RankState::find(const StreamRecord& stream) noexcept {
    const std::uint64_t id = stream.id.load();
    const auto found = std::ranges::find_if(
        marks_, [&](const Mark& mark) { return mark.use.stream == &stream && mark.use.id == id; });
    return found == marks_.end() ? nullptr : &*found;
}

void RankState::begin_collective(StreamRecord& stream, const SourceLocation& where) {
    cu::Gpu& g = cu::gpu(device.index(), where);
    // Set before the work is enqueued, so that streams which wait for this one inherit a failure.
    if (!stream.has(stream_flag::fallible)) stream.set(stream_flag::fallible);
    const std::lock_guard lock(mutex_);
    if (Mark* const mark = find(stream)) {
        mark->is_enqueueing = true;
        return;
    }
    // If a record belongs to another stream now, the work of the mark's stream has completed.
    std::erase_if(marks_, [&](const Mark& mark) {
        if (mark.use.is_same()) return false;
        cu::give_event(g, mark.event);
        return true;
    });
    marks_.reserve(marks_.size() + 1);
    marks_.push_back({{&stream, stream.id.load()}, cu::take_event(g, where), true});
}

void RankState::end_collective(StreamRecord& stream) noexcept {
    const std::lock_guard lock(mutex_);
    if (Mark* const mark = find(stream)) {
        cu::Gpu& g = *cu::gpu_if_used(device.index());
        const CUresult code =
            cu::record_on(g, mark->event, static_cast<cudaStream_t>(stream.native));
        mark->is_enqueueing = code != CUDA_SUCCESS;
        if (failure_ != nullptr) poison(mark->use);
    }
}

void RankState::cancel_collective(StreamRecord& stream) noexcept {
    const std::lock_guard lock(mutex_);
    if (Mark* const mark = find(stream)) mark->is_enqueueing = false;
}

void RankState::note_captured() noexcept {
    const std::lock_guard lock(mutex_);
    is_captured_ = true;
}

void RankState::set_failure(const Failure& reason) noexcept {
    const std::lock_guard lock(mutex_);
    if (failure_ == nullptr) failure_ = reason;
}

Failure RankState::failure() noexcept {
    const std::lock_guard lock(mutex_);
    return failure_;
}

bool RankState::is_done(const Mark& mark) const noexcept {
    return !mark.is_enqueueing && cu::is_reached(*cu::gpu_if_used(device.index()), mark.event);
}

bool RankState::is_idle() noexcept {
    const cu::RelaxedCapture relaxed;
    const std::lock_guard lock(mutex_);
    return std::ranges::all_of(marks_, [this](const Mark& mark) { return is_done(mark); });
}

void RankState::poison() noexcept {
    const cu::RelaxedCapture relaxed;
    const std::lock_guard lock(mutex_);
    for (const Mark& mark : marks_)
        if (!is_done(mark)) poison(mark.use);
    if (is_captured_) poison_device();
}

void RankState::poison_device() noexcept {
    const auto is_complete = [](StreamRecord& stream) {
        const std::lock_guard life(stream.life);
        const auto native = static_cast<cudaStream_t>(stream.native);
        if (native == nullptr || cu::capture_of(stream) != 0) return true;
        const cu::OnStream on(cu::gpu_of(stream), native);
        return cu::api.cuStreamQuery(native) == CUDA_SUCCESS;
    };
    try {
        for_each_stream([&](StreamRecord& stream) {
            const StreamUse use{&stream, stream.id.load()};
            if (stream.device == device && !stream.has(stream_flag::dead) && !is_complete(stream))
                poison(use);
        });
    } catch (...) {
        report(std::current_exception());  // std::bad_alloc
    }
}

void RankState::poison(const StreamUse& use) noexcept {
    StreamRecord& stream = *use.stream;
    {
        const std::lock_guard life(stream.life);
        if (!use.is_same()) return;  // all work of that stream has completed
        stream.pins.fetch_add(1, std::memory_order_relaxed);
    }
    stream.poison(failure_, stream.seen_complete.load(std::memory_order_relaxed) + 1);
    stream.pins.fetch_sub(1, std::memory_order_release);
}

ncclComm_t RankState::take() noexcept {
    const std::lock_guard lock(enqueue);
    return std::exchange(comm_, nullptr);
}

void RankState::abort() noexcept {
    const std::lock_guard lock(end_mutex_);
    const ncclComm_t ended = take();
    if (ended == nullptr || cu::is_forked()) return;
    const cu::InContext in(*cu::gpu_if_used(device.index()));
    try {
        f.abort(ended);  // the result is ignored
    } catch (...) {
        report(std::current_exception());
    }
}

void RankState::destroy() noexcept {
    const std::lock_guard lock(end_mutex_);
    const ncclComm_t ended = take();
    if (ended == nullptr || cu::is_forked()) return;
    const cu::InContext in(*cu::gpu_if_used(device.index()));
    try {
        if (const ncclResult_t code = f.destroy(ended); code != ncclSuccess)
            report(nccl_error(f, code, "ncclCommDestroy", device, {}));
    } catch (...) {
        report(std::current_exception());  // std::bad_alloc: NCCL's functions are not noexcept
    }
}

}  // namespace heddle::detail
