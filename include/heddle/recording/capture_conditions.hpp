// Conditions and loops in captures.
#pragma once

#include <concepts>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>

#include <heddle/graph/graph.hpp>
#include <heddle/launch/detail/work.hpp>
#include <heddle/memory/view.hpp>
#include <heddle/stream/scope.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
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

}  // namespace heddle
