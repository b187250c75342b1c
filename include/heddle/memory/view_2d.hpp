// View2D: a rectangle in memory.
#pragma once

#include <cstddef>
#include <type_traits>

#include <heddle/memory/view.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
[[noreturn]] void throw_no_rectangle(std::size_t rows, std::size_t columns, std::size_t pitch,
                                     std::size_t size, Where where);
[[noreturn]] void throw_no_row(std::size_t index, std::size_t rows, Where where);
[[noreturn]] void throw_pitch_too_small(std::size_t columns, std::size_t pitch, Where where);
}  // namespace detail

/// Refers to a rectangle in memory, without owning it: `rows` rows of `columns` elements, whose
/// starts are `pitch` elements apart (default: `columns`). Kernels take it by value, like a View.
///
///     View2D<float> image(x, rows, columns);
///     launch([] HEDDLE_FN(std::size_t column, std::size_t row, View2D<float> to) {
///         to(row, column) *= 2;
///     }, dim(columns, rows), image);
///
/// Lifetime: the memory must outlive it, as for a View. Errors: the constructors throw UsageError
/// if `columns` exceeds `pitch`, or the rectangle does not fit in `memory`. Const members are
/// thread-safe.
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

}  // namespace heddle
