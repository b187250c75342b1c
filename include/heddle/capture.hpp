// Captures: what streams are given becomes a graph.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include <heddle/detail/graph_work.hpp>
#include <heddle/graph.hpp>
#include <heddle/scope.hpp>
#include <heddle/view.hpp>

namespace heddle {

namespace detail {
class CaptureRecorder;
bool is_recorded(StreamRef stream);  ///< by a capture of heddle's
Graph capture_body(StreamRef stream, const std::function<void()>& body, SourceLocation where);
void record_condition(StreamRef stream, ConditionalKind kind, View<const int> value, std::span<Graph> bodies,
                      SourceLocation where);
int read_condition(StreamRef stream, View<const int> value, SourceLocation where);
}  // namespace detail

/// What calls of CUDA's own are forbidden while a stream is captured whose native handle others hold: those that could wait for the
/// capture. heddle's own calls keep out of the way in every mode.
enum class CaptureMode : std::uint8_t {
    thread_local_,  ///< on the capturing thread
    global,         ///< on all threads
    relaxed,        ///< none
};

struct CaptureOptions {
    bool join =
        false;  ///< streams that joined and did not come back are joined at the end, instead of being an error
    CaptureMode mode = CaptureMode::thread_local_;
};

/// Records what `stream` is given instead of doing it, until end() makes a graph of it. The stream is this thread's current one meanwhile. Other
/// streams, of other devices too, take part by waiting for one that does (wait_stream, wait_event, ScopedStream, fork_join), and have to be
/// waited for by the first stream in the end.
///
/// Refused with a UsageError that says what to use instead, with the capture as it was: waiting for, or asking about, a stream or event
/// that takes part; waiting, in it, for work outside of it; pageable memory. Arrays that the work uses have to live as long as
/// the graph is launched; those allocated in the capture belong to the graph as well, and memory of those freed in it is used again.
///
/// Left without end(), by an exception for example, the capture is thrown away, and all its streams are as before.
class ScopedCapture : public ScopeBase {
public:
    [[nodiscard]] explicit ScopedCapture(StreamRef stream = current_stream(), CaptureOptions options = {},
                                         SourceLocation where = SourceLocation::current());
    template <detail::StreamOwner Owner>
    explicit ScopedCapture(Owner&&, CaptureOptions = {}, SourceLocation = SourceLocation::current()) = delete;
    ~ScopedCapture();

    /// The graph. Throws UsageError, and throws the capture away, when a stream did not come back: it names the stream.
    [[nodiscard]] Graph end(SourceLocation where = SourceLocation::current());
    /// Adds the work to a graph instead, after the nodes `after` (default: after all there is); an executable of it is made anew.
    void end_into(Graph& graph, std::initializer_list<Node> after = {},
                  SourceLocation where = SourceLocation::current());

private:
    detail::CaptureRecorder* recorder_;
    bool join_;
};

/// What body() gives `stream` (default: the current stream), as a graph.
template <std::invocable F>
[[nodiscard]] Graph capture(StreamRef stream, F&& body, CaptureOptions options = {},
                            SourceLocation where = SourceLocation::current()) {
    ScopedCapture scope(stream, options, where);
    std::forward<F>(body)();
    return scope.end(where);
}
template <std::invocable F>
    requires(!std::is_convertible_v<F, StreamRef>)
[[nodiscard]] Graph capture(F&& body, CaptureOptions options = {},
                            SourceLocation where = SourceLocation::current()) {
    return capture(current_stream(), std::forward<F>(body), options, where);
}

/// Adds what body() gives `stream` to a graph, after the nodes `after` (default: after all there is).
template <std::invocable F>
void capture_into(Graph& graph, StreamRef stream, F&& body, std::initializer_list<Node> after = {},
                  SourceLocation where = SourceLocation::current()) {
    ScopedCapture scope(stream, {}, where);
    std::forward<F>(body)();
    scope.end_into(graph, after, where);
}

/// In a capture: a conditional node that runs what then() (or otherwise()) gives `stream` if the int `value` is not 0 when the graph comes to it. Elsewhere:
/// waits for the value, and calls the one or the other. `stream` is the current one in them. In a capture both are called once each, and may use
/// `stream` and streams that wait for it there; other streams of the capture are refused, and so are events with timing.
template <std::invocable Then, std::invocable Else>
void capture_if(StreamRef stream, View<const int> value, Then&& then, Else&& otherwise,
                SourceLocation where = SourceLocation::current()) {
    if (detail::is_recorded(stream)) {
        Graph bodies[] = {detail::capture_body(stream, std::ref(then), where),
                          detail::capture_body(stream, std::ref(otherwise), where)};
        detail::record_condition(stream, detail::ConditionalKind::if_else, value, bodies, where);
    } else {
        const bool is_true = detail::read_condition(stream, value, where) != 0;
        const ScopedStream in(stream, {.wait_on_enter = false}, where);
        if (is_true) then();
        else otherwise();
    }
}
template <std::invocable Then>
void capture_if(StreamRef stream, View<const int> value, Then&& then,
                SourceLocation where = SourceLocation::current()) {
    capture_if(
        stream, value, std::forward<Then>(then), [] {}, where);
}
/// The same on the current stream.
template <std::invocable Then, std::invocable Else>
void capture_if(View<const int> value, Then&& then, Else&& otherwise,
                SourceLocation where = SourceLocation::current()) {
    capture_if(current_stream(), value, std::forward<Then>(then), std::forward<Else>(otherwise), where);
}
template <std::invocable Then>
void capture_if(View<const int> value, Then&& then, SourceLocation where = SourceLocation::current()) {
    capture_if(
        current_stream(), value, std::forward<Then>(then), [] {}, where);
}

/// As capture_if(), but again and again while the value is not 0; the body has to change it in the end.
template <std::invocable Body>
void capture_while(StreamRef stream, View<const int> value, Body&& body,
                   SourceLocation where = SourceLocation::current()) {
    if (detail::is_recorded(stream)) {
        Graph bodies[] = {detail::capture_body(stream, std::ref(body), where)};
        detail::record_condition(stream, detail::ConditionalKind::while_loop, value, bodies, where);
    } else {
        while (detail::read_condition(stream, value, where) != 0) {
            const ScopedStream in(stream, {.wait_on_enter = false},
                                  where);  // for each pass: see set_stream()
            body();
        }
    }
}
template <std::invocable Body>
void capture_while(View<const int> value, Body&& body, SourceLocation where = SourceLocation::current()) {
    capture_while(current_stream(), value, std::forward<Body>(body), where);
}

/// Whether `stream` (default: the current one) takes part in a capture, heddle's or anyone's.
bool is_capturing(StreamRef stream = current_stream());

/// Records `event` on `stream` as a node of the graph that is captured, so that others see it at every launch; outside of a capture as
/// record_event() does. In a capture, record_event() itself marks a point of the graph, for events without timing; with timing it is a node too.
void record_external(StreamRef stream, Event& event, SourceLocation where = SourceLocation::current());
/// Waits for an event that was recorded outside, as a node: every launch waits for the record that is newest then.
void wait_external(StreamRef stream, const Event& event, SourceLocation where = SourceLocation::current());

}  // namespace heddle
