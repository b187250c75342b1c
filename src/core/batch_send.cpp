// Sending what a batch recorded, with the order of all streams that took part seen to.
#include <thread>

#include <heddle/array.hpp>

#include "core/batch.hpp"
#include "core/order.hpp"
#include "core/recording.hpp"
#include "core/registry.hpp"

namespace heddle::detail {

namespace {

/// A stream that took part, while the batch is on its way.
struct Member {
    StreamRecord* stream;
    std::uint64_t stream_id;
    std::uint64_t given;
};

/// The lock is held. What it recorded is the caller's now, and its streams are not recorded.
std::vector<Member> take_apart(Recording& r, std::vector<EventState*>& events) {
    // Marks that somebody may still look at become nodes: marks alone would be known to nobody but this recording.
    for (Recording::Mark& mark : r.marks) {
        if (mark.event == nullptr) continue;
        if (mark.op < 0) {
            const std::uint32_t op = r.tape->add(NodeKind::record_event, mark.event->device, mark.tail, {});
            r.tape->set_event(op, mark.event);
        }
        mark.event->recording.store(nullptr, std::memory_order_release);
        mark.event->capture_id = 0;
        events.push_back(mark.event);
    }
    r.marks.clear();
    std::vector<Member> members;
    for (Recording::Lane& lane : r.lanes) {
        StreamRecord* const stream = lane.stream;
        if (stream == nullptr || stream->recording.load(std::memory_order_relaxed) != &r) continue;
        members.push_back({stream, lane.stream_id, lane.given});
        stream->recording.store(nullptr, std::memory_order_release);
        stream->clear(stream_flag::recording);
    }
    return members;
}

void use_on(const Tape& tape, StreamRecord& origin) {
    for (Block* block : tape.all_blocks()) note_use(block, origin);
}

/// What the others are given from now on comes after the graph.
void follow(std::vector<Member>& members, StreamRecord& origin, const SourceLocation& where) {
    for (std::size_t i = 1; i < members.size(); ++i) {
        StreamRecord& stream = *members[i].stream;
        if (stream.id.load() != members[i].stream_id || stream.has(stream_flag::dead)) continue;
        const bool clean = stream.submissions.load(std::memory_order_acquire) == members[i].given;
        order_after_stream(stream, origin, where);
        if (!clean) continue;
        stream.settled_at = members[i].given = stream.submissions.load(std::memory_order_acquire);
        stream.settled_by = origin.id.load(std::memory_order_relaxed);
    }
}

/// The lock is held: those that nothing else was given meanwhile are recorded again.
void put_together(Recording& r, const std::vector<Member>& members) {
    r.lanes.clear();
    for (const Member& member : members) {
        StreamRecord& stream = *member.stream;
        const bool first = r.lanes.empty();
        if (stream.id.load() != member.stream_id || !is_recordable(stream) ||
            (!first && stream.submissions.load(std::memory_order_acquire) != member.given)) {
            if (first) return;  // the first stream is gone or has failed: nothing is recorded any more
            continue;
        }
        Recording::Lane lane;
        lane.stream = &stream;
        lane.stream_id = member.stream_id;
        lane.given = stream.submissions.load(std::memory_order_relaxed);
        stream.lane = r.lanes.size();
        r.lanes.push_back(std::move(lane));
        stream.recording.store(&r, std::memory_order_release);
        stream.set(stream_flag::recording);
    }
}

}  // namespace

void send(Recording& r, bool last, const SourceLocation& where) {
    if (r.sending) {  // by another thread: what this one wants sent is on its way
        const std::uint64_t id = r.id;
        while (r.id == id && r.sending) {
            r.lock.unlock();
            std::this_thread::yield();
            r.lock.lock();
        }
        r.lock.unlock();
        return;
    }
    BatchRun& run = *r.batch;
    std::vector<EventState*> events;
    std::vector<Block*> given_up;
    std::vector<Member> members;
    std::exception_ptr failure;
    try {
        members = take_apart(r, events);
    } catch (...) {
        r.lock.unlock();
        throw;  // out of memory; nothing has been sent
    }
    given_up.swap(r.given_up);
    std::shared_ptr<Tape> tape = std::exchange(r.tape, nullptr);
    r.sending = true;
    r.lock.unlock();
    try {
        if (!members.empty()) {
            StreamRecord& origin = *members.front().stream;
            if (members.size() > 1 || r.lanes.size() > 1) use_on(*tape, origin);
            if (!tape->is_empty()) run.launch(tape, origin, where);
            const std::uint64_t given = origin.submissions.load(std::memory_order_acquire);
            for (EventState* event : events) note_record(*event, origin, given, 0, false);
            follow(members, origin, where);
        }
    } catch (...) {
        failure = std::current_exception();
        tape = nullptr;
    }
    r.lock.lock();
    r.tape = tape != nullptr ? std::move(tape) : std::make_shared<Tape>();
    if (last) r.lanes.clear();
    else put_together(r, members);
    r.sending = false;
    r.lock.unlock();
    for (Block* block : given_up) release(*block);
    if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace heddle::detail
