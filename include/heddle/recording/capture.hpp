// Captures: work enqueued on streams is recorded into a graph instead of running.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>

#include <heddle/graph/graph.hpp>
#include <heddle/launch/detail/work.hpp>
#include <heddle/memory/view.hpp>
#include <heddle/stream/scope.hpp>

namespace heddle {

namespace detail {
class CaptureRecorder;
/// Returns whether a heddle capture records the stream. Throws Unsupported in a native capture.
bool is_recorded(StreamRef stream);
Graph capture_body(StreamRef stream, const std::function<void()>& body, Where where);
void record_condition(StreamRef stream, ConditionalKind kind, View<const int> value,
                      std::span<Graph> bodies, Where where);
int read_condition(StreamRef stream, View<const int> value, Where where);

/// The body of a condition: a function that enqueues work, or a graph.
template <class F>
concept ConditionBody = std::invocable<F> || std::same_as<std::remove_reference_t<F>, Graph>;
template <class F> void run_body(StreamRef stream, F& body, Where where) {
    if constexpr (std::same_as<F, Graph>) body.launch(stream, where);
    else body();
}
}  // namespace detail

/// Selects the threads on which CUDA rejects native calls that could wait for the capture. Has no
/// effect unless a captured stream's native handle is known outside heddle. The modes are those of
/// cudaStreamBeginCapture; heddle's calls work in all of them.
enum class CaptureMode : std::uint8_t {
    thread_local_,  ///< on the capturing thread
    global,         ///< on all threads
    relaxed,        ///< on no thread
};

/// Options of a capture.
struct CaptureOptions {
    /// At the end, joins participants that the first stream has not waited for. By default such
    /// participants are an error.
    bool join = false;
    /// Selects the threads on which CUDA forbids calls during the capture.
    CaptureMode mode = CaptureMode::thread_local_;
};

/// Captures the work enqueued on `stream`: the work does not run, and end() returns it as a graph.
/// In the scope `stream` is this thread's current stream.
///
///     ScopedCapture scope(stream);
///     launch(Saxpy{}, dim(n), 2.0f, x, y);
///     Graph step = scope.end();
///     step.launch(stream);
///
/// Order: other streams, also of other devices, become participants by waiting for a participant
/// (wait_stream, wait_event, ScopedStream, fork_join). The first stream must wait for all of them
/// before end(). Streams of CUDA devices take part only if the capture began on one.
///
/// Errors: the following throw UsageError, which names an alternative, and leave the capture
/// intact:
/// - host waits for, and queries of, a participant or an event recorded in the capture
/// - a participant's wait for pending work outside the capture
/// - uses of pageable memory
///
/// Lifetime: arrays that the work uses must exist at every launch. Arrays allocated in the capture
/// share their memory with the graph. If they are freed in the capture, later arrays may reuse that
/// memory. Without end(), for example after an exception, the destructor discards the capture, and
/// its streams continue as before.
class ScopedCapture : public ScopeBase {
public:
    /// Begins the capture. Throws UsageError if `stream` is in a capture already or was destroyed.
    [[nodiscard]] explicit ScopedCapture(StreamRef stream = current_stream(),
                                         CaptureOptions options = {}, Where where = {});
    template <detail::StreamOwner Owner>
    explicit ScopedCapture(Owner&&, CaptureOptions = {}, mistake::stream_ends_first = {}) = delete;
    ~ScopedCapture();

    /// Ends the capture and returns its graph. If the first stream has not waited for a
    /// participant, throws UsageError, which names it, and discards the capture. Passes an error to
    /// the report hook if the graph is empty although the thread enqueued work on other streams.
    [[nodiscard]] Graph end(Where where = {});
    /// Ends the capture and adds its work to `graph`, after the nodes `after` (default: all nodes).
    /// The next launch instantiates the graph again. Throws UsageError as end() does, for nodes of
    /// another graph, and if the devices differ.
    void end_into(Graph& graph, std::initializer_list<GraphNode> after = {}, Where where = {});

private:
    detail::CaptureRecorder* recorder_;
    bool join_;
};

/// Captures the work that body() enqueues on `stream` (default: the current one), and returns its
/// graph. See ScopedCapture.
template <std::invocable F>
[[nodiscard]] Graph capture(StreamRef stream, F&& body, CaptureOptions options = {},
                            Where where = {}) {
    ScopedCapture scope(stream, options, where);
    std::forward<F>(body)();
    return scope.end(where);
}
template <std::invocable F>
[[nodiscard]] Graph capture(F&& body, CaptureOptions options = {}, Where where = {}) {
    return capture(current_stream(), std::forward<F>(body), options, where);
}

/// Deleted: write capture(stream, body).
template <class Why = mistake::the_stream_is_the_first_argument, std::invocable F,
          detail::IsStream S>
Why capture(F&&, const S&) = delete;

/// Captures the work that body() enqueues on `stream`, and adds it to `graph`, after the nodes
/// `after` (default: all nodes). See ScopedCapture::end_into().
template <std::invocable F>
void capture_into(Graph& graph, StreamRef stream, F&& body,
                  std::initializer_list<GraphNode> after = {}, Where where = {}) {
    ScopedCapture scope(stream, {}, where);
    std::forward<F>(body)();
    scope.end_into(graph, after, where);
}

/// Runs the work of then() if the int `value` is not 0, else that of otherwise(). `stream` is the
/// current stream in both. Either may be a graph instead, which is launched on `stream`.
///
///     capture_if(stream, flag, [&] { fill(x, 1.0f); }, [&] { fill(x, 2.0f); });
///     capture_if(stream, flag, graph);
///
/// In a capture: adds a conditional node, which reads the value when the graph reaches it. Calls
/// then() and otherwise() once each. They may use `stream`, and streams that they make wait for it.
/// Throws UsageError for work on other participants and for events with timing. Throws Unsupported
/// if the native handle of `stream` is known outside heddle, or the capture is native.
///
/// Outside a capture: blocks until the value can be read, then calls then() or otherwise().
template <detail::ConditionBody Then, detail::ConditionBody Else>
void capture_if(StreamRef stream, View<const int> value, Then&& then, Else&& otherwise,
                Where where = {}) {
    const auto run_then = [&] { detail::run_body(stream, then, where); };
    const auto run_otherwise = [&] { detail::run_body(stream, otherwise, where); };
    if (detail::is_recorded(stream)) {
        Graph bodies[] = {detail::capture_body(stream, std::ref(run_then), where),
                          detail::capture_body(stream, std::ref(run_otherwise), where)};
        detail::record_condition(stream, detail::ConditionalKind::if_else, value, bodies, where);
    } else {
        const bool is_true = detail::read_condition(stream, value, where) != 0;
        const ScopedStream in(stream, {.wait_on_enter = false}, where);
        if (is_true) run_then();
        else run_otherwise();
    }
}
template <detail::ConditionBody Then>
void capture_if(StreamRef stream, View<const int> value, Then&& then, Where where = {}) {
    capture_if(stream, value, std::forward<Then>(then), [] {}, where);
}
/// Does the same with the current stream as `stream`.
template <detail::ConditionBody Then, detail::ConditionBody Else>
void capture_if(View<const int> value, Then&& then, Else&& otherwise, Where where = {}) {
    capture_if(current_stream(), value, std::forward<Then>(then), std::forward<Else>(otherwise),
               where);
}
template <detail::ConditionBody Then>
void capture_if(View<const int> value, Then&& then, Where where = {}) {
    capture_if(current_stream(), value, std::forward<Then>(then), [] {}, where);
}

/// Works like capture_if(), but repeats the body as long as the value is not 0. The body's work
/// must eventually set it to 0. Outside a capture, blocks before each pass to read the value.
template <detail::ConditionBody Body>
void capture_while(StreamRef stream, View<const int> value, Body&& body, Where where = {}) {
    const auto run = [&] { detail::run_body(stream, body, where); };
    if (detail::is_recorded(stream)) {
        Graph bodies[] = {detail::capture_body(stream, std::ref(run), where)};
        detail::record_condition(stream, detail::ConditionalKind::while_loop, value, bodies, where);
    } else {
        while (detail::read_condition(stream, value, where) != 0) {
            // A new scope for each pass undoes set_stream() in the body.
            const ScopedStream in(stream, {.wait_on_enter = false}, where);
            run();
        }
    }
}
template <detail::ConditionBody Body>
void capture_while(View<const int> value, Body&& body, Where where = {}) {
    capture_while(current_stream(), value, std::forward<Body>(body), where);
}

/// Returns whether `stream` (default: the current one) takes part in a capture, heddle's or a
/// native one.
bool is_capturing(StreamRef stream = current_stream());

/// Records `event` on `stream` as a node of the captured graph, so that every launch records it for
/// waiters outside. Outside a capture, does the same as record_event().
///
/// In a capture, record_event() itself only marks a point of the graph. It adds a node too if the
/// event has timing.
void record_external(StreamRef stream, Event& event, Where where = {});
/// Makes `stream` wait for an event recorded outside the capture. Adds a node: each launch of the
/// graph waits for the newest record made before it. Outside a capture, and in a batch, does the
/// same as wait_event(). Throws UsageError in a capture if the event belongs to another kind of
/// device.
void wait_external(StreamRef stream, const Event& event, Where where = {});

}  // namespace heddle
