// View: a pointer to memory, its size, and the allocation that it belongs to.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <heddle/detail/access.hpp>
#include <heddle/detail/bounds.hpp>
#include <heddle/detail/mistakes.hpp>
#include <heddle/detail/owner_word.hpp>
#include <heddle/detail/ranges.hpp>
#include <heddle/detail/spans.hpp>
#include <heddle/kernel.hpp>
#include <heddle/location.hpp>
#include <heddle/memory/detail/block.hpp>
#include <heddle/memory/detail/viewable.hpp>

namespace heddle {

namespace detail {
/// `call` is first, last or subview.
[[noreturn]] void throw_out_of_range(const char* call, std::size_t first, std::size_t count,
                                     std::size_t size, Where where);
[[noreturn]] void throw_not_whole(std::size_t bytes, std::size_t element, Where where);
[[noreturn]] void throw_not_aligned(const void* data, std::size_t alignment, Where where);
[[noreturn]] void throw_not_on_host(const Block& block, Where where);

/// Returns false for memory on a GPU. Declared `pure`, because it only reads the block: the
/// compiler can merge calls that have no write between them.
[[gnu::pure]] bool host_reaches(const Block* block) noexcept;
/// Throws UsageError if the host cannot read the memory.
inline void check_host_reach(const Block* block, Where where) {
    if (!host_reaches(block)) [[unlikely]]
        throw_not_on_host(*block, where);
}

/// Types of elements that can be copied between devices as bytes.
template <class T>
concept ArrayElement = std::is_trivially_copyable_v<T> && !std::is_const_v<T>;
}  // namespace detail

/// Refers to `size()` elements of T in any memory, without owning them. Kernels take views by value
/// (24 bytes); a View<const T> promises that the elements are only read.
///
///     View<float> all = x.view();  // x: an Array<float>
///     launch(Saxpy{}, dim(100), 2.0f, all.first(100), y);
///
/// A view of an Array knows its allocation: work enqueued through the view counts as a use of the
/// array. A view of an address has no owner. Copies, fills, to_host() and collectives find the
/// array that contains the address, if there is one. Launches do not, so such uses are not tracked:
/// declare them with Array::used_on().
///
/// A view is a std::ranges::view of its elements, and converts to and from std::span. For an array
/// on a GPU, loops and conversions throw UsageError on the host, which cannot read it: see begin().
///
/// Lifetime: the memory must outlive the view. Errors: calls throw UsageError for a view that
/// outlived its Array, at least until 32 more arrays were freed. Const members are thread-safe.
template <class T> class View {
public:
    /// The element type without const.
    using value_type = std::remove_const_t<T>;

    constexpr View() noexcept = default;
    /// Refers to memory by its address, without an owner (see above).
    HEDDLE_FN constexpr View(T* data, std::size_t size) noexcept : data_(data), size_(size) {}
    /// Converts a View<T> to a View<const T>.
    template <class U>
        requires(std::is_same_v<T, const U>)
    HEDDLE_FN constexpr View(const View<U>& other) noexcept
        : data_(other.data_), size_(other.size_), owner_(other.owner_.template as<T>()) {}
    /// Refers to the host memory of a std::vector, std::array, std::span, ... of the same element
    /// type.
    template <detail::HostRangeOf<T> R>
    constexpr View(R&& range) noexcept
        : data_(std::ranges::data(range)), size_(std::ranges::size(range)) {}
    /// Deleted for temporaries that own their memory: name the range first.
    template <detail::EndingRangeOf<T> R> View(R&&, mistake::the_memory_ends_first = {}) = delete;

    /// Returns an element. With HEDDLE_BOUNDS=1, an index outside the view selects a dummy element,
    /// and fails the running work. Never checks that the host can access it, or that work is done.
    HEDDLE_BOUNDS_TAG HEDDLE_FN constexpr T& operator[](std::size_t i) const noexcept {
        if constexpr (HEDDLE_BOUNDS)
            if (i >= size_) [[unlikely]]
                return detail::dummy_element<T>(data_, i, size_);
        return data_[i];
    }
    /// Returns the address of the first element; null for a default-constructed view.
    HEDDLE_FN constexpr T* data() const noexcept { return data_; }
    /// Returns the number of elements.
    HEDDLE_FN constexpr std::size_t size() const noexcept { return size_; }
    /// Returns the size in bytes.
    HEDDLE_FN constexpr std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    /// Returns whether it has no elements.
    HEDDLE_FN constexpr bool empty() const noexcept { return size_ == 0; }
    /// Returns the first element's address, for loops. On the host, throws UsageError for an array
    /// on a GPU, and does not wait for work. On a GPU, checks nothing. Arguments: the call site.
    HEDDLE_FN constexpr T* begin([[maybe_unused]] const char* file = __builtin_FILE(),
                                 [[maybe_unused]] unsigned line = __builtin_LINE()) const {
        if constexpr (detail::runs_on_host)
            if (!std::is_constant_evaluated())
                detail::check_host_reach(owner_.block(), SourceLocation{file, line});
        return data_;
    }
    /// Returns the address after the last element.
    HEDDLE_FN constexpr T* end() const noexcept { return data_ + size_; }

    /// Converts a temporary view to a span that accepts only ranges that last: cuda::std::span of
    /// elements that are not const. Does not check the memory.
    template <detail::SpanOf<T> S>
        requires(!std::is_const_v<typename S::element_type> && !std::same_as<S, std::span<T>>)
    HEDDLE_FN constexpr operator S() const&& noexcept {
        return S(data_, size_);
    }

    /// Returns the first `count` elements. Host only. Throws UsageError if there are fewer.
    View first(std::size_t count, Where where = {}) const {
        if (count > size_) detail::throw_out_of_range("first", 0, count, size_, where);
        return View(data_, count, owner_);
    }
    /// Returns the last `count` elements. Host only. Throws UsageError if there are fewer.
    View last(std::size_t count, Where where = {}) const {
        if (count > size_) detail::throw_out_of_range("last", 0, count, size_, where);
        return View(data_ + (size_ - count), count, owner_);
    }
    /// Returns `count` elements from `first` on. Host only. Throws UsageError if it is out of
    /// range.
    View subview(std::size_t first, std::size_t count, Where where = {}) const {
        if (first > size_ || count > size_ - first)
            detail::throw_out_of_range("subview", first, count, size_, where);
        return View(data_ + first, count, owner_);
    }

    /// Returns a view of the same bytes as elements of another type; the owner stays the same. U
    /// may add a const. Host only. Throws UsageError if the bytes are not a whole number of such
    /// elements, or the first is not aligned for one.
    ///
    ///     View<std::array<float, 4>> fours = x.view().reinterpret<std::array<float, 4>>();
    template <class U>
        requires(std::is_trivially_copyable_v<U> && std::is_trivially_copyable_v<T> &&
                 (std::is_const_v<U> || !std::is_const_v<T>))
    View<U> reinterpret(Where where = {}) const {
        if (size_bytes() % sizeof(U) != 0) detail::throw_not_whole(size_bytes(), sizeof(U), where);
        if (reinterpret_cast<std::uintptr_t>(data_) % alignof(U) != 0)
            detail::throw_not_aligned(data_, alignof(U), where);
        return View<U>(reinterpret_cast<U*>(data_), size_bytes() / sizeof(U),
                       owner_.template as<U>());
    }

private:
    friend detail::Access;
    template <class U> friend class View;
    HEDDLE_FN constexpr View(T* data, std::size_t size, detail::OwnerWord owner) noexcept
        : data_(data), size_(size), owner_(owner) {}

    T* data_ = nullptr;
    std::size_t size_ = 0;
    detail::OwnerWord owner_;
};

template <class T> View<T> detail::Access::view(T* data, std::size_t size, Block* owner) noexcept {
    return {data, size, OwnerWord::of<T>(owner)};
}
template <class T> View<T> detail::Access::in_rectangle(const View<T>& view) noexcept {
    return {view.data_, view.size_, view.owner_.in_rectangle()};
}
template <class T> View<T> detail::Access::alone(const View<T>& view) noexcept {
    return {view.data_, view.size_, view.owner_.alone()};
}
template <class T> detail::Block* detail::Access::block(const View<T>& view) noexcept {
    return view.owner_.block();
}

static_assert(sizeof(View<char>) == 24 && std::is_trivially_copyable_v<View<char>>,
              "heddle::View: kernels receive views as 24 bytes");

/// Deduces the element type of a host range, including const.
template <detail::ContiguousRange R> View(R&&) -> View<detail::ElementIn<R>>;

}  // namespace heddle

template <class T> inline constexpr bool std::ranges::enable_borrowed_range<heddle::View<T>> = true;
template <class T> inline constexpr bool std::ranges::enable_view<heddle::View<T>> = true;
// Makes std::ranges::size(), which std::span calls, compute end() - begin(), because begin() checks
// the memory.
template <class T> inline constexpr bool std::ranges::disable_sized_range<heddle::View<T>> = true;
