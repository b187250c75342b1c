// Array: owned memory, allocated and freed in stream order.
#pragma once

#include <concepts>

#include <heddle/error.hpp>
#include <heddle/memory/detail/host_use.hpp>
#include <heddle/memory/detail/regions.hpp>
#include <heddle/memory/view.hpp>
#include <heddle/stream/current_stream.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
/// Allocates on `stream`'s device, in stream order. Errors name `call`, the public call. Throws
/// OutOfMemory.
Block& allocate(StreamRef stream, std::size_t count, std::size_t element, const char* call,
                Where where);
/// Allocates host memory.
Block& allocate_host(MemoryKind kind, std::size_t count, std::size_t element, Where where);
/// Drops one owner. The last one frees the memory after all of its uses, without blocking. Reports
/// errors instead of throwing them.
void release(Block& block) noexcept;
void declare_use(Block& block, StreamRef stream, Where where);
}  // namespace detail

/// Owns `size()` contiguous elements of T, in memory of a device or in host memory (pinned or
/// pageable). Made by its constructors, which leave the elements uninitialised, and by zeros(),
/// full(), from_host(), clone(), pinned() and pageable(). T must be trivially copyable.
///
///     Array<float> x = full<float>(1000, 1), y = zeros<float>(1000);  // on the current stream
///     launch(Saxpy{}, dim(1000), 2.0f, x, y);
///     std::vector<float> values = to_host(y);
///
/// Lifetime: move-only. The destructor does not block: it frees the memory in stream order, after
/// all work on it that was enqueued through heddle on any stream. Declare other uses with
/// used_on().
///
/// Errors: allocating throws OutOfMemory. Calls throw UsageError for an array without memory (moved
/// from, reset or default-constructed). Thread-safety: const members are thread-safe.
template <class T> class Array {
    static_assert(
        detail::ArrayElement<T>,
        "heddle::Array<T>: T is copied as bytes between devices, so it must be trivially copyable");

public:
    /// The element type.
    using value_type = T;

    Array() noexcept = default;
    /// Allocates `size` uninitialised elements on the current stream: see empty().
    [[nodiscard]] explicit Array(std::size_t size, Where where = {})
        : Array(current_stream(), size, where) {}
    /// Allocates on `stream`, or on the current stream of `device`.
    [[nodiscard]] Array(StreamRef stream, std::size_t size, Where where = {})
        : Array(detail::allocate(stream, size, sizeof(T), "Array", where), size) {}
    [[nodiscard]] Array(Device device, std::size_t size, Where where = {})
        : Array(current_stream(device), size, where) {}
    /// Deleted: a size is a whole number.
    template <std::floating_point N>
    explicit Array(N, mistake::a_size_is_a_whole_number = {}) = delete;
    /// Deleted: write copy(to, from), or std::move(array); let a lambda capture x.view().
    Array(const Array&, mistake::arrays_are_not_copied_use_copy_or_a_View = {}) = delete;
    Array(Array&& other) noexcept : block_(other.block_), size_(other.size_) { other.forget(); }
    Array& operator=(Array&& other) noexcept {
        if (this != &other) {
            reset();
            block_ = other.block_;
            size_ = other.size_;
            other.forget();
        }
        return *this;
    }
    ~Array() { reset(); }

    /// Frees the memory as the destructor does, and leaves the array empty.
    void reset() noexcept {
        if (block_ != nullptr) detail::release(*block_);
        forget();
    }

    /// Returns the number of elements.
    std::size_t size() const noexcept { return size_; }
    /// Returns the size in bytes.
    std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    /// Returns whether the array has no elements, as after reset() and after a move.
    bool empty() const noexcept { return size_ == 0; }
    /// Returns the device that the memory belongs to; cpu:0 for host arrays.
    Device device() const noexcept {
        return block_ != nullptr ? block_->device : detail::Access::device(DeviceKind::cpu, 0);
    }
    /// Returns where the memory is; pageable if there is none.
    MemoryKind kind() const noexcept {
        return block_ != nullptr ? block_->kind : MemoryKind::pageable;
    }

    /// Returns a view of all elements, which are const if the array is.
    View<T> view() noexcept HEDDLE_LIFETIMEBOUND {
        return detail::Access::view(address(), size_, block_);
    }
    View<const T> view() const noexcept HEDDLE_LIFETIMEBOUND {
        return detail::Access::view(static_cast<const T*>(address()), size_, block_);
    }
    /// Converts to view(), for functions that take views.
    operator View<T>() noexcept HEDDLE_LIFETIMEBOUND { return view(); }
    /// Converts to a read-only view, for functions that take one.
    operator View<const T>() const noexcept HEDDLE_LIFETIMEBOUND { return view(); }

    /// Returns a view of the first `count` elements. Throws UsageError if there are fewer.
    View<T> first(std::size_t count, Where where = {}) HEDDLE_LIFETIMEBOUND {
        return view().first(count, where);
    }
    View<const T> first(std::size_t count, Where where = {}) const HEDDLE_LIFETIMEBOUND {
        return view().first(count, where);
    }
    /// Returns a view of the last `count` elements. Throws UsageError if there are fewer.
    View<T> last(std::size_t count, Where where = {}) HEDDLE_LIFETIMEBOUND {
        return view().last(count, where);
    }
    View<const T> last(std::size_t count, Where where = {}) const HEDDLE_LIFETIMEBOUND {
        return view().last(count, where);
    }
    /// Returns a view of `count` elements from `first` on. Throws UsageError if it is out of range.
    View<T> subview(std::size_t first, std::size_t count, Where where = {}) HEDDLE_LIFETIMEBOUND {
        return view().subview(first, count, where);
    }
    View<const T> subview(std::size_t first, std::size_t count,
                          Where where = {}) const HEDDLE_LIFETIMEBOUND {
        return view().subview(first, count, where);
    }
#if !HEDDLE_HOST_ACCESSES
    /// Returns the address of the first element, or null. heddle does not track uses of the
    /// address: see used_on().
    T* data() noexcept HEDDLE_LIFETIMEBOUND { return address(); }
    const T* data() const noexcept HEDDLE_LIFETIMEBOUND { return address(); }
    /// Returns the address of the first element, for loops on the host. Throws UsageError for
    /// memory on a GPU. Does not wait for work on the array. An array is a contiguous range, and
    /// converts to std::span.
    T* begin(Where where = {}) HEDDLE_LIFETIMEBOUND {
        detail::check_host_reach(block_, where);
        return address();
    }
    /// Returns the address of the first element of a const array.
    const T* begin(Where where = {}) const HEDDLE_LIFETIMEBOUND {
        detail::check_host_reach(block_, where);
        return address();
    }
    /// Accesses an element from the host. For host memory only (pinned, pageable, CPU devices).
    /// Does not check the memory or the index, and does not wait for work on the array.
    T& operator[](std::size_t i) noexcept HEDDLE_LIFETIMEBOUND { return address()[i]; }
    const T& operator[](std::size_t i) const noexcept HEDDLE_LIFETIMEBOUND { return address()[i]; }
#else  // With reports to the checker. Other parameters, so that files with and without them link.
    T* data(detail::HostPlace where = {}) noexcept HEDDLE_LIFETIMEBOUND {
        note_all(detail::HostCall::data, false, where);
        return address();
    }
    const T* data(detail::HostPlace where = {}) const noexcept HEDDLE_LIFETIMEBOUND {
        note_all(detail::HostCall::data, true, where);
        return address();
    }
    T* begin(detail::HostPlace where = {}) HEDDLE_LIFETIMEBOUND {
        detail::check_host_reach(block_, Where(where));
        note_all(detail::HostCall::begin, false, where);
        return address();
    }
    const T* begin(detail::HostPlace where = {}) const HEDDLE_LIFETIMEBOUND {
        detail::check_host_reach(block_, Where(where));
        note_all(detail::HostCall::begin, true, where);
        return address();
    }
    T& operator[](detail::HostIndex i) noexcept HEDDLE_LIFETIMEBOUND {
        note_element(i, false);
        return address()[i.value];
    }
    const T& operator[](detail::HostIndex i) const noexcept HEDDLE_LIFETIMEBOUND {
        note_element(i, true);
        return address()[i.value];
    }
#endif
    /// Returns the address after the last element.
    T* end() noexcept HEDDLE_LIFETIMEBOUND { return address() + size_; }
    const T* end() const noexcept HEDDLE_LIFETIMEBOUND { return address() + size_; }

    /// Declares that work heddle cannot see (a raw launch, a library, a host function) uses this
    /// memory on `stream`. Freeing the array, to_host(), and copies between it and pageable memory
    /// then wait for all work enqueued on that stream before the call. On a captured stream the
    /// declaration applies to each launch of the graph, which requires the array to be alive.
    void used_on(StreamRef stream, Where where = {}) const {
        if (block_ != nullptr) detail::declare_use(*block_, stream, where);
    }

private:
    friend detail::Access;
    Array(detail::Block& block, std::size_t size) noexcept : block_(&block), size_(size) {}
    void forget() noexcept {
        block_ = nullptr;
        size_ = 0;
    }
    T* address() const noexcept {
        return block_ != nullptr ? static_cast<T*>(block_->data) : nullptr;
    }
    [[gnu::always_inline]] void note_all(detail::HostCall call, bool only_reads,
                                         SourceLocation where) const noexcept {
        detail::note_host_use(block_, 0, size_ * sizeof(T), {sizeof(T), call, only_reads}, where);
    }
    [[gnu::always_inline]] void note_element(const detail::HostIndex& i,
                                             bool only_reads) const noexcept {
        detail::note_host_use(block_, i.value * sizeof(T), sizeof(T),
                              {sizeof(T), detail::HostCall::element, only_reads}, i.where);
    }

    detail::Block* block_ = nullptr;
    std::size_t size_ = 0;
};

template <class T> Array<T> detail::Access::array(Block& block, std::size_t size) noexcept {
    return {block, size};
}
template <class T> constexpr detail::Block* detail::Access::block(const Array<T>& array) noexcept {
    return array.block_;
}

}  // namespace heddle

// As for View: constructing a std::span from an array calls begin(), which checks the memory.
template <class T> inline constexpr bool std::ranges::disable_sized_range<heddle::Array<T>> = true;
