// Captures: work enqueued on streams is recorded into a graph instead of running.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

#include <heddle/graph/graph.hpp>
#include <heddle/stream/scope.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
class CaptureRecorder;
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
///
/// Threads: end it on the thread that began it (ScopeBase). Work that other threads enqueue on a
/// participant is captured too.
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

/// Returns whether the current stream takes part in a capture, heddle's or a native one.
bool is_capturing();
/// Deprecated: write stream.is_capturing().
[[deprecated("write stream.is_capturing()")]] bool is_capturing(StreamRef stream);

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
