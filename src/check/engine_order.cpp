// The checker's edges: records and waits, on streams and by the host.
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

Moment CheckEngine::moment_on(std::uint64_t stream, std::uint64_t position) {
    StreamTrack* const track = stream != 0 ? streams_.find(stream) : nullptr;
    // One that is forgotten did nothing since that the host has not waited for.
    if (track == nullptr || position == 0) return {};
    const Epoch epoch = track->epoch(position);
    track->last = std::max(track->last, epoch.position());
    return {track->clock, epoch};
}

Clock CheckEngine::target_of(const CheckOp& op) {
    Clock covered;
    if (op.event.event == 0) {
        const Moment moment = moment_on(op.other, op.other_position);
        covered.join(moment.before, moment.at, floor_);
        return covered;
    }
    const EventTies ties = events_.ties_of(op.event.event);
    if (ties.is_imported || ties.is_exported) covered.join(exported_, floor_);
    const EventTrack* const event = events_.find(op.event.event);
    if (event != nullptr) covered.join(event->by_nodes, floor_);
    if (op.event.record == 0) return covered;
    const EventRecord* const record = event != nullptr ? event->find(op.event.record) : nullptr;
    if (record != nullptr) {
        covered.join(record->moment.before, record->moment.at, floor_);
        return covered;
    }
    // The record is forgotten: what it covered is in one of these.
    const Moment moment = moment_on(op.other, op.other_position);
    covered.join(moment.before, moment.at, floor_);
    if (op.other == 0) covered.join(events_.forgotten(), floor_);
    return covered;
}

void CheckEngine::wait(const Step& step) {
    const CheckOp& op = step.op;
    StreamTrack& stream = *step.stream;
    if (op.event.event == 0 && op.other == op.stream) return;
    const Clock target = target_of(op);
    if (op.reason == WaitReason::batch) {
        stream.by_batches.join(target, floor_);
        return;
    }
    const StreamTrack* const other = op.other != 0 ? streams_.find(op.other) : nullptr;
    if (op.kind == OpKind::wait_elided && op.event.event == 0 && other != nullptr &&
        needs_wait(step, *other))
        tell_elision_fault(step, *other);
    stream.clock.join(target, floor_);
    const EventTrack* const event = events_.find(op.event.event);
    note_wait(step, event != nullptr ? event->find(op.event.record) : nullptr);
}

/// Returns whether the wait brings work that the stream was not ordered after. Knows no more of the
/// other stream than the thread of the wait did.
bool CheckEngine::needs_wait(const Step& step, const StreamTrack& other) const {
    const StreamTrack& stream = *step.stream;
    Clock known = stream.clock;
    known.join(stream.by_batches, floor_);
    const Order order{&known, &floor_, stream.slot};
    const bool is_of_this_thread = other.last_thread == step.op.thread &&
                                   other.last_work <= other.base + step.op.other_position;
    if (!is_of_this_thread || other.last_work == 0) return false;
    if (!order.covers({other.slot, other.last_work})) return true;
    if (other.in_collective) return false;
    bool brings = false;
    other.clock.for_each([&](Epoch epoch) { brings = brings || !order.covers(epoch); });
    return brings;
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
                     .record = record != nullptr ? record->site : op.site,
                     .wait = op.site,
                     .covered = op.other_position,
                     .event = op.event.event};
    const bool is_never = op.event.event != 0 && op.event.record == 0;
    order.kind = is_never ? KnownOrder::Kind::never_recorded : KnownOrder::Kind::wait;
    // An event that was not recorded belongs to no stream yet: the wait is noted for all.
    if (is_never || op.other != 0) step.stream->note(is_never ? 0 : op.other, order);
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

void CheckEngine::raise_floor(const Clock& reaches, SiteId site) {
    reaches.for_each([&](Epoch epoch) {
        if (floor_.covers(epoch)) return;
        floor_.raise(epoch);
        if (host_wait_sites_.size() <= epoch.slot()) host_wait_sites_.resize(epoch.slot() + 1);
        host_wait_sites_[epoch.slot()] = site;
    });
}

}  // namespace heddle::detail
