// Copies and fills.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <heddle/memory/range.hpp>
#include <heddle/memory/view.hpp>
#include <heddle/stream/stream.hpp>

namespace heddle {

namespace detail {

[[noreturn]] void throw_no_rectangle(std::size_t rows, std::size_t columns, std::size_t pitch,
                                     std::size_t size, Where where);
[[noreturn]] void throw_no_row(std::size_t index, std::size_t rows, Where where);
[[noreturn]] void throw_pitch_too_small(std::size_t columns, std::size_t pitch, Where where);

// copy() takes arrays, views and contiguous host ranges; as_destination() and as_source() convert
// each to a view.
/// Returns `a`. Throws UsageError if it has no allocation (it was moved from, for example). Arrays
/// of size 0 have one. `call` is the public call that received the array.
template <class T>
const Array<T>& check_held(const Array<T>& a, const char* call, const SourceLocation& where) {
    if (Access::block(a) == nullptr) [[unlikely]]
        throw_no_array(call, where);
    return a;
}

// These functions and region() are always inlined. GCC 12 at -O1 assumes that a pointer does not
// escape if it only passes through an aggregate that a function returns by value. It would then not
// reload memory that a copy has written.
template <class T>
[[gnu::always_inline]] inline View<T> as_destination(View<T> v, const char* = "",
                                                     const SourceLocation& = {}) noexcept {
    return v;
}
template <class T>
[[gnu::always_inline]] inline View<T> as_destination(Array<T>& a, const char* call = "",
                                                     const SourceLocation& where = {}) {
    check_held(a, call, where);
    return a.view();
}
template <HostRange R>
[[gnu::always_inline]] inline auto as_destination(
    R&& r, const char* = "", const SourceLocation& = {}) noexcept -> View<ElementIn<R>> {
    return {std::ranges::data(r), std::ranges::size(r)};
}

template <class T>
[[gnu::always_inline]] inline View<const T> as_source(View<T> v, const char* = "",
                                                      const SourceLocation& = {}) noexcept {
    return v;
}
template <class T>
[[gnu::always_inline]] inline View<const T> as_source(const Array<T>& a, const char* call = "",
                                                      const SourceLocation& where = {}) {
    return check_held(a, call, where).view();
}
template <HostRange R>
[[gnu::always_inline]] inline auto as_source(const R& r, const char* = "",
                                             const SourceLocation& = {}) noexcept
    -> View<const RangeValue<const R>> {
    return {std::ranges::data(r), std::ranges::size(r)};
}

template <class To>
concept Destination = requires(To&& to) {
    detail::as_destination(to);
    requires !std::is_const_v<std::remove_pointer_t<decltype(detail::as_destination(to).data())>>;
};
template <class From>
concept Source = requires(const From& from) { detail::as_source(from); };
/// Whether S is T or const T.
template <class S, class T>
concept SameElement = std::is_same_v<std::remove_const_t<S>, T>;

/// Untyped memory, which may be part of an array. For one row, the pitch is `bytes`. The last two
/// members let errors name sizes in the user's elements and rows.
struct Region : MemoryRange {
    Block* owner = nullptr;
    std::uint32_t element = 1;  ///< bytes of an element
    bool is_rectangle = false;  ///< a View2D
};

template <class T> [[gnu::always_inline]] inline Region region(View<T> v) noexcept {
    return {{v.data(), v.size_bytes(), 1, v.size_bytes()}, Access::block(v), sizeof(T)};
}

/// Returns the value that fill() sets elements to.
template <class T, class V> T element_of(const V& value) {
    static_assert(
        requires { static_cast<T>(value); }, "heddle: fill(): the value does not convert to the "
                                             "element type: pass a value of the element type");
    static_assert(!(std::is_floating_point_v<V> && std::is_integral_v<T>),
                  "heddle: fill(): the value has a fraction, but the elements are integers: to "
                  "truncate the value, pass static_cast<int>(value)");
    if constexpr (requires { static_cast<T>(value); }) return static_cast<T>(value);
    else __builtin_unreachable();
}

void copy_regions(StreamRef stream, const Region& to, const Region& from,
                  const SourceLocation& where);
/// Does the same on a stream that it chooses.
void copy_regions(const Region& to, const Region& from, const SourceLocation& where);
void fill_region(StreamRef stream, const Region& to, const void* value, std::size_t size,
                 const SourceLocation& where);
void fill_region(const Region& to, const void* value, std::size_t size,
                 const SourceLocation& where);

/// Throws UsageError if the stream is in a capture, where to_host() would wait for ever.
void check_to_host(StreamRef stream, const SourceLocation& where);
/// Returns the current stream of the memory's device (of cpu:0 for host memory), ordered after
/// every stream that used the memory. Called by to_host(). Throws UsageError if `owner` has been
/// freed, and in a capture.
StreamRef home_stream(const Block* owner, const void* data, const SourceLocation& where);

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

/// Refers to a rectangle in memory, without owning it: `rows` rows of `columns` elements, whose
/// starts are `pitch` elements apart (default: `columns`). Kernels take it by value, like a View.
/// The constructors throw UsageError if `columns` exceeds `pitch`, or the rectangle does not fit in
/// `memory`. Const members are thread-safe.
///
///     View2D<float> image(x, rows, columns);
///     launch([] HEDDLE_FN(std::size_t column, std::size_t row, View2D<float> to) {
///         to(row, column) *= 2;
///     }, dim(columns, rows), image);
template <class T> class View2D {
public:
    /// The element type without const.
    using value_type = std::remove_const_t<T>;
    /// Refers to the rectangle at the start of `memory`.
    View2D(View<T> memory, std::size_t rows, std::size_t columns, std::size_t pitch,
           Where where = {})
        : memory_(detail::Access::in_rectangle(memory)), rows_(rows), columns_(columns),
          pitch_(pitch) {
        if (rows == 0 || columns == 0) return;
        std::size_t needed = 0;
        if (columns > pitch) detail::throw_pitch_too_small(columns, pitch, where);
        if (__builtin_mul_overflow(rows - 1, pitch, &needed) ||
            __builtin_add_overflow(needed, columns, &needed) || needed > memory.size())
            detail::throw_no_rectangle(rows, columns, pitch, memory.size(), where);
    }
    View2D(View<T> memory, std::size_t rows, std::size_t columns, Where where = {})
        : View2D(memory, rows, columns, columns, where) {}
    /// Converts a View2D<T> to a View2D<const T>.
    template <class U>
        requires(std::is_same_v<T, const U>)
    HEDDLE_FN constexpr View2D(const View2D<U>& other) noexcept
        : memory_(other.memory_), rows_(other.rows_), columns_(other.columns_),
          pitch_(other.pitch_) {}

    /// Returns an element. Makes the checks of View::operator[].
    HEDDLE_BOUNDS_TAG HEDDLE_FN constexpr T& operator()(std::size_t row,
                                                        std::size_t column) const noexcept {
        if constexpr (HEDDLE_BOUNDS) {
            if (row >= rows_ || column >= columns_) [[unlikely]]
                return detail::dummy_element<T>({data(), {row, column}, {rows_, columns_}, 2});
            return memory_.data()[row * pitch_ + column];
        }
        return memory_[row * pitch_ + column];
    }
    /// Returns the elements of a row. Host only. Throws UsageError if there is no such row.
    View<T> row(std::size_t index, Where where = {}) const {
        if (index >= rows_) detail::throw_no_row(index, rows_, where);
        return memory().subview(columns_ == 0 ? 0 : index * pitch_, columns_, where);
    }
    /// Returns the address of row 0, column 0.
    HEDDLE_FN constexpr T* data() const noexcept { return memory_.data(); }
    /// Returns the memory that contains the rectangle.
    View<T> memory() const noexcept { return detail::Access::alone(memory_); }
    /// Returns the number of rows.
    HEDDLE_FN constexpr std::size_t rows() const noexcept { return rows_; }
    /// Returns the number of elements in a row.
    HEDDLE_FN constexpr std::size_t columns() const noexcept { return columns_; }
    /// Returns the distance between the starts of two rows, in elements.
    HEDDLE_FN constexpr std::size_t pitch() const noexcept { return pitch_; }

private:
    template <class U> friend class View2D;
    View<T> memory_;
    std::size_t rows_, columns_, pitch_;
};

/// Deduces the element type of an array.
template <class T, class... More> View2D(Array<T>&, More...) -> View2D<T>;
/// Deduces a const element type from a const array.
template <class T, class... More> View2D(const Array<T>&, More...) -> View2D<const T>;

namespace detail {
template <class T> [[gnu::always_inline]] inline Region region(const View2D<T>& v) noexcept {
    const std::size_t bytes = v.columns() * sizeof(T);
    return {{v.memory().data(), bytes, v.rows(), v.rows() == 1 ? bytes : v.pitch() * sizeof(T)},
            Access::block(v.memory()),
            sizeof(T),
            true};
}
}  // namespace detail

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

/// Sets every element of an array, view or contiguous host range to `value`, converted to the
/// element type. Runs on `stream`, by default on the current stream of the memory's device.
/// Asynchronous, for pageable memory too. Throws UsageError if the stream's device cannot reach the
/// memory.
template <detail::Destination To, class V>
void fill(StreamRef stream, To&& to, const V& value, Where where = {}) {
    auto destination = detail::as_destination(to, "fill", where);
    using T = typename decltype(destination)::value_type;
    const T element = detail::element_of<T>(value);
    detail::fill_region(stream, detail::region(destination), &element, sizeof element, where);
}
template <detail::Destination To, class V> void fill(To&& to, const V& value, Where where = {}) {
    auto destination = detail::as_destination(to, "fill", where);
    using T = typename decltype(destination)::value_type;
    const T element = detail::element_of<T>(value);
    detail::fill_region(detail::region(destination), &element, sizeof element, where);
}

/// Sets only the elements of a rectangle. Otherwise the same as for an array.
template <class T, class V>
    requires(!std::is_const_v<T>)
void fill(StreamRef stream, const View2D<T>& to, const V& value, Where where = {}) {
    const T element = detail::element_of<T>(value);
    detail::fill_region(stream, detail::region(to), &element, sizeof element, where);
}
template <class T, class V>
    requires(!std::is_const_v<T>)
void fill(const View2D<T>& to, const V& value, Where where = {}) {
    const T element = detail::element_of<T>(value);
    detail::fill_region(detail::region(to), &element, sizeof element, where);
}

/// Deleted for pointers: write fill(View(to, size), value).
template <class Why = mistake::write_View_of_pointer_and_size, class To, class... A>
    requires(std::is_pointer_v<std::remove_cvref_t<To>>)
Why fill(To&&, A&&...) = delete;

/// Deleted: write fill(stream, to, value).
template <class Why = mistake::the_stream_is_the_first_argument, detail::Destination To,
          detail::IsStream S, class V>
Why fill(To&&, const S&, const V&, Where = {}) = delete;

/// Sets every byte to zero. Otherwise the same as fill().
template <detail::Destination To> void fill_zero(StreamRef stream, To&& to, Where where = {}) {
    const unsigned char zero = 0;
    detail::fill_region(stream, detail::region(detail::as_destination(to, "fill_zero", where)),
                        &zero, 1, where);
}
template <detail::Destination To> void fill_zero(To&& to, Where where = {}) {
    const unsigned char zero = 0;
    detail::fill_region(detail::region(detail::as_destination(to, "fill_zero", where)), &zero, 1,
                        where);
}

/// Sets only the bytes of a rectangle's elements to zero.
template <class T>
    requires(!std::is_const_v<T>)
void fill_zero(StreamRef stream, const View2D<T>& to, Where where = {}) {
    const unsigned char zero = 0;
    detail::fill_region(stream, detail::region(to), &zero, 1, where);
}
template <class T>
    requires(!std::is_const_v<T>)
void fill_zero(const View2D<T>& to, Where where = {}) {
    const unsigned char zero = 0;
    detail::fill_region(detail::region(to), &zero, 1, where);
}

}  // namespace heddle
