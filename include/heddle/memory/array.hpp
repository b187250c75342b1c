// Array: owned memory, allocated and freed in stream order.
#pragma once

#include <concepts>
#include <cstring>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <heddle/detail/host_use.hpp>
#include <heddle/error.hpp>
#include <heddle/memory/copy.hpp>
#include <heddle/memory/view.hpp>
#include <heddle/stream/scope.hpp>

namespace heddle {

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
/// Move-only. The destructor does not block: it frees the memory in stream order, after all work on
/// it that was enqueued through heddle on any stream. Declare other uses with used_on(). Const
/// members are thread-safe.
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

namespace detail {
template <class On>
concept StreamOrDevice = IsStream<On> || std::same_as<On, Device>;
template <class T>
Array<T> make_array(StreamRef stream, std::size_t size, const char* call, Where where) {
    return Access::array<T>(allocate(stream, size, sizeof(T), call, where), size);
}
}  // namespace detail

/// Allocates `size` uninitialised elements on `stream`'s device, in stream order. Without a stream,
/// uses the current stream, or the current stream of `device`. Throws OutOfMemory, as do all
/// functions below that make arrays.
template <class T>
[[nodiscard]] Array<T> empty(StreamRef stream, std::size_t size, Where where = {}) {
    return detail::make_array<T>(stream, size, "empty", where);
}
template <class T> [[nodiscard]] Array<T> empty(Device device, std::size_t size, Where where = {}) {
    return empty<T>(current_stream(device), size, where);
}
template <class T> [[nodiscard]] Array<T> empty(std::size_t size, Where where = {}) {
    return empty<T>(current_stream(), size, where);
}

/// Allocates `size` elements as empty() does and sets them to `value`, on the same stream.
template <class T, class V = T>
[[nodiscard]] Array<T> full(StreamRef stream, std::size_t size, const V& value, Where where = {}) {
    Array<T> array = detail::make_array<T>(stream, size, "full", where);
    fill(stream, array, value, where);
    return array;
}
template <class T, class V = T>
[[nodiscard]] Array<T> full(Device device, std::size_t size, const V& value, Where where = {}) {
    return full<T>(current_stream(device), size, value, where);
}
template <class T, class V = T>
[[nodiscard]] Array<T> full(std::size_t size, const V& value, Where where = {}) {
    return full<T>(current_stream(), size, value, where);
}

/// Allocates `size` elements as empty() does and sets their bytes to zero, on the same stream.
template <class T>
[[nodiscard]] Array<T> zeros(StreamRef stream, std::size_t size, Where where = {}) {
    Array<T> array = detail::make_array<T>(stream, size, "zeros", where);
    fill_zero(stream, array, where);
    return array;
}
template <class T> [[nodiscard]] Array<T> zeros(Device device, std::size_t size, Where where = {}) {
    return zeros<T>(current_stream(device), size, where);
}
template <class T> [[nodiscard]] Array<T> zeros(std::size_t size, Where where = {}) {
    return zeros<T>(current_stream(), size, where);
}

/// Deleted: to pass this type as a size, write std::size_t(size).
template <class T, class Why = mistake::a_size_is_a_whole_number, std::floating_point N, class... A>
Why empty(N, A&&...) = delete;
template <class T, class Why = mistake::a_size_is_a_whole_number, detail::StreamOrDevice On,
          std::floating_point N, class... A>
Why empty(const On&, N, A&&...) = delete;
template <class T, class Why = mistake::a_size_is_a_whole_number, std::floating_point N, class... A>
Why full(N, A&&...) = delete;
template <class T, class Why = mistake::a_size_is_a_whole_number, detail::StreamOrDevice On,
          std::floating_point N, class... A>
Why full(const On&, N, A&&...) = delete;
template <class T, class Why = mistake::a_size_is_a_whole_number, std::floating_point N, class... A>
Why zeros(N, A&&...) = delete;
template <class T, class Why = mistake::a_size_is_a_whole_number, detail::StreamOrDevice On,
          std::floating_point N, class... A>
Why zeros(const On&, N, A&&...) = delete;

/// Allocates `size` uninitialised elements of page-locked host memory, from a cache. GPUs read and
/// write it directly and asynchronously. On machines without CUDA it is plain memory.
template <class T> [[nodiscard]] Array<T> pinned(std::size_t size, Where where = {}) {
    return detail::Access::array<T>(
        detail::allocate_host(MemoryKind::pinned, size, sizeof(T), where), size);
}
/// Allocates `size` uninitialised elements of plain host memory.
template <class T> [[nodiscard]] Array<T> pageable(std::size_t size, Where where = {}) {
    return detail::Access::array<T>(
        detail::allocate_host(MemoryKind::pageable, size, sizeof(T), where), size);
}

/// Returns a new array on `stream`'s device with the elements of a host range or host array. The
/// copy runs on `stream`. Without a stream, uses the current stream, or the current stream of
/// `device`. After the call the range may be changed, unless it is in pinned memory.
///
///     Array<float> x = from_host({1.0f, 2.0f, 3.0f});
template <detail::ContiguousRange R, class T = detail::RangeValue<R>>
[[nodiscard]] Array<T> from_host(StreamRef stream, const R& range, Where where = {}) {
    const View<const T> from(range);
    Array<T> array = detail::make_array<T>(stream, from.size(), "from_host", where);
    copy(stream, array, from, where);
    return array;
}
template <detail::ContiguousRange R, class T = detail::RangeValue<R>>
[[nodiscard]] Array<T> from_host(Device device, const R& range, Where where = {}) {
    return from_host(current_stream(device), range, where);
}
template <detail::ContiguousRange R, class T = detail::RangeValue<R>>
[[nodiscard]] Array<T> from_host(const R& range, Where where = {}) {
    return from_host(current_stream(), range, where);
}
/// Deleted: write from_host(View(pointer, size)).
template <class T>
Array<T> from_host(const T*, std::size_t, mistake::write_View_of_pointer_and_size = {}) = delete;
template <class T>
[[nodiscard]] Array<T> from_host(StreamRef stream, std::initializer_list<T> values,
                                 Where where = {}) {
    return from_host(stream, std::span<const T>(values.begin(), values.size()), where);
}
template <class T>
[[nodiscard]] Array<T> from_host(Device device, std::initializer_list<T> values, Where where = {}) {
    return from_host(current_stream(device), values, where);
}
template <class T>
[[nodiscard]] Array<T> from_host(std::initializer_list<T> values, Where where = {}) {
    return from_host(current_stream(), values, where);
}

/// Returns a new array with the elements of `array`, on the same device or in the same kind of host
/// memory. The copy runs on the stream that copy() uses: the current stream of that device.
///
///     Array<float> before = clone(x);
///
/// A clone of a shareable or imported array is an ordinary array. Throws UsageError for an array
/// without an allocation (moved from, for example).
template <class T> [[nodiscard]] Array<T> clone(const Array<T>& array, Where where = {}) {
    const View<const T> from = detail::check_held(array, "clone", where).view();
    const auto on_device = [&] {
        return detail::make_array<T>(current_stream(array.device()), from.size(), "clone", where);
    };
    Array<T> to = array.kind() == MemoryKind::device   ? on_device()
                  : array.kind() == MemoryKind::pinned ? pinned<T>(from.size(), where)
                                                       : pageable<T>(from.size(), where);
    copy(to, from, where);
    return to;
}
/// Returns a new array on `stream`'s device with the elements of an array or view of any memory.
/// The copy runs on `stream`. With a device instead, the new array is on that device, and the copy
/// is ordered as with copy() without a stream.
template <detail::ArrayOrView A>
[[nodiscard]] auto clone(StreamRef stream, const A& array, Where where = {}) {
    const auto from = detail::as_source(array, "clone", where);
    using T = typename decltype(from)::value_type;
    auto to = detail::make_array<T>(stream, from.size(), "clone", where);
    copy(stream, to, from, where);
    return to;
}
template <detail::ArrayOrView A>
[[nodiscard]] auto clone(Device device, const A& array, Where where = {}) {
    const auto from = detail::as_source(array, "clone", where);
    using T = typename decltype(from)::value_type;
    auto to = detail::make_array<T>(current_stream(device), from.size(), "clone", where);
    copy(to, from, where);
    return to;
}

/// Returns the elements as a std::vector. Blocks until they have been copied. The copy runs on
/// `stream`. Without a stream, it runs on the current stream of the array's device. The copy is
/// then ordered after all work on the array that was enqueued on any stream. Throws the stream's
/// failure if its work failed.
template <detail::Source A>
[[nodiscard]] auto to_host(StreamRef stream, const A& array, Where where = {}) try {
    auto source = detail::as_source(array, "to_host", where);
    using T = typename decltype(source)::value_type;
    detail::check_to_host(stream, where);
    // std::vector<bool> stores bits, not bool objects.
    using Host =
        std::conditional_t<std::is_same_v<T, bool>, std::vector<unsigned char>, std::vector<T>>;
    Host host(source.size());
    copy(stream, View<T>(reinterpret_cast<T*>(host.data()), host.size()), source, where);
    stream.synchronize(where);
    if constexpr (std::is_same_v<T, bool>) return std::vector<T>(host.begin(), host.end());
    else return host;
} catch (...) {
    detail::rethrow_as_error("to_host", where);
}
template <detail::Source A> [[nodiscard]] auto to_host(const A& array, Where where = {}) {
    auto source = detail::as_source(array, "to_host", where);
    return to_host(detail::home_stream(detail::Access::block(source), source.data(), where), source,
                   where);
}
/// Deleted: to copy into existing memory, write copy(to, array).
template <class Why = mistake::to_host_returns_a_vector_and_copy_writes_to_one, detail::Source A,
          detail::Source To>
Why to_host(const A&, To&&, Where = {}) = delete;
template <class Why = mistake::to_host_returns_a_vector_and_copy_writes_to_one, detail::Source A,
          detail::Source To>
Why to_host(StreamRef, const A&, To&&, Where = {}) = delete;

}  // namespace heddle

// As for View: constructing a std::span from an array calls begin(), which checks the memory.
template <class T> inline constexpr bool std::ranges::disable_sized_range<heddle::Array<T>> = true;
