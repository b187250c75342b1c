// Builds lists of operations, and returns the checker's findings for them.
#include "check/op_builder.hpp"

#include <ostream>
#include <utility>

#include "check/engine.hpp"

namespace heddle_test {

CheckAccess access_to(const Memory& memory, AccessMode mode) {
    const MemoryRange range{reinterpret_cast<const void*>(memory.data), memory.bytes, memory.rows,
                            memory.pitch};
    return {{range, memory.id, 1, mode}};
}
CheckAccess in(const Memory& memory) { return access_to(memory, AccessMode::read); }
CheckAccess out(const Memory& memory) { return access_to(memory, AccessMode::write); }
CheckAccess atomics(const Memory& memory) { return access_to(memory, AccessMode::concurrent); }

Program::Program() = default;
Program::Program(const Program&) = default;
Program::~Program() = default;

template <class F> Line Program::begin_host_wait(F&& set) {
    const Line line = add(OpKind::synchronize_begin, {});
    set();
    waiting_[thread] = ops.back();
    return line;
}

Program::StreamName Program::stream(std::uint32_t device) {
    const StreamName made{++ids_};
    devices_[made.id] = device;
    return made;
}

Program::EventName Program::event() { return {++ids_}; }

Memory Program::array(std::uint64_t bytes) {
    addresses_ += bytes + 64;
    return {++ids_, addresses_ - bytes, bytes, 0, 1};
}

Line Program::add(OpKind kind, StreamName stream, Accesses accesses) {
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

Line Program::launch(StreamName stream, Accesses accesses) {
    return add(OpKind::launch, stream, std::move(accesses));
}

Line Program::read(StreamName stream, const Memory& x) { return launch(stream, {in(x)}); }

Line Program::write(StreamName stream, const Memory& x) { return launch(stream, {out(x)}); }

Line Program::copy(StreamName stream, const Memory& to, const Memory& from) {
    return add(OpKind::copy, stream, {out(to), in(from)});
}

Line Program::host_read(const Memory& x) { return add(OpKind::host_access, {}, {in(x)}); }

Line Program::host_write(const Memory& x) { return add(OpKind::host_access, {}, {out(x)}); }

Line Program::after_users(StreamName s, const Memory& x) {
    return add(OpKind::wait_for_users, s, {in(x)});
}

Line Program::used_on(StreamName s, const Memory& x) { return add(OpKind::used_on, s, {in(x)}); }

Line Program::host_function(StreamName stream, Accesses accesses) {
    const Line line = add(OpKind::host_function, stream, std::move(accesses));
    ops.back().may_signal = true;
    return line;
}

std::uint64_t Program::id_of(Line line) const { return ops[line - 1].id; }

Line Program::record(StreamName stream, EventName event) {
    EventNow& now = events_[event.id];
    const Line line = add(OpKind::record, stream);
    now = {++now.records, stream.id, ops.back().position};
    ops.back().event = {event.id, now.records};
    return line;
}

Program::EventName Program::record(StreamName stream) {
    const EventName made = event();
    record(stream, made);
    return made;
}

Line Program::wait(StreamName stream, EventName event) {
    const EventNow now = events_[event.id];
    const bool is_elided = now.records == 0 || now.stream == stream.id;
    const Line line = add(is_elided ? OpKind::wait_elided : OpKind::wait, stream);
    set_target(event);
    return line;
}

Line Program::wait_stream(StreamName stream, StreamName other, OpKind kind) {
    const std::uint64_t covered = positions_[other.id];
    const Line line = add(kind, stream);
    ops.back().other = other.id;
    ops.back().other_position = covered;
    return line;
}

Line Program::elided_wait(StreamName stream, StreamName other) {
    return wait_stream(stream, other, OpKind::wait_elided);
}

Line Program::synchronize(StreamName stream) {
    begin_synchronize(stream);
    return end_synchronize();
}

Line Program::begin_synchronize(StreamName stream) {
    const std::uint64_t covered = positions_[stream.id];
    return begin_host_wait([&] {
        ops.back().other = stream.id;
        ops.back().other_position = covered;
    });
}

Line Program::synchronize(EventName event) {
    begin_host_wait([&] { set_target(event); });
    return end_synchronize();
}

Line Program::synchronize_device(std::uint32_t device) {
    begin_host_wait([&] { ops.back().device = device; });
    return end_synchronize();
}

Line Program::end_synchronize() {
    CheckOp op = waiting_[thread];
    op.kind = OpKind::synchronize;
    op.id = ++ids_;
    op.site = static_cast<Line>(ops.size() + 1);
    ops.push_back(op);
    return op.site;
}

Line Program::query(StreamName stream) {
    const std::uint64_t covered = positions_[stream.id];
    const Line line = add(OpKind::query, {});
    ops.back().other = stream.id;
    ops.back().other_position = covered;
    return line;
}

Line Program::query(EventName event) {
    const Line line = add(OpKind::query, {});
    set_target(event);
    return line;
}

Memory Program::allocate(StreamName stream, std::uint64_t bytes) {
    return allocate_at(stream, array(bytes).data, bytes);
}

Memory Program::allocate_at(StreamName stream, std::uint64_t data, std::uint64_t bytes) {
    const Memory made{++ids_, data, bytes, 0, 1};
    add(OpKind::allocate, stream, {out(made)});
    return made;
}

Line Program::free(StreamName stream, const Memory& x) {
    return add(OpKind::free, stream, {out(x)});
}

Line Program::event_op(OpKind kind, EventName event) {
    const Line line = add(kind, {});
    ops.back().event = {event.id, events_[event.id].records};
    return line;
}

Line Program::collective(StreamName stream, std::uint64_t number, std::uint32_t share,
                         std::uint32_t shares, Accesses accesses) {
    const Line line = add(OpKind::collective, stream, std::move(accesses));
    ops.back().collective = number;
    ops.back().share = share;
    ops.back().shares = shares;
    return line;
}

Line Program::launch_graph(StreamName stream, std::vector<CheckNode> nodes, std::uint64_t graph) {
    auto shape = std::make_shared<CheckShape>();
    shape->id = ++ids_;
    shape->nodes = std::move(nodes);
    return launch_graph(stream, shape, graph);
}

Line Program::launch_graph(StreamName stream, const std::shared_ptr<const CheckShape>& shape,
                           std::uint64_t graph) {
    const Line line = add(OpKind::graph_launch, stream);
    ops.back().shape = shape;
    ops.back().graph = graph != 0 ? graph : ++ids_;
    return line;
}

Line Program::send_batch(StreamName stream, std::uint64_t of_recording) {
    const Line line = add(OpKind::graph_launch, stream);
    ops.back().mode = OpMode::run;
    ops.back().recording = of_recording;
    return line;
}

std::uint64_t Program::number() { return ++ids_; }

std::vector<Finding> Program::findings() const {
    detail::CheckEngine engine;
    for (const CheckOp& op : ops) engine.add(op);
    engine.finish();
    return engine.findings();
}

Program Program::without(Line line) const {
    Program left = *this;
    left.ops.erase(left.ops.begin() + (line - 1));
    return left;
}

void Program::set_target(EventName event) {
    const EventNow now = events_[event.id];
    ops.back().event = {event.id, now.records};
    ops.back().other = now.stream;
    ops.back().other_position = now.position;
}

CheckNode node(Accesses accesses, std::vector<std::uint32_t> after, OpKind kind) {
    CheckNode made;
    made.kind = kind;
    made.accesses = std::move(accesses);
    made.after = std::move(after);
    return made;
}
CheckNode event_node(OpKind kind, Program::EventName event, std::vector<std::uint32_t> after) {
    CheckNode made = node({}, std::move(after), kind);
    made.event = event.id;
    return made;
}
CheckNode in_body(CheckNode made, std::uint32_t conditional, std::uint32_t alternative) {
    made.inside = conditional;
    made.alternative = alternative;
    return made;
}

std::ostream& operator<<(std::ostream& to, const Race& race) {
    return to << (race.is_certain ? "" : "possible ") << to_string(race.kind) << " of "
              << race.first << " and " << race.second;
}

Races races_of(const std::vector<Finding>& findings) {
    Races races;
    for (const Finding& one : findings)
        races.push_back({one.kind, one.first.site, one.second.site, one.is_certain});
    return races;
}
Races races(const Program& program) { return races_of(program.findings()); }
bool is_silent(const Program& program) { return program.findings().empty(); }

}  // namespace heddle_test
