// Captures: beginning, ending and discarding them.
#include <heddle/recording/capture.hpp>
#include <heddle/recording/capture_conditions.hpp>

#include <heddle/graph/conditional_nodes.hpp>
#include <heddle/memory/copy.hpp>

#include <memory>
#include <mutex>

#include "core/base/errors.hpp"
#include "core/graph/build.hpp"
#include "core/graph/conditional_nodes.hpp"
#include "core/recording/capture_recorder.hpp"
#include "core/stream/order.hpp"
#include "core/stream/usable.hpp"

namespace heddle {

using detail::CaptureRecorder;
using detail::GraphData;
using detail::NodeData;
using detail::StreamRecord;

namespace {

/// Ends the capture, and returns the captured work as a graph. The capture ends even if this
/// throws.
std::unique_ptr<GraphData> finish(CaptureRecorder& capture, bool join,
                                  const SourceLocation& where) {
    const std::unique_ptr<CaptureRecorder, void (*)(CaptureRecorder*)> over(
        &capture, [](CaptureRecorder* one) { CaptureRecorder::finish(*one); });
    std::unique_ptr<GraphData> graph = capture.take(join, where);
    if (graph->nodes.empty()) capture.report_empty(where);
    return graph;
}

}  // namespace

ScopedCapture::ScopedCapture(StreamRef ref, CaptureOptions options, Where where) try
    : ScopeBase(where), join_(options.join) {
    StreamRecord& stream = detail::record_of(ref);
    detail::check_usable(stream, "capture", where);
    if (ref.is_capturing())
        detail::usage_error(
            {"capture", where, stream},
            "the stream is already in a capture: end that capture first, or capture on another "
            "stream and launch the resulting graph in this capture");
    recorder_ = &CaptureRecorder::start(stream, options.mode, where);
    try {
        recorder_->elsewhere.begin(stream);
        change_device(ref.device());
        change_stream(ref);
    } catch (...) {
        CaptureRecorder::finish(*recorder_);
        throw;
    }
} catch (...) {
    detail::rethrow_as_error("capture", where);
}

ScopedCapture::~ScopedCapture() {
    if (recorder_ != nullptr) CaptureRecorder::finish(*recorder_);
}

Graph ScopedCapture::end(Where where) try {
    if (recorder_ == nullptr)
        detail::usage_error({"end", where},
                            "this capture has already ended: call end() or end_into() once");
    leave();
    return detail::Access::make<Graph>(finish(*std::exchange(recorder_, nullptr), join_, where));
} catch (...) {
    detail::rethrow_as_error("end", where);
}

void ScopedCapture::end_into(Graph& graph, std::initializer_list<GraphNode> after,
                             Where where) try {
    GraphData& to = detail::Access::data(graph, where);
    for (const GraphNode& node : after)
        if (detail::Access::data(node).graph != &to)
            detail::usage_error(
                {"end_into", where},
                "{} is not a node of the graph that end_into() adds to: pass nodes of that graph",
                label_of(detail::Access::data(node)));
    const Graph more = end(where);
    GraphData& from = detail::Access::data(more);
    if (from.device != to.device)
        detail::usage_error(
            {"end_into", where},
            "the graph runs on {}, but the work was captured on {}: capture on the graph's device",
            to.device, from.device);
    std::vector<std::size_t> first;
    for (const GraphNode& node : after) first.push_back(detail::Access::data(node).index);
    append_graph(to, from, first);
} catch (...) {
    detail::rethrow_as_error("end_into", where);
}

namespace detail {

bool is_recorded(StreamRef stream) {
    StreamRecord& record = record_of(stream);
    check_usable(record, "capture_if or capture_while", SourceLocation());
    if (record.has(stream_flag::recording)) return is_captured(record);
    if (stream.is_capturing())
        unsupported_error({"capture_if or capture_while", {}, record},
                          "the stream's capture was begun outside heddle, and heddle cannot add "
                          "conditional nodes to such a capture: capture with heddle");
    return false;
}

namespace {
CaptureRecorder& start_body(StreamRecord& record, const SourceLocation& where) try {
    return CaptureRecorder::start(record, CaptureMode::thread_local_, where);
} catch (...) {
    rethrow_as_error("capture_if or capture_while", where);
}
Graph finish_body(CaptureRecorder& inner, const SourceLocation& where) try {
    return Access::make<Graph>(finish(inner, false, where));
} catch (...) {
    rethrow_as_error("capture_if or capture_while", where);
}
}  // namespace

// An exception of the body is passed on unchanged.
Graph capture_body(StreamRef stream, const std::function<void()>& body, Where where) {
    StreamRecord& record = record_of(stream);
    if (record.has(stream_flag::unseen))
        unsupported_error(
            {"capture_if or capture_while", where, record},
            "code outside heddle has the stream's native handle, so the stream's work cannot be "
            "captured in a body: use another stream that waits for this one");
    auto& around = static_cast<CaptureRecorder&>(*record.recorder.load());
    CaptureRecorder& inner = start_body(record, where);
    {
        const std::lock_guard lock(around.lock);
        ++around.bodies;
    }
    const std::unique_ptr<CaptureRecorder, void (*)(CaptureRecorder*)> over(
        &around, [](CaptureRecorder* one) {
            const std::lock_guard lock(one->lock);
            --one->bodies;
        });
    try {
        const ScopedStream in(stream, {.wait_on_enter = false}, where);
        body();
    } catch (...) {
        CaptureRecorder::finish(inner);
        throw;
    }
    return finish_body(inner, where);
}

void record_condition(StreamRef stream, ConditionalKind kind, View<const int> value,
                      std::span<Graph> graphs, Where where) try {
    std::vector<std::unique_ptr<GraphData>> bodies;
    for (Graph& graph : graphs) {
        bodies.push_back(clone_graph(Access::data(graph, where)));
        if (!bodies.back()->nodes.empty()) continue;
        bodies.back()->nodes.push_back(new_node(NodeKind::empty, stream.device(), where));
        bodies.back()->dependencies.emplace_back();
        bodies.back()->nodes.back()->graph = bodies.back().get();
    }
    const auto node = make_conditional(kind, region(value), std::move(bodies), where);
    check_conditional(*node, stream.device(), where);
    record_node(record_of(stream), node, where);
} catch (...) {
    rethrow_as_error("capture_if or capture_while", where);
}

int read_condition(StreamRef stream, View<const int> value, Where where) {
    if (value.size() != 1)
        throw_not_one_int({"capture_if or capture_while", where}, "a condition", value.size());
    int now = 0;
    copy(stream, std::span<int>(&now, 1), value.first(1), where);
    return now;
}

}  // namespace detail

bool is_capturing() { return current_stream().is_capturing(); }
bool is_capturing(StreamRef stream) { return stream.is_capturing(); }

void record_external(StreamRef stream, Event& event, Where where) try {
    detail::record_event(detail::Access::state(event, "record_external", where),
                         detail::record_of(stream), true, where);
} catch (...) {
    detail::rethrow_as_error("record_external", where);
}

void wait_external(StreamRef ref, const Event& event, Where where) try {
    StreamRecord& stream = detail::record_of(ref);
    detail::check_usable(stream, "wait_external", where);
    detail::EventState& state = detail::Access::state(event, "wait_external", where);
    if (!stream.has(detail::stream_flag::recording) || !detail::is_captured(stream))
        return ref.wait_event(event, where);
    if (state.device.kind() != stream.device.kind())
        detail::usage_error(
            {"wait_external", where, stream},
            "a graph can only wait for events of its own kind of device: call wait_event() on the "
            "stream that launches the graph, before the launch");
    detail::record_wait_node(stream, state, where);
} catch (...) {
    detail::rethrow_as_error("wait_external", where);
}

}  // namespace heddle
