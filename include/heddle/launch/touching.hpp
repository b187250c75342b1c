// Declares that a kernel uses less of a view than the view's type allows.
#pragma once

#include <cstddef>
#include <initializer_list>

#include <heddle/launch/detail/work.hpp>
#include <heddle/location.hpp>
#include <heddle/memory/array.hpp>
#include <heddle/memory/copy.hpp>
#include <heddle/memory/view.hpp>

namespace heddle HEDDLE_VISIBLE {

/// A part of a view, for touching(), which has an example. Refers to the memory without owning it.
class ViewPart {
public:
    /// Selects the elements of a view.
    template <class T>
    ViewPart(View<T> part) noexcept : memory_{part.data(), part.size_bytes()} {}  // NOLINT
    /// Selects the elements of a rectangle.
    template <class T>
    ViewPart(const View2D<T>& part) noexcept  // NOLINT
        : memory_{part.memory().data(), part.columns() * sizeof(T), part.rows(),
                  part.pitch() * sizeof(T)} {}

private:
    friend detail::Access;
    MemoryRange memory_;
};

/// A kernel's argument: a view, and how the kernel uses it. Made by touching() and concurrent().
/// The kernel takes it as a View<T>. Examples and errors: see these functions. Lifetime: like a
/// view, it does not own the memory. Const members are thread-safe.
template <class T> class KernelView {
public:
    /// Maximum number of parts for touching().
    static constexpr std::size_t most_parts = detail::DeclaredUse::most_parts;
    /// Returns the view.
    View<T> view() const noexcept { return view_; }

private:
    friend detail::Access;
    KernelView(View<T> view, const detail::DeclaredUse& use) noexcept : view_(view), use_(use) {}
    View<T> view_;
    detail::DeclaredUse use_;
};

namespace detail {
template <class T>
KernelView<T> touching(View<T> view, std::initializer_list<ViewPart> parts, Where where) {
    DeclaredUse use;
    for (const ViewPart& part : parts)
        use.add(Access::memory(part), {view.data(), view.size_bytes()}, where);
    return Access::make<KernelView<T>>(view, use);
}
}  // namespace detail

/// Returns the view as an argument for a kernel that touches only parts of it. Each part is a View
/// or a View2D. At most KernelView::most_parts are allowed:
///
///     launch(left, Step{}, dim(n / 2), touching(x, x.view().first(n / 2)));
///     launch(right, Step{}, dim(n / 2), touching(x, x.view().last(n / 2)));
///
/// Observers and the checker (heddle/observe/check.hpp) then see only those parts. Empty parts are
/// ignored. The whole array still counts as used when it is freed. A prepared launch (prepare())
/// ignores the parts, and counts as touching the whole view.
///
/// Throws UsageError if a part is not within the view, if there are too many parts, or if the array
/// has no allocation. Thread-safe.
template <class T>
[[nodiscard]] KernelView<T> touching(View<T> view, std::initializer_list<ViewPart> parts,
                                     Where where = {}) {
    return detail::touching(view, parts, where);
}
template <class T>
[[nodiscard]] KernelView<T> touching(View<T> view, const ViewPart& part, Where where = {}) {
    return touching(view, {part}, where);
}
template <class T>
[[nodiscard]] KernelView<T> touching(Array<T>& array, std::initializer_list<ViewPart> parts,
                                     Where where = {}) {
    detail::check_held(array, "touching", where);
    return detail::touching(array.view(), parts, where);
}
template <class T>
[[nodiscard]] KernelView<T> touching(Array<T>& array, const ViewPart& part, Where where = {}) {
    return touching(array, {part}, where);
}
template <class T>
[[nodiscard]] KernelView<const T> touching(const Array<T>& array,
                                           std::initializer_list<ViewPart> parts,
                                           Where where = {}) {
    detail::check_held(array, "touching", where);
    return detail::touching(array.view(), parts, where);
}
template <class T>
[[nodiscard]] KernelView<const T> touching(const Array<T>& array, const ViewPart& part,
                                           Where where = {}) {
    return touching(array, {part}, where);
}

/// Returns the view as an argument for a kernel that synchronises its own accesses to the view:
/// with atomics, or with a flag that other kernels poll. For observers and the checker, such
/// accesses conflict with all others, but not with each other.
///
///     launch(a, Count{}, dim(n), concurrent(histogram));
///     launch(b, Count{}, dim(n), concurrent(histogram));
///
/// Throws UsageError for an array without an allocation. Thread-safe.
template <class T> [[nodiscard]] KernelView<T> concurrent(View<T> view) noexcept {
    return detail::Access::make<KernelView<T>>(view, detail::DeclaredUse{.is_concurrent = true});
}
template <class T> [[nodiscard]] KernelView<T> concurrent(Array<T>& array, Where where = {}) {
    detail::check_held(array, "concurrent", where);
    return concurrent(array.view());
}

namespace detail {
template <class T> View<T> kernel_argument(const KernelView<T>& a) noexcept { return a.view(); }
template <class T> const DeclaredUse* declared_use(const KernelView<T>& a) noexcept {
    return &Access::use(a);
}
}  // namespace detail

}  // namespace heddle
