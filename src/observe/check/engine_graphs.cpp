// Operations that consist of several: graph launches, batches, collectives.
#include "check/engine.hpp"

#include <algorithm>
#include <iterator>

namespace heddle::detail {

// Graph launches -----------------------------------------------------------------------------

CheckEngine::KnownShape& CheckEngine::known_shape(const CheckShape& shape) {
    if (KnownShape* const known = shapes_.find(shape.id)) return *known;
    KnownShape& made = shapes_.at(shape.id, floor_);
    made.use = use_of(shape);
    if (made.use.parts.size() > 1)
        for (std::size_t i = 0; i < made.use.parts.size(); ++i)
            made.streams.push_back(streams_.make_id());
    const std::size_t first = findings_.size();
    check_shape(shape, findings_);
    for (std::size_t i = first; i < findings_.size(); ++i) {
        Finding& one = findings_[i];
        const AllocationTrack& memory = memory_.of({{between(one.begin, one.end), one.allocation}});
        one.allocation_begin = memory.begin;
        one.made = memory.made;
    }
    return made;
}

void CheckEngine::launch_graph(const Step& step) {
    const CheckOp& op = step.op;
    StreamTrack& stream = *step.stream;
    if (op.graph != 0) {  // one graph's launches never overlap
        if (const Past* const before = graphs_.find(op.graph))
            stream.clock.join(before->moment.before, before->moment.at, floor_);
        else stream.clock.join(graphs_.forgotten(), floor_);
    }
    KnownShape* const shape = op.shape != nullptr ? &known_shape(*op.shape) : nullptr;
    if (shape != nullptr) stream.note({step.epoch.position(), op.stream, op.position, op.shape});
    if (shape == nullptr) access_all(step);
    else if (shape->use.parts.size() > 1) launch_parts(step, *shape);
    else {
        const ShapePart& part = shape->use.parts.front();
        join_events(stream.clock, step, part);
        access_part(step, part, step.epoch, stream.clock);
        for (const std::uint64_t event : shape->use.records) {
            const bool is_behind = std::ranges::find(part.records, event) != part.records.end();
            const Position reached = step.epoch.position() - (is_behind ? 0 : 1);
            events_.at(event, floor_)
                .by_nodes.join(stream.clock, Epoch(stream.slot, reached), floor_);
        }
    }
    const Moment moment{stream.clock, step.epoch};
    if (op.graph != 0) graphs_.at(op.graph, floor_) = {moment, op.site};
    if (shape == nullptr || !shape->use.is_known || shape->use.may_signal)
        leaks_.add(moment, op.site);
}

/// Orders a part after the events that its wait nodes wait for. A wait node does not specify one
/// record of its event, so all known records count.
void CheckEngine::join_events(Clock& clock, const Step& step, const ShapePart& part) {
    for (const EventWait& wait : part.waits) {
        const EventTrack* const event = events_.find(wait.event);
        if (event == nullptr) continue;
        event->each_moment(
            [&](const Moment& moment) { clock.join(moment.before, moment.at, floor_); });
        note_event_waits(step, *event, wait);
    }
}

void CheckEngine::note_event_waits(const Step& step, const EventTrack& event,
                                   const EventWait& wait) {
    for (const EventRecord& one : event.records) {
        const StreamTrack* const other = streams_.by_slot(one.moment.at.slot());
        if (other == nullptr) continue;
        step.stream->note(other->id, {.kind = KnownOrder::Kind::wait,
                                      .record = one.site,
                                      .wait = wait.site,
                                      .covered = one.moment.at.position() - other->base,
                                      .event = wait.event});
    }
}

/// Launches a graph that wait nodes and record nodes divide into parts. Each part has its own
/// positions, as if it ran on a stream that forks from the launch's stream and joins that again.
void CheckEngine::launch_parts(const Step& step, const KnownShape& shape) {
    StreamTrack& stream = *step.stream;
    Clock before = stream.clock;
    before.join(Epoch(stream.slot, step.epoch.position() - 1), floor_);
    std::vector<Moment> parts;
    Clock all;  // not used for conflicts within the launch, which check_shape() finds
    for (std::size_t i = 0; i < shape.streams.size(); ++i) {
        StreamTrack& part = streams_.at(shape.streams[i]);
        part.device = stream.device;
        parts.push_back({before, Epoch(part.slot, ++part.last)});
        part.note({part.last, step.op.stream, step.op.position, step.op.shape});
        join_events(parts.back().before, step, shape.use.parts[i]);
        all.join(parts.back().before, parts.back().at, floor_);
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        Clock known = parts[i].before;
        for (const Moment& other : parts) known.join(other.at, floor_);
        access_part(step, shape.use.parts[i], parts[i].at, known);
    }
    stream.clock.join(all, floor_);
    for (const std::uint64_t event : shape.use.records) {
        Clock& reached = events_.at(event, floor_).by_nodes;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const auto& records = shape.use.parts[i].records;
            if (std::find(records.begin(), records.end(), event) != records.end())
                reached.join(parts[i].before, parts[i].at, floor_);
        }
    }
}

void CheckEngine::access_part(const Step& step, const ShapePart& part, Epoch epoch,
                              const Clock& before) {
    const Order order{&before, &floor_, epoch.slot()};
    for (const CheckAccess& one : part.accesses) {
        const Mark mark{.epoch = epoch,
                        .site = step.op.site,
                        .mode = one.mode,
                        .argument = one.argument,
                        .is_raw = one.allocation == 0,
                        .is_guess = one.is_guess};
        access(step.op, one, mark, order, step.stream);
    }
}

// Batches ------------------------------------------------------------------------------------

/// Handles the submission of a batch. The batch's operations were already added when they were
/// recorded. Work that its host functions enqueue is ordered after the whole batch.
void CheckEngine::sent_batch(const CheckOp& op) {
    const auto found = batched_.find(op.recording);
    if (found == batched_.end()) return;
    if (op.id != 0) {
        Past& all = functions_.at(op.id, floor_);
        all.site = op.site;
        for (const Epoch epoch : found->second)
            if (const StreamTrack* const track = streams_.by_slot(epoch.slot()))
                all.moment.before.join(track->clock_at(epoch.position()), epoch, floor_);
    }
    batched_.erase(found);
}

void CheckEngine::abandon(std::uint64_t recording) {
    const auto found = batched_.find(recording);
    if (found == batched_.end()) return;
    for (const Epoch epoch : found->second) abandoned_.insert(epoch.word());
    batched_.erase(found);
    // Forgets abandoned operations that the host knows to be complete, because they can cause no
    // more conflicts.
    std::erase_if(abandoned_, [&](std::uint64_t word) {
        const Position mask = (Position{1} << Epoch::position_bits) - 1;
        return floor_.covers({static_cast<Slot>(word >> Epoch::position_bits), word & mask});
    });
}

// Collectives --------------------------------------------------------------------------------

/// Adds one share of a collective. A share's writes are ordered after the entry of all shares.
/// Later shares are still unknown, so conflicts are held until all shares have arrived or the
/// collective is abandoned.
void CheckEngine::share(const Step& step) {
    const CheckOp& op = step.op;
    StreamTrack& stream = *step.stream;
    for (auto at = collectives_.begin(); at != collectives_.end();) {
        const auto& shares = at->second.shares;
        const bool has_stream = at->first != op.collective &&
                                std::any_of(shares.begin(), shares.end(), [&](const Share& one) {
                                    return one.stream == op.stream;
                                });
        if (has_stream) end_collective(at->second, false);
        at = has_stream ? collectives_.erase(at) : std::next(at);
    }
    Collective& collective = collectives_[op.collective];
    collective.entered.join(stream.clock, floor_);
    collective.entered.join(Epoch(stream.slot, step.epoch.position() - 1), floor_);
    stream.clock.join(collective.entered, floor_);
    stream.in_collective = true;
    ++stream.open_collectives;
    const std::size_t before = findings_.size();
    access_all(step);
    for (std::size_t i = before; i < findings_.size(); ++i) collective.held.push_back(findings_[i]);
    findings_.resize(before);
    collective.shares.push_back({op.stream, step.epoch});
    if (collective.shares.size() < op.shares) return;
    end_collective(collective, true);
    collectives_.erase(op.collective);
}

void CheckEngine::end_collective(Collective& collective, bool is_complete) {
    for (const Share& one : collective.shares) {
        StreamTrack* const stream = streams_.find(one.stream);
        if (stream == nullptr) continue;
        --stream->open_collectives;
        if (!is_complete) continue;
        stream->clock.join(collective.entered, floor_);
        stream->keep_stage(one.epoch.position(), floor_);
    }
    for (Finding& one : collective.held) {
        const StreamTrack* const first = streams_.find(one.first.stream);
        const Epoch epoch = one.first.moment;
        if (is_complete && first != nullptr &&
            (collective.entered.covers(epoch) || floor_.covers(epoch)))
            continue;
        if (!is_complete && one.is_certain) {
            one.is_certain = false;
            one.doubt = Doubt::leak;
        }
        findings_.push_back(one);
    }
    collective.held.clear();
}

}  // namespace heddle::detail
