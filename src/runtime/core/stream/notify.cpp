#include "core/stream/notify.hpp"

#include <new>

#include "core/base/clock.hpp"
#include "core/operation/polls.hpp"
#include "core/operation/told_wait.hpp"
#include "core/stream/recorded_calls.hpp"

namespace heddle::detail {

void tell_ended_runs() noexcept { cuda_backend().tell_ended_runs(); }
std::string begin_gpu_records() { return cuda_backend().begin_records(); }
void end_gpu_records() noexcept { cuda_backend().end_records(); }
RecordCounts gpu_record_counts() noexcept { return cuda_backend().record_counts(); }

void notify_on(StreamState& stream, OpInfo op, bool is_recorded) noexcept {
    complete_and_notify_on(stream, op, is_recorded);
}

namespace {
std::uint64_t key_of(StreamRef stream) noexcept {
    return Access::state(stream).key.load(std::memory_order_relaxed);
}

/// Returns whether the flight recorder stores operations of this kind. Streams execute such
/// operations.
bool is_kept(OpKind kind) noexcept {
    return kind <= OpKind::fill || kind == OpKind::record || kind == OpKind::wait ||
           kind == OpKind::collective || kind == OpKind::native;
}

/// Returns the note with the id of the operation's collective, and the rank that the operation
/// belongs to. Without a collective, returns the note unchanged.
FlightNote with_share(FlightNote note) noexcept {
    if (!has_shares.load(std::memory_order_relaxed)) [[likely]]
        return note;
    const ThreadCall& call = this_call();
    note.collective = call.collective;
    note.share = call.share;
    if (note.kind == OpKind::wait && call.collective != 0) note.name = call.collective_name;
    return note;
}

FlightNote note_of(const OpInfo& op) noexcept {
    return with_share({.kind = op.kind,
                       .name = op.name,
                       .where = op.where,
                       .views = op.accesses.size(),
                       .other = key_of(op.other),
                       .event = op.event});
}
}  // namespace

void complete_and_notify_on(StreamState& state, OpInfo& op, bool is_recorded) noexcept {
    StreamRecord& stream = record_of(state);
    op.stream = Access::stream(state);
    op.device = state.device;
    op.position = stream.noted.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (is_recorded) {
        op.mode = is_captured(stream) ? OpMode::captured : OpMode::batched;
        op.recording = recorder_id(stream);
    }
    if (has_watch() && is_kept(op.kind)) note_flight(stream, op.position, note_of(op), is_recorded);
    complete_and_notify(op);
}

void note_flight(StreamRecord& stream, std::uint64_t position, FlightNote note,
                 bool is_recorded) noexcept {
    FlightRing* ring = stream.flight.load(std::memory_order_acquire);
    if (ring == nullptr) [[unlikely]] {
        auto* const made = new (std::nothrow) FlightRing;
        if (made == nullptr) return;
        if (stream.flight.compare_exchange_strong(ring, made, std::memory_order_acq_rel))
            ring = made;
        else delete made;
    }
    if (is_recorded) note.mode = is_captured(stream) ? OpMode::captured : OpMode::batched;
    ring->put(position, stream.submissions.load(std::memory_order_relaxed), note);
}

void note_flight(StreamState& state, const FlightNote& note, bool is_recorded) noexcept {
    StreamRecord& stream = record_of(state);
    note_flight(stream, stream.noted.fetch_add(1, std::memory_order_acq_rel) + 1, note,
                is_recorded);
}

namespace {
void set_target(OpInfo& op, StreamRecord& stream) noexcept {
    op.other = Access::stream(stream);
    op.other_position = noted_on(stream);
}

void set_target(OpInfo& op, const EventState& event) noexcept {
    op.event = point_of(event);
    if (event.noted_on == nullptr) return;
    op.other = Access::stream(*event.noted_on);
    op.other_position = event.position;
}
}  // namespace

namespace {
/// Notes a wait in the flight recorder only (HEDDLE_WATCH), not for observers.
[[gnu::noinline]] void note_wait_flight(StreamRecord& waiter, const WaitNote& wait,
                                        const SourceLocation& where) noexcept {
    FlightNote note{.kind = OpKind::wait, .name = wait.name, .where = where};
    const StreamRecord* const other = wait.event != nullptr ? wait.event->noted_on : wait.other;
    if (other != nullptr) note.other = other->key.load(std::memory_order_relaxed);
    if (wait.event != nullptr) note.event = point_of(*wait.event);
    note_flight(waiter, with_share(note), wait.is_recorded);
}
[[gnu::noinline]] void note_record_flight(StreamRecord& stream, const EventState& event,
                                          const SourceLocation& where, bool is_recorded) noexcept {
    note_flight(stream,
                with_share({.kind = OpKind::record,
                            .name = "record_event",
                            .where = where,
                            .event = point_of(event)}),
                is_recorded);
}
}  // namespace

[[gnu::cold]] void notify_wait(StreamRecord& waiter, const WaitNote& wait,
                               const SourceLocation& where) noexcept {
    if (!is_observed()) return note_wait_flight(waiter, wait, where);
    OpInfo op{.kind = wait.is_elided ? OpKind::wait_elided : OpKind::wait,
              .reason = wait.reason,
              .name = wait.name,
              .where = where};
    if (wait.event != nullptr) set_target(op, *wait.event);
    else if (wait.other != nullptr) set_target(op, *wait.other);
    complete_and_notify_on(waiter, op, wait.is_recorded);
}

[[gnu::cold]] void notify_record(StreamRecord& stream, const EventState& event,
                                 const SourceLocation& where, bool is_recorded) noexcept {
    if (!is_observed()) return note_record_flight(stream, event, where, is_recorded);
    notify_on(
        stream,
        {.kind = OpKind::record, .name = "record_event", .event = point_of(event), .where = where},
        is_recorded);
}

OpInfo host_wait(const char* name, StreamRecord& stream, const SourceLocation& where) noexcept {
    OpInfo op{
        .name = name, .stream = Access::stream(stream), .device = stream.device, .where = where};
    set_target(op, stream);
    return op;
}

OpInfo host_wait(const char* name, const EventState& event, const SourceLocation& where) noexcept {
    OpInfo op{.name = name, .device = event.device, .where = where};
    set_target(op, event);
    op.stream = op.other;
    return op;
}

OpInfo host_wait(const char* name, Device device, const SourceLocation& where) noexcept {
    return {.name = name, .device = device, .where = where};
}

void notify_query(StreamRecord& stream, std::uint64_t covered,
                  const SourceLocation& where) noexcept {
    OpInfo op = host_wait("is_complete", stream, where);
    op.kind = OpKind::query;
    op.other_position = covered;
    tell_polled(op);
    complete_and_notify(op);
}

void notify_query(const EventState& event, const SourceLocation& where) noexcept {
    OpInfo op = host_wait("Event::is_complete", event, where);
    op.kind = OpKind::query;
    tell_polled(op);
    complete_and_notify(op);
}

void note_pending_query(StreamRecord& stream, const SourceLocation& where) noexcept {
    note_pending(host_wait("is_complete", stream, where));
}
void note_pending_query(const EventState& event, const SourceLocation& where) noexcept {
    note_pending(host_wait("Event::is_complete", event, where));
}

namespace {
void begin_wait(WaitMark& mark, const OpInfo& op) noexcept {
    mark.begin({.call = op.name,
                .where = op.where,
                .stream = key_of(op.stream),
                .event = op.event,
                .device = op.device,
                .since_ns = decision_ns()});
}
}  // namespace

void BlockedSpan::begin() noexcept {
    if (has_watch()) begin_wait(mark_, host_wait(name_, stream_, where_));
    if (wants_times()) begin_ns_ = now_ns();
}

void BlockedSpan::end() noexcept {
    OpInfo op = host_wait(name_, stream_, where_);
    op.reason = reason_;
    if (target_ == For::own) ++op.other_position;
    op.begin_ns = begin_ns_;
    op.end_ns = now_ns();
    notify_blocked(op);
}

void notify_host_function_runs(StreamRecord& stream, const OpType& type,
                               const SourceLocation& where) noexcept {
    notify({.kind = OpKind::host_function_begin,
            .name = type.pretty,
            .stream = Access::stream(stream),
            .device = stream.device,
            .where = where});
}

HostFunctionRun::HostFunctionRun(std::uint64_t id, StreamRecord& stream, const OpType& type,
                                 const SourceLocation& where) noexcept
    : mark_(id), id_(id) {
    if (id_ == 0) [[likely]]
        return;
    notify_host_function_runs(stream, type, where);
    from_ns_ = now_ns();
}

HostFunctionRun::~HostFunctionRun() {
    if (id_ != 0) notify_run({.id = id_, .start_ns = from_ns_, .end_ns = now_ns()});
}

void HostWait::mark(const OpInfo& op) noexcept { begin_wait(mark_, op); }

void HostWait::begin() noexcept {
    const TellsWait tells({.other = user_});
    op_->kind = OpKind::synchronize_begin;
    complete_and_notify(*op_);
}

void HostWait::end() noexcept {
    mark_.end();
    if (!op_) [[likely]]
        return;
    const TellsWait tells({.other = user_});
    op_->kind = OpKind::synchronize;
    complete_and_notify(*op_);
}

}  // namespace heddle::detail
