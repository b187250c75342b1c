// Order by records and waits, on streams and by the host.
#include "check/engine.hpp"

#include <algorithm>

namespace heddle::detail {

void CheckEngine::record(const Step& step) {
    const CheckOp& op = step.op;
    if (op.event.event == 0) return;
    const Moment moment{step.stream->clock, step.epoch};
    events_.at(op.event.event, floor_).add(op.event.record, moment, op.site);
    const EventTies ties = events_.ties_of(op.event.event);
    if (ties.leak != 0) leaks_.add(moment, ties.leak);
    if (ties.is_exported || ties.is_imported) exported_.join(moment.before, moment.at, floor_);
}

void CheckEngine::tie_event(const CheckOp& op) {
    if (op.event.event == 0) return;
    EventTies& ties = events_.tie(op.event.event);
    if (op.kind == OpKind::import_event) ties.is_imported = true;
    if (op.kind == OpKind::export_event) ties.is_exported = true;
    ties.leak = op.site;
    const EventTrack* const event = events_.find(op.event.event);
    if (event == nullptr || event->records.empty()) return;
    const Moment& newest = event->records.back().moment;
    leaks_.add(newest, op.site);
    if (op.kind == OpKind::export_event) exported_.join(newest.before, newest.at, floor_);
}

/// Joins the stream's work up to a position, and the work that this is ordered after.
void CheckEngine::join_moment(Clock& to, std::uint64_t stream, std::uint64_t position) {
    StreamTrack* const track = stream != 0 ? streams_.find(stream) : nullptr;
    // A stream is forgotten only after the host has waited for all of its work.
    if (track == nullptr || position == 0) return;
    const Epoch epoch = track->epoch(position);
    track->last = std::max(track->last, epoch.position());
    to.join(track->clock_at(epoch.position()), epoch, floor_);
}

void CheckEngine::join_target(Clock& to, const CheckOp& op) {
    if (op.event.event == 0) {
        if (op.other != 0) join_moment(to, op.other, op.other_position);
        else join_all(to);
        return;
    }
    const EventTies ties = events_.ties_of(op.event.event);
    if (ties.is_imported || ties.is_exported) to.join(exported_, floor_);
    const EventTrack* const event = events_.find(op.event.event);
    if (event != nullptr) to.join(event->by_nodes, floor_);
    if (op.event.record == 0) return;
    if (const EventRecord* const record =
            event != nullptr ? event->find(op.event.record) : nullptr) {
        to.join(record->moment.before, record->moment.at, floor_);
        return;
    }
    if (event != nullptr && !event->by_nodes.is_empty() && event->is_newer(op.event.record))
        return;  // a graph's node made this record, so `by_nodes` covers it
    // The record was forgotten. Its stream may have been destroyed since, and the slot reassigned.
    to.join(events_.forgotten(), floor_);
    join_moment(to, op.other, op.other_position);
}

/// Joins the work of all streams. Needed if the awaited stream was destroyed: its id is no longer
/// known, so it may be any stream.
void CheckEngine::join_all(Clock& to) {
    streams_.for_each([&](const StreamTrack& stream) {
        to.join(stream.clock, {stream.slot, stream.last}, floor_);
    });
}

Clock CheckEngine::target_of(const CheckOp& op) {
    Clock target;
    join_target(target, op);
    return target;
}

void CheckEngine::wait(const Step& step) {
    const CheckOp& op = step.op;
    StreamTrack& stream = *step.stream;
    if (op.event.event == 0 && op.other == op.stream) return;
    if (op.reason == WaitReason::batch) return join_target(stream.by_batches, op);
    const StreamTrack* const other = op.other != 0 ? streams_.find(op.other) : nullptr;
    // A wait for one use of memory covers that use alone, not the whole stream.
    const bool is_for_use = op.reason == WaitReason::copy || op.reason == WaitReason::free_memory ||
                            op.reason == WaitReason::graph;
    if (op.kind == OpKind::wait_elided && op.event.event == 0 && other != nullptr && !is_for_use &&
        needs_wait(step, *other))
        tell_elision_fault(step, *other);
    if (op.had_completed) note_completed(target_of(op), stream);
    join_target(stream.clock, op);
    const EventTrack* const event = events_.find(op.event.event);
    note_wait(step, event != nullptr ? event->find(op.event.record) : nullptr);
}

/// Returns whether the elided wait covers work that the stream is not yet ordered after. Returns
/// false if several threads enqueue: observers may then receive operations in another order than
/// heddle enqueued them, which is not a fault.
bool CheckEngine::needs_wait(const Step& step, const StreamTrack& other) const {
    const StreamTrack& stream = *step.stream;
    if (has_threads_) return false;
    Clock known = stream.clock;
    known.join(stream.by_batches, floor_);
    const Order order{&known, &floor_, stream.slot};
    if (is_new_work(other.epoch(step.op.other_position), order)) return true;
    if (other.in_collective) return false;  // collectives order their streams without waits
    bool is_new = false;
    other.clock.for_each_not_shared(
        known, [&](Epoch epoch) { is_new = is_new || is_new_work(epoch, order); });
    return is_new;
}

/// Returns whether the slot's newest work is at `reached` or earlier, and is covered neither by
/// `order` nor by the host.
bool CheckEngine::is_new_work(Epoch reached, const Order& order) const {
    const StreamTrack* const track = streams_.by_slot(reached.slot());
    if (track == nullptr || track->last_work == 0) return false;
    const Epoch newest{track->slot, track->last_work};
    return track->last_work <= reached.position() && !order.covers(newest) &&
           !completed_.covers(newest);
}

/// Records that this work is complete. Skips work that is ordered before the stream already, for
/// example by a wait.
void CheckEngine::note_completed(const Clock& work, const StreamTrack& stream) {
    const Order order{&stream.clock, &floor_, stream.slot};
    work.for_each_not_shared(stream.clock, [&](Epoch epoch) {
        if (!order.covers(epoch)) completed_.join(epoch, floor_);
    });
}

void CheckEngine::tell_elision_fault(const Step& step, const StreamTrack& other) {
    Finding& finding = findings_.emplace_back();
    finding.kind = FindingKind::elision_fault;
    finding.first = {.stream = other.id, .position = other.last_work - other.base};
    finding.second = {.stream = step.op.stream, .position = step.op.position, .site = step.op.site};
}

void CheckEngine::note_wait(const Step& step, const EventRecord* record) {
    const CheckOp& op = step.op;
    KnownOrder order{.reason = op.reason,
                     .record = record != nullptr     ? record->site
                               : op.event.event != 0 ? op.site
                                                     : 0,
                     .wait = op.site,
                     .covered = op.other_position,
                     .event = op.event.event};
    const bool is_never = op.event.event != 0 && op.event.record == 0;
    order.kind = is_never ? KnownOrder::Kind::never_recorded : KnownOrder::Kind::wait;
    // An event that was never recorded belongs to no stream, so the wait counts for all streams.
    if (is_never || op.other != 0) step.stream->note(is_never ? 0 : op.other, order);
}

SiteId CheckEngine::record_behind(std::uint64_t stream, std::uint64_t position) {
    const StreamTrack* const track = stream != 0 ? streams_.find(stream) : nullptr;
    return track != nullptr ? events_.record_behind(track->epoch(position)) : 0;
}

std::uint64_t CheckEngine::newest(std::uint64_t stream) {
    const StreamTrack* const track = stream != 0 ? streams_.find(stream) : nullptr;
    return track != nullptr ? track->last - track->base : 0;
}

Clock CheckEngine::device_clock(std::uint32_t device) {
    Clock all;
    streams_.for_each([&](const StreamTrack& stream) {
        if (stream.device == device) all.join(stream.clock, {stream.slot, stream.last}, floor_);
    });
    return all;
}

void CheckEngine::begin_host_wait(const CheckOp& op) {
    const bool is_device = op.event.event == 0 && op.other == 0;
    host_waits_[op.thread] = {is_device ? device_clock(op.device) : target_of(op), op.site};
}

void CheckEngine::end_host_wait(const CheckOp& op) {
    const auto begun = host_waits_.find(op.thread);
    if (begun == host_waits_.end()) {  // before the checker began
        begin_host_wait(op);
        return end_host_wait(op);
    }
    raise_floor(begun->second.reaches, op.site);
    host_waits_.erase(begun);
}

void CheckEngine::released(std::uint64_t key, std::uint64_t function) {
    Clock& before = released_.at(key, floor_).before;
    if (const Past* const past = functions_.find(function))
        before.join(past->moment.before, past->moment.at, floor_);
    else before.join(functions_.forgotten(), floor_);
}

void CheckEngine::acquired(std::uint64_t key, SiteId site) {
    if (const Released* const found = released_.find(key)) raise_floor(found->before, site);
    else raise_floor(released_.forgotten(), site);
}

void CheckEngine::raise_floor(const Clock& reaches, SiteId site) {
    reaches.raise(floor_, [&](Slot slot) {
        if (host_wait_sites_.size() <= slot) host_wait_sites_.resize(slot + 1);
        host_wait_sites_[slot] = site;
    });
}

}  // namespace heddle::detail
