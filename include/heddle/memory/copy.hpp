// copy() and copy_2d(): copies between arrays, views and host memory, on any devices.
#pragma once

#include <type_traits>

#include <heddle/memory/detail/regions.hpp>
#include <heddle/memory/view_2d.hpp>
#include <heddle/stream/stream.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {

void copy_regions(StreamRef stream, const Region& to, const Region& from,
                  const SourceLocation& where);
/// Does the same on a stream that it chooses.
void copy_regions(const Region& to, const Region& from, const SourceLocation& where);
}  // namespace detail

/// Copies all elements of `from` to `to`. Both are arrays, views or contiguous host ranges, on any
/// devices. They must have the same element type and size, and must not overlap. Throws UsageError
/// before anything is enqueued.
///
/// Stream and order:
/// - With a stream, the copy runs on that stream, and no other order is added.
/// - Without a stream: if the destination is memory of a CUDA device, the copy runs on that
///   device's current stream. Otherwise, if the source is memory of a CUDA device, the copy runs on
///   that device's current stream. If neither side is CUDA memory, the copy runs on the current
///   stream of the destination's CPU device, or of the source's if the destination is pinned or
///   pageable.
/// - Without a stream, the copy is also ordered after work already enqueued on the current stream
///   of the other side's device, and before work enqueued there later.
/// - Pinned memory counts as memory of cpu:0 once work on it has been enqueued on a CPU stream.
///
/// Device and pinned memory are copied asynchronously. Both sides must stay valid until the copy
/// has run; arrays ensure this themselves. An address within an array (a pointer, a span) counts as
/// the array's memory: it has the array's device and kind, and the array is kept alive. Throws
/// UsageError if the memory ends beyond the array.
///
/// Pageable memory is safe on return: a source may be changed, and a destination is filled. The
/// call can block until the stream has run the copy: prefer pinned memory. A source is read during
/// the call, not in stream order: the copy may miss writes of earlier work on the stream. For a
/// pageable array, the call waits for its earlier uses. A source of more than 64 MB may be staged
/// in parts. Later parts are then read after earlier ones have been copied, but before the call
/// returns.
template <detail::Destination To, detail::Source From>
void copy(StreamRef stream, To&& to, const From& from, Where where = {}) {
    auto destination = detail::as_destination(to, "copy", where);
    auto source = detail::as_source(from, "copy", where);
    static_assert(std::is_same_v<typename decltype(destination)::value_type,
                                 typename decltype(source)::value_type>,
                  "heddle::copy: the destination and the source must have the same element type");
    detail::copy_regions(stream, detail::region(destination), detail::region(source), where);
}
template <detail::Destination To, detail::Source From>
void copy(To&& to, const From& from, Where where = {}) {
    auto destination = detail::as_destination(to, "copy", where);
    auto source = detail::as_source(from, "copy", where);
    static_assert(std::is_same_v<typename decltype(destination)::value_type,
                                 typename decltype(source)::value_type>,
                  "heddle::copy: the destination and the source must have the same element type");
    detail::copy_regions(detail::region(destination), detail::region(source), where);
}

/// Deleted for pointers: write copy(View(to, size), View(from, size)).
template <class Why = mistake::write_View_of_pointer_and_size, class... A>
    requires(std::is_pointer_v<std::remove_cvref_t<A>> || ...)
Why copy(A&&...) = delete;

/// Deleted: the destination is read-only.
template <class Why = mistake::the_destination_is_const, detail::Source To, detail::Source From>
    requires(!detail::Destination<To>)
Why copy(To&&, const From&, Where = {}) = delete;
template <class Why = mistake::the_destination_is_const, detail::Source To, detail::Source From>
    requires(!detail::Destination<To>)
Why copy(StreamRef, To&&, const From&, Where = {}) = delete;

/// Copies a rectangle to one with the same number of rows and columns. Stream, order, memory and
/// errors are those of copy().
template <class T, detail::SameElement<T> S>
void copy_2d(StreamRef stream, View2D<T> to, View2D<S> from, Where where = {}) {
    detail::copy_regions(stream, detail::region(to), detail::region(from), where);
}
template <class T, detail::SameElement<T> S>
void copy_2d(View2D<T> to, View2D<S> from, Where where = {}) {
    detail::copy_regions(detail::region(to), detail::region(from), where);
}

}  // namespace heddle
