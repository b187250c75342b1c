// Captures: begun, ended, thrown away.
#include <heddle/capture.hpp>

#include <heddle/conditional_nodes.hpp>
#include <heddle/copy.hpp>

#include <memory>
#include <mutex>

#include "core/graph.hpp"
#include "core/order.hpp"
#include "core/recording.hpp"
#include "core/registry.hpp"

namespace heddle {

using detail::GraphData;
using detail::NodeData;
using detail::Recording;
using detail::StreamRecord;
using detail::Tape;

namespace {

/// Streams whose work nobody waits for. A stream that left keeps its lane, and with it its name.
std::string unjoined(const Recording& r, const std::vector<bool>& reached) {
    std::string names;
    for (std::size_t i = 1; i < r.lanes.size(); ++i) {
        const Recording::Lane& lane = r.lanes[i];
        bool joined = true;
        for (const std::uint32_t one : lane.tail) joined = joined && reached[one];
        if (!joined) names += (names.empty() ? "'" : ", '") + lane.name + "'";
    }
    return names;
}

/// Events that are nodes get their records from launches; for the others the capture was all there is.
void settle_marks(Recording& r) {
    for (Recording::Mark& mark : r.marks) {
        if (mark.event == nullptr) continue;
        mark.event->recording.store(nullptr, std::memory_order_release);
        if (mark.op >= 0) {
            mark.event->capture_id = 0;
            mark.event->recorded = false;
        }
    }
    r.marks.clear();
}

/// What was captured; the capture is over, whatever happens.
std::unique_ptr<GraphData> finish(Recording& r, bool join, const SourceLocation& where) {
    const std::unique_ptr<Recording, void (*)(Recording*)> over(&r,
                                                                [](Recording* one) { end_recording(*one); });
    collect_foreign(r, where);
    std::unique_lock lock(r.lock);
    // A graph has ended when all of it has: joining means that nobody asks.
    if (const std::string names = join ? "" : unjoined(r, reached_from(*r.tape, r.lanes[0].tail));
        !names.empty())
        throw_error(
            {.code = ErrorCode::usage,
             .message = "these streams took part in the capture and did not come back: " + names +
                        ". Let the first stream wait for them (wait_stream), or capture with {.join = true}",
             .call = "capture",
             .device = r.device,
             .where = where});
    settle_marks(r);
    const std::shared_ptr<Tape> tape = std::exchange(r.tape, std::make_shared<Tape>());
    const Device device = r.device;
    lock.unlock();
    return graph_of(tape, device, where);
}

}  // namespace

ScopedCapture::ScopedCapture(StreamRef ref, CaptureOptions options, SourceLocation where)
    : ScopeBase(where), join_(options.join) {
    StreamRecord& stream = detail::record_of(ref.state());
    detail::check_usable(stream, "capture", where);
    if (is_capturing(ref))
        throw_error(detail::stream_error(
            ErrorCode::usage, stream,
            "the stream is in a capture already: end that first, or capture on another stream "
            "and launch its graph in this one",
            "capture", where));
    detail::send_batch_of(stream, where);
    recording_ = &detail::begin_recording(stream, nullptr, options.mode, where);
    change_device(ref.device());
    change_stream(ref);
}

ScopedCapture::~ScopedCapture() {
    if (recording_ != nullptr) detail::end_recording(*recording_);
}

Graph ScopedCapture::end(SourceLocation where) {
    if (recording_ == nullptr)
        throw_error({.code = ErrorCode::usage,
                     .message = "this capture has ended already",
                     .call = "end",
                     .where = where});
    leave();
    Graph graph(finish(*std::exchange(recording_, nullptr), join_, where));
    return graph;
}

void ScopedCapture::end_into(Graph& graph, std::initializer_list<Node> after, SourceLocation where) {
    GraphData& to = graph.data(where);
    for (const Node& node : after)
        if (node.data().graph != &to)
            throw_error({.code = ErrorCode::usage,
                         .message = label_of(node.data()) + " is not a node of the graph that is added to",
                         .call = "end_into",
                         .where = where});
    const Graph more = end(where);
    GraphData& from = more.data();
    if (from.device != to.device)
        throw_error({.code = ErrorCode::usage,
                     .message = "a graph of " + to.device.name() + " cannot take up work captured on " +
                                from.device.name(),
                     .call = "end_into",
                     .where = where});
    std::vector<std::size_t> first;
    for (const Node& node : after) first.push_back(node.data().index);
    append_graph(to, from, first);
}

namespace detail {

bool is_recorded(StreamRef stream) {
    StreamRecord& record = record_of(stream.state());
    check_usable(record, "capture_if or capture_while", SourceLocation());
    if (record.has(stream_flag::recording)) return is_captured(record);
    if (stream.is_capturing())
        throw_error(stream_error(
            ErrorCode::unsupported, record,
            "the capture was begun past heddle, which cannot add conditions to it: capture with heddle",
            "capture_if or capture_while", {}));
    return false;
}

Graph capture_body(StreamRef stream, const std::function<void()>& body, SourceLocation where) {
    StreamRecord& record = record_of(stream.state());
    if (record.has(stream_flag::handed_out))
        throw_error(
            stream_error(ErrorCode::unsupported, record,
                         "others hold the stream's native handle, and what they give it cannot be captured "
                         "under a condition: use another stream, which waits for this one",
                         "capture_if or capture_while", where));
    Recording& around = *record.recording.load();
    Recording& r = begin_recording(record, nullptr, CaptureMode::thread_local_, where);
    {
        const std::lock_guard lock(around.lock);
        ++around.bodies;
    }
    const std::unique_ptr<Recording, void (*)(Recording*)> over(&around, [](Recording* one) {
        const std::lock_guard lock(one->lock);
        --one->bodies;
    });
    try {
        const ScopedStream in(stream, {.wait_on_enter = false}, where);
        body();
    } catch (...) {
        end_recording(r);
        throw;
    }
    return Graph(finish(r, false, where));
}

void record_condition(StreamRef stream, ConditionalKind kind, View<const int> value,
                      std::vector<Graph> graphs, SourceLocation where) {
    std::vector<std::unique_ptr<GraphData>> bodies;
    for (Graph& graph : graphs) {
        bodies.push_back(clone_graph(graph.data(where)));
        if (!bodies.back()->nodes.empty()) continue;
        bodies.back()->nodes.push_back(new_node(NodeKind::empty, stream.device(), where));
        bodies.back()->dependencies.emplace_back();
        bodies.back()->nodes.back()->graph = bodies.back().get();
    }
    const auto node = make_conditional(kind, region(value), std::move(bodies), where);
    check_conditional(*node, stream.device(), where);
    record_node(record_of(stream.state()), node, where);
}

int read_condition(StreamRef stream, View<const int> value, SourceLocation where) {
    if (value.size() != 1)
        throw_error({.code = ErrorCode::usage,
                     .message = "a condition needs a value of one int, and has one of " +
                                std::to_string(value.size()) + ": take first(1)",
                     .call = "capture_if or capture_while",
                     .where = where});
    int now = 0;
    copy(stream, std::span<int>(&now, 1), value.first(1), where);
    return now;
}

}  // namespace detail

bool is_capturing(StreamRef stream) { return stream.is_capturing(); }

void record_external(StreamRef stream, Event& event, SourceLocation where) {
    detail::record_event(event.state("record_external", where), detail::record_of(stream.state()), true,
                         where);
}

void wait_external(StreamRef ref, const Event& event, SourceLocation where) {
    StreamRecord& stream = detail::record_of(ref.state());
    detail::check_usable(stream, "wait_external", where);
    detail::EventState& state = event.state("wait_external", where);
    if (!stream.has(detail::stream_flag::recording) || !detail::is_captured(stream))
        return ref.wait_event(event, where);
    if (state.device.kind() != stream.device.kind())
        throw_error(detail::stream_error(
            ErrorCode::usage, stream,
            "a graph can only wait for events of its own kind of device: wait on the stream, "
            "before the launch",
            "wait_external", where));
    detail::record_wait_node(stream, state, where);
}

}  // namespace heddle
