// The failure of work that used an index outside a view.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#include <heddle/detail/bounds.hpp>

namespace heddle HEDDLE_VISIBLE {

/// The cause() of a WorkFailed if a kernel or host function, compiled with HEDDLE_BOUNDS=1, used an
/// index outside a View or a View2D. Describes the first such access of the work.
///
///     try {
///         stream.synchronize();
///     } catch (const WorkFailed& failed) {
///         try {
///             if (failed.cause()) std::rethrow_exception(failed.cause());
///         } catch (const IndexOutOfRange& bad) {
///             std::printf("%zu of %zu\n", bad.index(), bad.size());
///         } catch (...) {
///         }
///     }
///
/// Lifetime: data() may be the address of memory that was freed meanwhile. Members throw nothing
/// and do not change it, so threads may share it.
class IndexOutOfRange : public std::out_of_range {
public:
    /// For the library.
    IndexOutOfRange(const std::string& text, const detail::BadIndex& bad)
        : std::out_of_range(text), bad_(bad) {}
    /// Returns whether the view is a View2D.
    bool is_2d() const noexcept { return bad_.dimensions == 2; }
    /// Returns the index. For a View2D, returns the column.
    std::size_t index() const noexcept { return bad_.index[is_2d() ? 1 : 0]; }
    /// Returns the number of elements. For a View2D, returns the number of columns.
    std::size_t size() const noexcept { return bad_.extent[is_2d() ? 1 : 0]; }
    /// Returns the row, for a View2D; else 0.
    std::size_t row() const noexcept { return is_2d() ? bad_.index[0] : 0; }
    /// Returns the number of rows, for a View2D; else 1.
    std::size_t rows() const noexcept { return is_2d() ? bad_.extent[0] : 1; }
    /// Returns the address of the view's first element.
    const void* data() const noexcept { return bad_.data; }
    /// Returns the position of the kernel's argument that holds the view, from 1. Returns 0 for a
    /// view in the kernel object itself, and -1 if the argument is unknown.
    int argument() const noexcept { return bad_.argument; }

    /// Returns all of it, for the library.
    const detail::BadIndex& info() const noexcept { return bad_; }

private:
    detail::BadIndex bad_;
};

}  // namespace heddle
