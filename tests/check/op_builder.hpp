// Writes lists of operations for the ordering checker, as a program would cause them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "check/engine.hpp"

namespace heddle_test {

using namespace heddle;  // NOLINT
using detail::CheckAccess;
using detail::CheckEngine;
using detail::CheckNode;
using detail::CheckOp;
using detail::CheckShape;
using detail::Finding;
using detail::FindingKind;
using detail::KnownOrder;

/// Memory of a made-up address.
struct Memory {
    std::uint64_t id = 0, data = 0, bytes = 0, pitch = 0;
    std::uint32_t rows = 1;

    Memory part(std::uint64_t offset, std::uint64_t size) const {
        return {id, data + offset, size, 0, 1};
    }
    Memory columns(std::uint64_t offset, std::uint64_t size, std::uint64_t apart,
                   std::uint32_t count) const {
        return {id, data + offset, size, apart, count};
    }
    /// The same bytes, reached by a plain pointer.
    Memory raw() const { return {0, data, bytes, pitch, rows}; }
};

inline CheckAccess access_to(const Memory& memory, AccessMode mode) {
    return {.data = memory.data,
            .bytes = memory.bytes,
            .pitch = memory.pitch,
            .allocation = memory.id,
            .rows = memory.rows,
            .element = 1,
            .mode = mode};
}
inline CheckAccess in(const Memory& memory) { return access_to(memory, AccessMode::read); }
inline CheckAccess out(const Memory& memory) { return access_to(memory, AccessMode::write); }
inline CheckAccess atomics(const Memory& memory) {
    return access_to(memory, AccessMode::concurrent);
}

using Accesses = std::vector<CheckAccess>;

/// An operation's place in the list, from 1: its site as well.
using Line = std::uint32_t;

class Program {
public:
    struct StreamName {
        std::uint64_t id = 0;
    };
    struct EventName {
        std::uint64_t id = 0;
    };

    StreamName stream(std::uint32_t device = 0) {
        const StreamName made{++ids_};
        devices_[made.id] = device;
        return made;
    }
    EventName event() { return {++ids_}; }
    /// Memory that was allocated before the list begins.
    Memory array(std::uint64_t bytes = 100) {
        addresses_ += bytes + 64;
        return {++ids_, addresses_ - bytes, bytes, 0, 1};
    }

    /// Appends an operation of any kind.
    Line add(OpKind kind, StreamName stream, Accesses accesses = {}) {
        CheckOp& op = ops.emplace_back();
        op.kind = kind;
        op.mode = mode;
        op.recording = mode != OpMode::run ? recording : 0;
        op.parent = parent;
        op.thread = thread;
        op.reason = reason;
        op.id = ++ids_;
        op.site = static_cast<Line>(ops.size());
        op.stream = stream.id;
        op.accesses = std::move(accesses);
        if (stream.id != 0) {
            op.position = ++positions_[stream.id];
            op.device = devices_[stream.id];
        }
        return op.site;
    }
    Line launch(StreamName stream, Accesses accesses) {
        return add(OpKind::launch, stream, std::move(accesses));
    }
    Line read(StreamName stream, const Memory& x) { return launch(stream, {in(x)}); }
    Line write(StreamName stream, const Memory& x) { return launch(stream, {out(x)}); }
    Line copy(StreamName stream, const Memory& to, const Memory& from) {
        return add(OpKind::copy, stream, {out(to), in(from)});
    }
    Line host_read(const Memory& x) { return add(OpKind::host_access, {}, {in(x)}); }
    Line host_write(const Memory& x) { return add(OpKind::host_access, {}, {out(x)}); }
    /// Without a stream it is the host.
    Line after_users(StreamName s, const Memory& x) { return add(OpKind::after_users, s, {in(x)}); }
    Line used_on(StreamName s, const Memory& x) { return add(OpKind::used_on, s, {in(x)}); }
    Line host_function(StreamName stream, Accesses accesses = {}) {
        const Line line = add(OpKind::host_function, stream, std::move(accesses));
        ops.back().may_signal = true;
        return line;
    }
    std::uint64_t id_of(Line line) const { return ops[line - 1].id; }

    Line record(StreamName stream, EventName event) {
        EventNow& now = events_[event.id];
        const Line line = add(OpKind::record, stream);
        now = {++now.records, stream.id, ops.back().position};
        ops.back().event = {event.id, now.records};
        return line;
    }
    EventName record(StreamName stream) {
        const EventName made = event();
        record(stream, made);
        return made;
    }
    Line wait(StreamName stream, EventName event) {
        const EventNow now = events_[event.id];
        const bool is_elided = now.records == 0 || now.stream == stream.id;
        const Line line = add(is_elided ? OpKind::wait_elided : OpKind::wait, stream);
        set_target(event);
        return line;
    }
    Line wait_stream(StreamName stream, StreamName other, OpKind kind = OpKind::wait) {
        const std::uint64_t covered = positions_[other.id];
        const Line line = add(kind, stream);
        ops.back().other = other.id;
        ops.back().other_position = covered;
        return line;
    }
    Line elided_wait(StreamName stream, StreamName other) {
        return wait_stream(stream, other, OpKind::wait_elided);
    }
    Line synchronize(StreamName stream) {
        begin_synchronize(stream);
        return end_synchronize();
    }
    Line begin_synchronize(StreamName stream) {
        const std::uint64_t covered = positions_[stream.id];
        return begin_host_wait([&] {
            ops.back().other = stream.id;
            ops.back().other_position = covered;
        });
    }
    Line synchronize(EventName event) {
        begin_host_wait([&] { set_target(event); });
        return end_synchronize();
    }
    Line synchronize_device(std::uint32_t device) {
        begin_host_wait([&] { ops.back().device = device; });
        return end_synchronize();
    }
    Line end_synchronize() {
        CheckOp op = waiting_[thread];
        op.kind = OpKind::synchronize;
        op.id = ++ids_;
        op.site = static_cast<Line>(ops.size() + 1);
        ops.push_back(op);
        return op.site;
    }
    /// A query that answers "complete".
    Line query(StreamName stream) {
        const std::uint64_t covered = positions_[stream.id];
        const Line line = add(OpKind::query, {});
        ops.back().other = stream.id;
        ops.back().other_position = covered;
        return line;
    }
    Line query(EventName event) {
        const Line line = add(OpKind::query, {});
        set_target(event);
        return line;
    }
    Memory allocate(StreamName stream, std::uint64_t bytes = 100) {
        return allocate_at(stream, array(bytes).data, bytes);
    }
    /// Memory that something else had before.
    Memory allocate_at(StreamName stream, std::uint64_t data, std::uint64_t bytes = 100) {
        const Memory made{++ids_, data, bytes, 0, 1};
        add(OpKind::allocate, stream, {out(made)});
        return made;
    }
    Line free(StreamName stream, const Memory& x) { return add(OpKind::free, stream, {out(x)}); }

    Line event_op(OpKind kind, EventName event) {
        const Line line = add(kind, {});
        ops.back().event = {event.id, events_[event.id].records};
        return line;
    }
    Line collective(StreamName stream, std::uint64_t number, std::uint32_t share,
                    std::uint32_t shares, Accesses accesses) {
        const Line line = add(OpKind::collective, stream, std::move(accesses));
        ops.back().collective = number;
        ops.back().share = share;
        ops.back().shares = shares;
        return line;
    }
    Line launch_graph(StreamName stream, std::vector<CheckNode> nodes, std::uint64_t graph = 0) {
        auto shape = std::make_shared<CheckShape>();
        shape->id = ++ids_;
        shape->nodes = std::move(nodes);
        return launch_graph(stream, shape, graph);
    }
    Line launch_graph(StreamName stream, const std::shared_ptr<const CheckShape>& shape,
                      std::uint64_t graph = 0) {
        const Line line = add(OpKind::graph_launch, stream);
        ops.back().shape = shape;
        ops.back().graph = graph != 0 ? graph : ++ids_;
        return line;
    }
    Line send_batch(StreamName stream, std::uint64_t of_recording) {
        const Line line = add(OpKind::graph_launch, stream);
        ops.back().mode = OpMode::run;
        ops.back().recording = of_recording;
        return line;
    }
    std::uint64_t number() { return ++ids_; }

    /// What the checker says of the list.
    std::vector<Finding> findings() const {
        CheckEngine engine;
        for (const CheckOp& op : ops) engine.add(op);
        engine.finish();
        return engine.findings();
    }
    /// The list without one of its operations.
    Program without(Line line) const {
        Program left = *this;
        left.ops.erase(left.ops.begin() + (line - 1));
        return left;
    }

    std::vector<CheckOp> ops;
    // Set for the operations that follow.
    OpMode mode = OpMode::run;
    std::uint64_t recording = 0, parent = 0;
    std::uint32_t thread = 0;
    WaitReason reason = WaitReason::user;

private:
    struct EventNow {
        std::uint64_t records = 0, stream = 0, position = 0;
    };
    void set_target(EventName event) {
        const EventNow now = events_[event.id];
        ops.back().event = {event.id, now.records};
        ops.back().other = now.stream;
        ops.back().other_position = now.position;
    }
    template <class F> Line begin_host_wait(F&& set) {
        const Line line = add(OpKind::synchronize_begins, {});
        set();
        waiting_[thread] = ops.back();
        return line;
    }

    std::uint64_t ids_ = 1000, addresses_ = 1 << 20;
    std::map<std::uint64_t, std::uint64_t> positions_;
    std::map<std::uint64_t, std::uint32_t> devices_;
    std::map<std::uint64_t, EventNow> events_;
    std::map<std::uint32_t, CheckOp> waiting_;
};

inline CheckNode node(Accesses accesses, std::vector<std::uint32_t> after = {},
                      OpKind kind = OpKind::launch) {
    CheckNode made;
    made.kind = kind;
    made.accesses = std::move(accesses);
    made.after = std::move(after);
    return made;
}
inline CheckNode event_node(OpKind kind, Program::EventName event,
                            std::vector<std::uint32_t> after = {}) {
    CheckNode made = node({}, std::move(after), kind);
    made.event = event.id;
    return made;
}
inline CheckNode in_body(CheckNode made, std::uint32_t conditional, std::uint32_t alternative) {
    made.inside = conditional;
    made.alternative = alternative;
    return made;
}

/// A finding without what most tests do not look at.
struct Race {
    FindingKind kind;
    Line first, second;
    bool is_certain = true;
    bool operator==(const Race&) const = default;
};
using Races = std::vector<Race>;

inline std::ostream& operator<<(std::ostream& to, const Race& race) {
    return to << (race.is_certain ? "" : "possible ") << to_string(race.kind) << " of "
              << race.first << " and " << race.second;
}

inline Races races_of(const std::vector<Finding>& findings) {
    Races races;
    for (const Finding& one : findings)
        races.push_back({one.kind, one.first.site, one.second.site, one.is_certain});
    return races;
}
inline Races races(const Program& program) { return races_of(program.findings()); }
inline bool is_silent(const Program& program) { return program.findings().empty(); }

}  // namespace heddle_test
