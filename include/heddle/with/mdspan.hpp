// Arrays as mdspans of any library: std::mdspan, cuda::std::mdspan, Kokkos' mdspan. Includes none
// of their headers.
#pragma once

#include <cstddef>
#include <limits>
#include <type_traits>

#include <heddle/detail/mistakes.hpp>
#include <heddle/detail/spans.hpp>
#include <heddle/launch/detail/kernel_args.hpp>
#include <heddle/location.hpp>
#include <heddle/memory/array.hpp>
#include <heddle/memory/view.hpp>
#include <heddle/with/bounds_accessor.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
/// The call that makes an mdspan, for errors: spanning or as.
struct SpanningCall {
    const char* name;
    const SourceLocation& where;
};
/// `needed` is 0 if the number of elements overflows the index_type.
[[noreturn]] void throw_span_too_large(const std::size_t* extent, std::size_t rank,
                                       std::size_t needed, std::size_t size,
                                       const SpanningCall& call);
[[noreturn]] void throw_extent_of_mdspan(std::ptrdiff_t extent, std::size_t dimension,
                                         std::size_t most, const SpanningCall& call);
[[noreturn]] void throw_static_extent(std::size_t extent, std::size_t dimension, std::size_t fixed,
                                      const SpanningCall& call);

/// The memory argument of spanning() and as(), and the call's place: an array, a view, or a host
/// range.
template <class T> struct SpannedMemory {
    template <class A>
        requires std::is_convertible_v<A, View<T>>
    SpannedMemory(A&& memory, Where at = {}) : view(memory), where(at) {  // NOLINT
        if constexpr (is_array<std::remove_cvref_t<A>>)
            is_missing = Access::block(memory) == nullptr;
    }
    View<T> view;
    bool is_missing = false;  ///< an array without an allocation
    Where where;
};

/// Whether spanning<M>() accepts these arguments: extents, an extents object or a mapping.
template <class M, class... E>
concept ExtentsOf =
    MdspanLike<M> && (sizeof...(E) == M::rank() || sizeof...(E) == M::rank_dynamic()) &&
    std::is_constructible_v<typename M::mapping_type, typename M::extents_type> &&
    ((std::is_convertible_v<E, std::size_t> && !std::is_floating_point_v<E>) && ...);
template <class M, class... E>
concept MappingOf =
    MdspanLike<M> && sizeof...(E) == 1 &&
    ((std::is_convertible_v<E, typename M::mapping_type> && !std::is_arithmetic_v<E>) && ...);

/// Checks the extents, and returns the mapping.
template <class M, class... E>
typename M::mapping_type mapping_of(const SpanningCall& call, const E&... extents) {
    using Index = typename M::index_type;
    constexpr std::size_t most = std::numeric_limits<Index>::max();
    [[maybe_unused]] std::size_t dimension = 0;
    [[maybe_unused]] const auto check = [&](std::ptrdiff_t extent) {
        if constexpr (sizeof...(E) == M::rank() && M::rank() != 0) {
            const std::size_t fixed = M::static_extent(dimension);
            if (fixed != static_cast<std::size_t>(-1) && static_cast<std::size_t>(extent) != fixed)
                throw_static_extent(static_cast<std::size_t>(extent), dimension, fixed, call);
        }
        if (extent < 0 || static_cast<std::size_t>(extent) > most)
            throw_extent_of_mdspan(extent, dimension, most, call);
        ++dimension;
    };
    (check(static_cast<std::ptrdiff_t>(extents)), ...);
    return typename M::mapping_type(typename M::extents_type(static_cast<Index>(extents)...));
}
template <class M, class E>
    requires MappingOf<M, E>
typename M::mapping_type mapping_of(const SpanningCall&, const E& mapping) {
    return mapping;
}

/// Returns the number of elements from the first to the last one of an mdspan, gaps included.
/// Throws UsageError if there are more than `size`.
template <class Mapping>
[[gnu::always_inline]] inline std::size_t check_span(const Mapping& mapping, std::size_t size,
                                                     const SpanningCall& call) {
    using Extents = typename Mapping::extents_type;
    constexpr std::size_t rank = Extents::rank();
    std::size_t extent[rank + 1] = {}, all = 1;
    bool overflows = false, is_empty = false;
    for (std::size_t i = 0; i != rank; ++i) {
        extent[i] = static_cast<std::size_t>(
            mapping.extents().extent(static_cast<typename Extents::rank_type>(i)));
        is_empty |= extent[i] == 0;
        overflows |= __builtin_mul_overflow(all, extent[i], &all);
    }
    if (is_empty) return 0;
    overflows |= all > std::numeric_limits<typename Extents::index_type>::max();
    const auto needed = overflows ? 0 : static_cast<std::size_t>(mapping.required_span_size());
    if (overflows || needed > size) [[unlikely]]
        throw_span_too_large(extent, rank, needed, size, call);
    return needed;
}

}  // namespace detail

/// A kernel's argument: an mdspan of type M over memory that heddle tracks. Made by spanning(). The
/// kernel takes it as an M. Lifetime: like a view, it does not own the memory. Const members are
/// thread-safe.
template <class M> class KernelMdspan {
public:
    using stands_for = M;                           ///< the type that the kernel receives
    using extents_type = typename M::extents_type;  ///< for dim()

    /// Returns the mdspan, for work outside heddle.
    M mdspan() const noexcept { return value_; }
    /// Returns the memory from the first element to the last one.
    View<typename M::element_type> memory() const noexcept { return memory_; }
    /// Returns the extents of the mdspan.
    extents_type extents() const noexcept { return value_.extents(); }
    /// Returns the number of dimensions.
    static constexpr auto rank() noexcept { return M::rank(); }

private:
    friend detail::Access;
    KernelMdspan(const M& value, View<typename M::element_type> memory) noexcept
        : value_(value), memory_(memory) {}
    M value_;
    View<typename M::element_type> memory_;
};

namespace detail {
template <class M, class... E>
[[gnu::always_inline]] inline KernelMdspan<M> make_spanning(
    const char* name, const SpannedMemory<typename M::element_type>& memory, const E&... extents) {
    if (memory.is_missing) [[unlikely]]
        throw_no_array(name, memory.where);
    const SpanningCall call{name, memory.where};
    const auto mapping = detail::mapping_of<M>(call, extents...);
    const auto used = memory.view.first(detail::check_span(mapping, memory.view.size(), call));
    using Accessor = typename M::accessor_type;
    if constexpr (std::is_constructible_v<Accessor, decltype(used)>)  // a bounds_accessor
        return Access::make<KernelMdspan<M>>(M(used.data(), mapping, Accessor(used)), used);
    else return Access::make<KernelMdspan<M>>(M(used.data(), mapping), used);
}
}  // namespace detail

/// Returns memory as an argument for kernels that take the mdspan M: std::mdspan of C++23,
/// cuda::std::mdspan (which kernels on GPUs need), or another class with their members and a
/// pointer. The launch tracks the memory from the first element to the last one. It counts as
/// written unless the elements are const.
///
///     using Matrix = cuda::std::mdspan<float, cuda::std::dextents<std::size_t, 2>>;
///     launch(s, Scale{}, dim(columns, rows), spanning<Matrix>(x, rows, columns), 2.0f);
///
/// `memory` is an array, a view, or host memory that converts to one. `extents` are all extents,
/// the dynamic ones, an object of M::extents_type, or one of M::mapping_type, for layout_stride.
///
/// Throws UsageError if the memory has fewer elements than the mapping needs, for an extent that
/// M::index_type or M cannot have, and for an array without an allocation. Thread-safe.
template <class M, class... E>
    requires detail::ExtentsOf<M, E...> || detail::MappingOf<M, E...>
[[nodiscard]] KernelMdspan<M> spanning(
    const detail::SpannedMemory<typename M::element_type>& memory, const E&... extents) {
    return detail::make_spanning<M>("spanning", memory, extents...);
}

/// Returns memory as an mdspan for the host: for loops between launches, or for another library.
/// Does not wait for work on the memory. Arguments and errors: see spanning(). Also throws
/// UsageError for memory on a GPU.
///
///     s.synchronize();
///     const auto image = as<Matrix>(x, rows, columns);
template <class M, class... E>
    requires detail::ExtentsOf<M, E...> || detail::MappingOf<M, E...>
[[nodiscard]] M as(const detail::SpannedMemory<typename M::element_type>& memory,
                   const E&... extents) {
    detail::check_host_reach(detail::Access::block(memory.view), memory.where);
    return detail::make_spanning<M>("as", memory, extents...).mdspan();
}

/// Deleted: M is not an mdspan, or its elements are not behind a pointer.
template <class M, class Why = mistake::M_is_not_an_mdspan_with_a_pointer, class... A>
    requires(!detail::MdspanLike<M>)
Why spanning(A&&...) = delete;
/// Deleted: wrong extents. layout_stride needs a mapping.
template <class M, class Why = mistake::pass_all_extents_of_M_or_its_mapping, class A, class... E>
    requires(detail::MdspanLike<M> && !detail::ExtentsOf<M, E...> && !detail::MappingOf<M, E...>)
Why spanning(A&&, const E&...) = delete;
/// Deleted: other elements, or const elements for an mdspan that can write them.
template <class M, class Why = mistake::the_memory_is_not_a_View_of_the_elements_of_M, class A,
          class... E>
    requires((detail::ExtentsOf<M, E...> || detail::MappingOf<M, E...>) &&
             !std::is_convertible_v<A, View<typename M::element_type>>)
Why spanning(A&&, const E&...) = delete;

}  // namespace heddle
