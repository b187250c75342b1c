#include <heddle/collective/communicator.hpp>

#include "collective/check.hpp"
#include "collective/nccl.hpp"
#include "core/base/errors.hpp"
#include "core/stream/recorded_calls.hpp"
#include "core/stream/usable.hpp"

namespace heddle {

std::string nccl_unavailable_reason() try { return detail::nccl_missing(); } catch (...) {
    detail::rethrow_as_error("nccl_unavailable_reason", {});
}

CommunicatorId CommunicatorId::make(Where where) try {
    return detail::nccl_id(where);
} catch (...) {
    detail::rethrow_as_error("make", where);
}

namespace {

using detail::CollectiveKind;
using detail::RankCall;

/// Checks the sizes of one rank's two views, as far as the rank's process can know them.
void check_sizes(const RankCall& call, std::size_t rank, std::size_t ranks) {
    const auto parts = [&](const detail::Part& whole, const detail::Part& part) {
        if (whole.size != ranks * part.size)
            detail::usage_error({call.call, call.where},
                                "{} parts of {} elements do not match a view of {} elements: pass "
                                "a view whose size is the total of all parts",
                                ranks, part.size, whole.size);
    };
    switch (call.kind) {
    case CollectiveKind::scatter:
        if (rank == call.root) parts(call.send, call.receive);
        break;
    case CollectiveKind::reduce_scatter: parts(call.send, call.receive); break;
    case CollectiveKind::gather:
        if (rank == call.root) parts(call.receive, call.send);
        break;
    case CollectiveKind::all_gather: parts(call.receive, call.send); break;
    case CollectiveKind::reduce:
        if (rank != call.root) break;
        [[fallthrough]];
    case CollectiveKind::all_reduce:
        if (call.send.size != call.receive.size)
            detail::usage_error(
                {call.call, call.where},
                "`send` has {} elements, but `receive` has {}: pass views of equal size",
                call.send.size, call.receive.size);
        break;
    default: break;
    }
}

}  // namespace

Communicator::Communicator(const CommunicatorId& id, std::size_t rank, std::size_t size,
                           Device device, Where where) try
    : rank_(rank), size_(size), device_(device) {
    if (size == 0 || rank >= size) detail::throw_no_rank({"Communicator", where}, rank, size);
    if (device.is_cpu())
        detail::unsupported_error(
            {"Communicator", where},
            "communicators use NCCL, which supports CUDA devices only: use DeviceGroup for CPU "
            "devices of one process, and MPI between processes");
    native_ = detail::nccl_join(id, rank, size, device, where);
} catch (...) {
    detail::rethrow_as_error("Communicator", where);
}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

void Communicator::check(Where where) const try {
    if (native_ == nullptr)
        detail::throw_moved_from({"Communicator::check", where}, "communicator");
    native_->check("Communicator::check", where);
} catch (...) {
    detail::rethrow_as_error("check", where);
}

void Communicator::abort() noexcept {
    if (native_ != nullptr) native_->abort();
}

void Communicator::run(StreamRef stream, const RankCall& passed) try {
    using namespace detail;
    if (native_ == nullptr) detail::throw_moved_from({passed.call, passed.where}, "communicator");
    StreamRecord& record = record_of(stream);
    check_usable(record, passed.call, passed.where);
    if (stream.device() != device_)
        detail::usage_error({passed.call, passed.where},
                            "the stream belongs to {}, but the communicator belongs to {}: pass a "
                            "stream of the communicator's device",
                            stream.device(), device_);
    if (passed.root >= size_ || passed.from >= size_)
        detail::throw_no_rank({passed.call, passed.where}, std::max(passed.root, passed.from),
                              size_);
    RankCall call = passed;
    if (rank_ != call.root &&
        (call.kind == CollectiveKind::gather || call.kind == CollectiveKind::reduce))
        call.receives = false;
    if (rank_ != call.root && call.kind == CollectiveKind::scatter) call.sends = false;
    check_sizes(call, rank_, size_);
    check_average(call.op, call.type, call.call, call.where);
    if (call.sends) check_memory(call.send, call.element, device_, "`send`", call.call, call.where);
    if (call.receives)
        check_memory(call.receive, call.element, device_, "`receive`", call.call, call.where);
    native_->check(call.call, call.where);
    send_batch_of(record, call.where);
    if (!is_captured(record)) throw_known_failure(record);
    const NcclShare share{native_.get(), stream, call, rank_, size_};
    nccl_enqueue(&share, 1);
} catch (...) {
    detail::rethrow_as_error("run", passed.where);
}

}  // namespace heddle
