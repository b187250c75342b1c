#include "nccl/rank.hpp"

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/report.hpp"
#include "core/base/signals_blocked.hpp"
#include "core/stream/recorded_calls.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/errors.hpp"
#include "cuda/device/gpu.hpp"
#include "cuda/device/native_event.hpp"
#include "nccl/nccl_error.hpp"

namespace heddle::detail {

namespace {

Failure failure_of_loss(const RollMember& member, Device device) noexcept {
    try {
        return make_failure(error_info(
            ErrorCode::rank_lost, {"Communicator", {}, device},
            "{}, so collectives with it cannot complete. This rank has aborted: make a new "
            "communicator of the remaining ranks",
            member.lost()));
    } catch (...) {
        return no_memory_failure();
    }
}

/// Poisons streams and aborts, on a thread of its own: ncclCommAbort() may block until the program
/// destroys graphs.
void end_apart(const std::shared_ptr<RankState>& state) {
    const auto end = [state] {
        state->poison();
        state->abort();
    };
    try {
        const SignalsBlocked blocked;
        std::thread(end).detach();
    } catch (...) {  // no thread, or no memory for one
        end();
    }
}

}  // namespace

Rank::Rank(const Nccl& functions, Device device, std::uint64_t communicator,
           std::unique_ptr<RollMember> member)
    : state_(std::make_shared<RankState>(functions, device)), communicator_(communicator),
      member_(std::move(member)) {}

Rank::~Rank() {
    if (cu::is_forked()) return;
    if (member_ != nullptr) wait_for_collectives();
    const bool is_lost = state_->failure() != nullptr;
    if (is_lost || is_broken()) {
        if (member_ != nullptr && !is_lost) member_->abort();
        state_->abort();
    } else {
        state_->destroy();
    }
    if (member_ != nullptr) member_->leave();
}

void Rank::wait_for_collectives() noexcept {
    // ncclCommDestroy() would wait as well, but does not return if a rank is lost meanwhile.
    constexpr std::int64_t longest_pause = 1'000'000;
    const auto is_pending = [this] {
        return !is_broken() && state_->failure() == nullptr && !state_->is_idle();
    };
    for (std::int64_t pause = 10'000; is_pending(); pause = std::min(2 * pause, longest_pause))
        decision_pause(pause);
}

bool Rank::is_broken() const {
    const std::lock_guard lock(state_->enqueue);
    ncclResult_t failed = ncclSuccess;
    return has_failed_ || state_->comm() == nullptr ||
           state_->f.async_error(state_->comm(), &failed) != ncclSuccess || failed != ncclSuccess;
}

void Rank::watch() {
    member_->on_loss([state = state_, member = member_.get()] {
        state->set_failure(failure_of_loss(*member, state->device));
        end_apart(state);
    });
}

void Rank::check(const char* call, const SourceLocation& where) {
    if (const Failure lost = state_->failure()) {
        ErrorInfo info = *lost;
        info.call = call;
        info.where = where;
        lost->note_told();
        throw_error(std::move(info));
    }
    const std::lock_guard lock(state_->enqueue);
    ncclResult_t failed = ncclSuccess;
    check_nccl(state_->f, state_->f.async_error(comm(call, where), &failed),
               "ncclCommGetAsyncError", state_->device, where);
    if (failed != ncclSuccess) has_failed_ = true;
    check_nccl(state_->f, failed, call, state_->device, where);
}

void Rank::abort() noexcept {
    if (cu::is_forked()) return;
    if (member_ != nullptr) member_->abort();
    state_->abort();
}

void Rank::fail(const Failure& reason) noexcept {
    if (cu::is_forked()) return;
    state_->set_failure(reason);
    state_->poison();
    abort();
}

ncclComm_t Rank::comm(const char* call, const SourceLocation& where) const {
    const std::lock_guard lock(state_->enqueue);
    if (state_->comm() != nullptr) return state_->comm();
    usage_error({call, where, state_->device},
                "this communicator was aborted: make a new communicator on all ranks");
}

Rank::Enqueue::Enqueue(Rank& rank, StreamRecord& stream, const char* call,
                       const SourceLocation& where)
    : rank_(rank), stream_(stream), lock_(rank.state_->enqueue),
      is_captured_(is_captured(stream) || cu::capture_of(stream) != 0) {
    rank.check(call, where);
    if (is_captured_) rank.state_->note_captured();
    else rank.state_->begin_collective(stream, where);
}

Rank::Enqueue::~Enqueue() {
    if (!has_ended_ && !is_captured_) rank_.state_->cancel_collective(stream_);
}

void Rank::Enqueue::end() noexcept {
    has_ended_ = true;
    rank_.member_->count();
    // Also poisons the stream if a rank was lost since check(): no thread has poisoned it because
    // of this collective, and none aborts before this object is destroyed.
    if (!is_captured_) rank_.state_->end_collective(stream_);
}

}  // namespace heddle::detail
