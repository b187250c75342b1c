// Arrays: memory owned, allocated and freed in stream order.
#pragma once

#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include <heddle/copy.hpp>
#include <heddle/scope.hpp>
#include <heddle/view.hpp>

namespace heddle {

namespace detail {
/// Allocates on `stream`'s device, in its order. Throws OutOfMemory.
Block& allocate(StreamRef stream, std::size_t count, std::size_t element, SourceLocation where);
/// Allocates host memory.
Block& allocate_host(MemoryKind kind, std::size_t count, std::size_t element, SourceLocation where);
/// Gives memory back after all of its uses, without waiting on the host. Never throws (reports).
void release(Block& block) noexcept;
void declare_use(Block& block, StreamRef stream, SourceLocation where);
}  // namespace detail

/// Owns `size()` elements of T in one piece: memory of a device, or host memory (pinned or pageable). Made by empty(),
/// zeros(), full(), from_host(), pinned(), pageable(). Move-only. T is trivially copyable.
///
/// Destroying it gives the memory back, in stream order, after everything heddle gave to any stream to do with it.
template <class T> class Array {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                  "heddle::Array<T>: T is copied as bytes between devices, so it must be trivially copyable");

public:
    using value_type = T;

    Array() noexcept = default;
    Array(detail::Block& block, std::size_t size) noexcept
        : block_(&block), size_(size) {}  ///< for the library
    Array(Array&& other) noexcept
        : block_(std::exchange(other.block_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    Array& operator=(Array&& other) noexcept {
        if (this != &other) {
            reset();
            block_ = std::exchange(other.block_, nullptr);
            size_ = std::exchange(other.size_, 0);
        }
        return *this;
    }
    ~Array() { reset(); }

    /// Frees the memory now (in stream order) and leaves the array empty.
    void reset() noexcept {
        if (block_ != nullptr) detail::release(*std::exchange(block_, nullptr));
        size_ = 0;
    }

    std::size_t size() const noexcept { return size_; }
    std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }
    bool empty() const noexcept { return size_ == 0; }
    T* data() noexcept { return block_ != nullptr ? static_cast<T*>(block_->data) : nullptr; }
    const T* data() const noexcept {
        return block_ != nullptr ? static_cast<const T*>(block_->data) : nullptr;
    }

    /// The device whose memory it is; host arrays say cpu:0.
    Device device() const noexcept {
        return block_ != nullptr ? block_->device : Device::unchecked(DeviceKind::cpu, 0);
    }
    MemoryKind kind() const noexcept { return block_ != nullptr ? block_->kind : MemoryKind::pageable; }

    View<T> view() noexcept { return {data(), size_, block_}; }
    View<const T> view() const noexcept { return {data(), size_, block_}; }
    operator View<T>() noexcept { return view(); }
    operator View<const T>() const noexcept { return view(); }

    T* begin() noexcept { return data(); }
    T* end() noexcept { return data() + size_; }
    const T* begin() const noexcept { return data(); }
    const T* end() const noexcept { return data() + size_; }
    /// Element access, as the iterators above, for arrays in host memory (pinned, pageable, CPU devices); the user sees to the order.
    T& operator[](std::size_t i) noexcept { return data()[i]; }
    const T& operator[](std::size_t i) const noexcept { return data()[i]; }

    /// Declares that work heddle cannot see (a raw launch, a library) uses this memory on `stream`: freeing waits for what
    /// has been given to that stream until then.
    void used_on(StreamRef stream, SourceLocation where = SourceLocation::current()) const {
        if (block_ != nullptr) detail::declare_use(*block_, stream, where);
    }

private:
    detail::Block* block_ = nullptr;
    std::size_t size_ = 0;
};

/// `size` elements, not initialised, on `stream`'s device (default: the current stream).
template <class T>
[[nodiscard]] Array<T> empty(StreamRef stream, std::size_t size,
                             SourceLocation where = SourceLocation::current()) {
    return {detail::allocate(stream, size, sizeof(T), where), size};
}
template <class T>
[[nodiscard]] Array<T> empty(std::size_t size, SourceLocation where = SourceLocation::current()) {
    return empty<T>(current_stream(), size, where);
}

/// `size` elements of value `value`.
template <class T>
[[nodiscard]] Array<T> full(StreamRef stream, std::size_t size, std::type_identity_t<T> value,
                            SourceLocation where = SourceLocation::current()) {
    Array<T> array = empty<T>(stream, size, where);
    fill(stream, array, value, where);
    return array;
}
template <class T>
[[nodiscard]] Array<T> full(std::size_t size, std::type_identity_t<T> value,
                            SourceLocation where = SourceLocation::current()) {
    return full<T>(current_stream(), size, value, where);
}

/// `size` elements whose bytes are zero.
template <class T>
[[nodiscard]] Array<T> zeros(StreamRef stream, std::size_t size,
                             SourceLocation where = SourceLocation::current()) {
    Array<T> array = empty<T>(stream, size, where);
    fill_zero(stream, array, where);
    return array;
}
template <class T>
[[nodiscard]] Array<T> zeros(std::size_t size, SourceLocation where = SourceLocation::current()) {
    return zeros<T>(current_stream(), size, where);
}

/// Host memory that the GPUs read and write directly, asynchronously. From a cache; on machines without CUDA plain memory.
template <class T>
[[nodiscard]] Array<T> pinned(std::size_t size, SourceLocation where = SourceLocation::current()) {
    return {detail::allocate_host(MemoryKind::pinned, size, sizeof(T), where), size};
}
/// Plain host memory.
template <class T>
[[nodiscard]] Array<T> pageable(std::size_t size, SourceLocation where = SourceLocation::current()) {
    return {detail::allocate_host(MemoryKind::pageable, size, sizeof(T), where), size};
}

/// A new array on `stream`'s device with the elements of a host range (or of a host array). The range may be
/// changed when this returns, unless it is pinned.
template <std::ranges::contiguous_range R, class T = std::ranges::range_value_t<R>>
[[nodiscard]] Array<T> from_host(StreamRef stream, const R& range,
                                 SourceLocation where = SourceLocation::current()) {
    Array<T> array = empty<T>(stream, std::ranges::size(range), where);
    copy(stream, array, View<const T>(range), where);
    return array;
}
template <std::ranges::contiguous_range R, class T = std::ranges::range_value_t<R>>
[[nodiscard]] Array<T> from_host(const R& range, SourceLocation where = SourceLocation::current()) {
    return from_host(current_stream(), range, where);
}
template <class T>
[[nodiscard]] Array<T> from_host(std::initializer_list<T> values,
                                 SourceLocation where = SourceLocation::current()) {
    return from_host(current_stream(), std::span<const T>(values.begin(), values.size()), where);
}

/// The elements as a vector. Waits on the host for the copy, which runs on `stream`, or else on the current stream of
/// the array's device after all that any stream was given to do with the array.
template <detail::Source A>
[[nodiscard]] auto to_host(StreamRef stream, const A& array,
                           SourceLocation where = SourceLocation::current()) try {
    auto source = detail::as_source(array, where);
    std::vector<typename decltype(source)::value_type> host(source.size());
    copy(stream, View(host.data(), host.size()), source, where);
    stream.synchronize(where);
    return host;
} catch (...) {
    detail::rethrow_as_error("to_host", where);
}
template <detail::Source A>
[[nodiscard]] auto to_host(const A& array, SourceLocation where = SourceLocation::current()) {
    auto source = detail::as_source(array, where);
    return to_host(detail::home_stream(source.owner(), source.data(), where), source, where);
}

}  // namespace heddle
