// Memory that code outside heddle has allocated, as arrays.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <ranges>
#include <type_traits>
#include <utility>

#include <heddle/memory/array.hpp>
#include <heddle/memory/detail/adopted_memory.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {

/// Calls a user's function with the address.
template <class T, class F> class EndOf final : public MemoryEnd {
public:
    static constexpr bool takes_stream = std::invocable<F&, T*, StreamRef>;

    template <class G>
    EndOf(T* data, G&& end)
        : MemoryEnd(takes_stream ? Order::stream : Order::host), data_(data),
          end_(std::forward<G>(end)) {}
    void run([[maybe_unused]] const StreamRef* after) override {
        if constexpr (takes_stream) end_(data_, *after);
        else end_(data_);
    }

private:
    T* data_;
    F end_;
};

/// Owns a container. The end of the memory destroys it.
template <class R> class ContainerEnd final : public MemoryEnd {
public:
    explicit ContainerEnd(R&& container)
        : MemoryEnd(Order::host), container_(std::move(container)) {}
    R& container() noexcept { return container_; }
    void run(const StreamRef*) override {}

private:
    R container_;
};

template <class T, class F>
concept EndFor =
    std::invocable<std::decay_t<F>&, T*> || std::invocable<std::decay_t<F>&, T*, StreamRef>;

/// A container to adopt: a contiguous range, passed as an rvalue, that owns its elements.
template <class R>
concept AdoptableContainer =
    !std::is_reference_v<R> && !std::is_const_v<R> && std::ranges::contiguous_range<R> &&
    std::ranges::sized_range<R> && !std::ranges::view<R> && !std::ranges::borrowed_range<R>;

template <class T> ForeignMemory foreign(Device device, T* data, std::size_t size) noexcept {
    return {data, size, sizeof(T), alignof(T), device, MemoryKind::device};
}
template <class T> ForeignMemory foreign(MemoryKind kind, T* data, std::size_t size) noexcept {
    return {data, size, sizeof(T), alignof(T), Access::device(DeviceKind::cpu, 0), kind};
}
template <class T, class F> std::unique_ptr<MemoryEnd> make_end(T* data, F&& end) {
    return std::make_unique<EndOf<T, std::decay_t<F>>>(data, std::forward<F>(end));
}
/// Throws UsageError for MemoryKind::device.
Block& adopt_host(MemoryKind kind, const ForeignMemory& memory, std::unique_ptr<MemoryEnd> end,
                  Where where);

}  // namespace detail

/// Makes an array of `size` elements in memory of `device` that was allocated elsewhere. The memory
/// is used as it is. `end` is called once, after all uses that heddle knows of:
///
///     float* p = library_allocate(n);
///     Array<float> x = adopt(Device("cpu"), p, n, [](float* p) { library_free(p); });
///     launch(s, Add{}, dim(n), x);              // x may be destroyed now: p is freed after this
///
///     Array<float> y = adopt(Device("cuda:0"), q, n, [](float* q, StreamRef after) {
///         with_native(after, [&](cudaStream_t s) { return cudaFreeAsync(q, s); });
///     });
///
/// The parameters of `end` determine when it is called. `end(T*)` is called on a thread of heddle,
/// when all work on the memory has completed, failed or been dropped. If no stream ever used the
/// memory, the thread that destroys the array calls it. `end(T*, StreamRef)` is called when the
/// array is destroyed, with a stream of `device` (cpu:0 for host memory) that is ordered after all
/// work on the memory, even if that work failed. If `end` enqueues the deallocation on this stream,
/// the memory is freed in stream order. In host functions, and while a stream that used the memory
/// is being captured, a thread of heddle calls it soon after.
///
/// The thread that calls ends is heddle's own, runs one at a time, and holds no lock: an end may
/// use CUDA, take locks, and run for long. An exception is passed to the report hook. When exit()
/// has begun, and in the child of a fork, ends are not called: see finish_adopted().
///
/// Any stream, and the host, may use the memory at once: order streams after work that still writes
/// it. Throws UsageError for null, for a wrong alignment, for memory of another array, and for
/// memory that is not the device's. If adopt() throws, `end` is not called. Thread-safe.
template <class T, class F>
    requires detail::EndFor<T, F>
[[nodiscard]] Array<T> adopt(Device device, T* data, std::size_t size, F&& end,
                             Where where = {}) try {
    return detail::Access::array<T>(
        detail::adopt_memory(detail::foreign(device, data, size),
                             detail::make_end(data, std::forward<F>(end)), "adopt", where),
        size);
} catch (...) {
    detail::rethrow_as_error("adopt", where);
}
/// Does the same for host memory: MemoryKind::pinned for memory that CUDA knows as pinned, or
/// MemoryKind::pageable.
template <class T, class F>
    requires detail::EndFor<T, F>
[[nodiscard]] Array<T> adopt(MemoryKind kind, T* data, std::size_t size, F&& end,
                             Where where = {}) try {
    return detail::Access::array<T>(detail::adopt_host(kind, detail::foreign(kind, data, size),
                                                       detail::make_end(data, std::forward<F>(end)),
                                                       where),
                                    size);
} catch (...) {
    detail::rethrow_as_error("adopt", where);
}

/// Makes an array of a container's elements, and destroys the container after the last use, on a
/// host thread as above. The container is moved, so its elements are copied only if moving the
/// container copies them:
///
///     Array<float> x = adopt(Device("cpu"), std::move(values));     // a std::vector<float>
template <detail::AdoptableContainer R>
[[nodiscard]] auto adopt(Device device, R&& container, Where where = {}) try {
    using T = std::remove_reference_t<std::ranges::range_reference_t<R>>;
    auto end = std::make_unique<detail::ContainerEnd<R>>(std::forward<R>(container));
    T* const data = std::ranges::data(end->container());
    const std::size_t size = std::ranges::size(end->container());
    return detail::Access::array<T>(
        detail::adopt_memory(detail::foreign(device, data, size), std::move(end), "adopt", where),
        size);
} catch (...) {
    detail::rethrow_as_error("adopt", where);
}

/// Blocks until the ends of all arrays of adopted memory that were destroyed before, by any
/// thread, have been called. Call it before a library that ends need is unloaded, or in an atexit
/// function of Python. Flushes batches that keep such memory. Throws
/// UsageError in a host function, and in an end.
void finish_adopted(Where where = {});

}  // namespace heddle
