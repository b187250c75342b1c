#include <heddle/collective/communicator.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <span>

#include "collective/check.hpp"
#include "collective/nccl.hpp"
#include "collective/roll_call.hpp"
#include "core/base/clock.hpp"
#include "core/base/errors.hpp"
#include "core/base/host_function_mark.hpp"
#include "core/failure/told.hpp"
#include "core/stream/notify.hpp"
#include "core/stream/recorded_calls.hpp"
#include "core/stream/usable.hpp"

namespace heddle {

std::string nccl_unavailable_reason() try { return detail::nccl_missing(); } catch (...) {
    detail::rethrow_as_error("nccl_unavailable_reason", {});
}

namespace {

/// Returns the bytes of an id that hold the address of its roll call.
template <class Id> auto roll_bytes(Id& id) {
    static_assert(detail::nccl_id_size + detail::RollAddress::size == sizeof id.bytes);
    return std::span(id.bytes).template subspan<detail::nccl_id_size>();
}

}  // namespace

CommunicatorId CommunicatorId::make(Where where) try {
    CommunicatorId id = detail::nccl_id(where);
    detail::open_roll_call(where).encode(roll_bytes(id));
    return id;
} catch (...) {
    detail::rethrow_as_error("make", where);
}

namespace {

using detail::CollectiveKind;
using detail::RankCall;

/// The longest time between two queries of a stream.
constexpr std::int64_t longest_pause_ns = 1'000'000;

std::int64_t limit_ns_of(const CommunicatorOptions& options) noexcept {
    using std::chrono::milliseconds, std::chrono::nanoseconds;
    constexpr auto longest = std::chrono::duration_cast<milliseconds>(nanoseconds::max() / 2);
    if (options.timeout.count() == 0) return std::numeric_limits<std::int64_t>::max();
    return nanoseconds(std::min(options.timeout, longest)).count();
}

/// Poisons streams, aborts, and throws an error that names the ranks that do not take part.
[[noreturn]] void give_up(detail::NcclRank& rank, StreamRef stream, std::chrono::milliseconds limit,
                          const SourceLocation& where) {
    using namespace detail;
    const std::string text = rank.member()->absentees(patience_for_counts);
    const Failure failure = make_failure(error_info(
        ErrorCode::rank_lost, {"Communicator::synchronize", where, Access::state(stream)},
        "the stream has not completed within {}: {}. This rank has aborted: make a new "
        "communicator of the remaining ranks",
        time_text(limit), text));
    rank.fail(failure);
    throw_failure(failure);
}

/// Throws the errors of check(). If NCCL has detected an error, first poisons streams and aborts,
/// because kernels would wait for ever. The error is RankLost if the cause is a lost rank.
void check_or_end(detail::NcclRank& rank, const char* call, const SourceLocation& where) {
    using namespace detail;
    try {
        rank.check(call, where);
    } catch (const NativeError& error) {
        const std::string lost = rank.member()->ask_lost();  // the error may precede that news
        if (lost.empty()) {
            rank.fail(make_failure(error.info()));
            throw;
        }
        rank.fail(make_failure(error_info(
            ErrorCode::rank_lost, {call, where},
            "{}: {}. This rank has aborted: make a new communicator of the remaining ranks", lost,
            error.what())));
        rank.check(call, where);  // throws RankLost
    }
}

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
                           Device device, CommunicatorOptions options, Where where) try
    : rank_(rank), size_(size), device_(device), options_(options) {
    if (size == 0 || rank >= size) detail::throw_no_rank({"Communicator", where}, rank, size);
    if (device.is_cpu())
        detail::unsupported_error(
            {"Communicator", where},
            "communicators use NCCL, which supports CUDA devices only: use DeviceGroup for CPU "
            "devices of one process, and MPI between processes");
    if (options.timeout.count() < 0)
        detail::usage_error({"Communicator", where},
                            "the timeout is negative: pass 0 (for no limit) or more");
    if (const std::string missing = detail::nccl_missing(); !missing.empty())
        detail::unsupported_error({"Communicator", where}, "{}", missing);
    native_ = detail::nccl_join(id,
                                detail::join_roll_call(detail::RollAddress::decode(roll_bytes(id)),
                                                       rank, size, options.timeout, where),
                                device, options.timeout, where);
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

void Communicator::synchronize(StreamRef stream, Where where) try {
    using namespace detail;
    const ErrorSite site("Communicator::synchronize", where);
    if (native_ == nullptr) throw_moved_from(site, "communicator");
    StreamRecord& record = record_of(stream);
    check_may_wait("Communicator::synchronize", where);
    const std::int64_t limit_ns = limit_ns_of(options_);
    const std::int64_t begin = decision_ns();
    HostWait wait("Communicator::synchronize", record, where);
    bool is_late = false;
    for (std::int64_t pause = 10'000; !is_late && !stream.is_complete(where);
         pause = std::min(2 * pause, longest_pause_ns)) {
        decision_pause(pause);
        check_or_end(*native_, site.call, where);
        is_late = decision_ns() - begin > limit_ns;
    }
    wait.end();
    if (is_late && !stream.is_complete(where)) give_up(*native_, stream, options_.timeout, where);
    check_or_end(*native_, site.call, where);
} catch (...) {
    detail::rethrow_as_error("synchronize", where);
}
void Communicator::synchronize(Where where) { synchronize(current_stream(device_), where); }

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
    send_batch_of(record, call.where);
    if (!is_captured(record)) throw_known_failure(record);
    const NcclShare share{native_.get(), stream, call, rank_, size_};
    nccl_enqueue(&share, 1);
} catch (...) {
    detail::rethrow_as_error("run", passed.where);
}

}  // namespace heddle
