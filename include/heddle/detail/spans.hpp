// Recognises spans and mdspans of any library by their members, without including its headers.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace heddle::detail {

/// A pointer and a number of elements: std::span, cuda::std::span and the like. No class of heddle.
template <class S>
concept SpanLike = std::is_class_v<S> && requires(const S& s) {
    typename S::element_type;
    { S::extent } -> std::convertible_to<std::size_t>;
    { s.data() } -> std::same_as<typename S::element_type*>;
    { s.size_bytes() } -> std::convertible_to<std::size_t>;
    requires std::is_trivially_copyable_v<S>;
};

/// A SpanLike of any size, which a pointer to elements T and a size can make.
template <class S, class T>
concept SpanOf = SpanLike<S> && S::extent == static_cast<std::size_t>(-1) &&
                 std::is_constructible_v<S, typename S::element_type*, std::size_t> &&
                 std::is_convertible_v<T (*)[], typename S::element_type (*)[]>;

/// std::mdspan, cuda::std::mdspan, Kokkos' mdspan and the like, with elements behind a pointer.
template <class M>
concept MdspanLike = std::is_class_v<M> && requires(const M& m) {
    typename M::element_type;
    typename M::mapping_type;
    typename M::accessor_type;
    { M::rank() } -> std::convertible_to<std::size_t>;
    { m.extents() } -> std::convertible_to<typename M::extents_type>;
    { m.mapping().required_span_size() } -> std::convertible_to<std::size_t>;
    requires std::is_convertible_v<typename M::data_handle_type, typename M::element_type*>;
    { m.data_handle() } -> std::convertible_to<typename M::data_handle_type>;
    requires std::is_trivially_copyable_v<M>;
};

/// A span or mdspan: memory that a kernel uses, by its address.
template <class S>
concept AnySpan = SpanLike<S> || MdspanLike<S>;

template <SpanLike S> typename S::element_type* first_of(const S& s) noexcept { return s.data(); }
template <MdspanLike M> typename M::element_type* first_of(const M& m) noexcept {
    return m.data_handle();
}
/// Return the number of bytes from the first element to the end of the last one.
template <SpanLike S> std::size_t span_bytes(const S& s) noexcept { return s.size_bytes(); }
template <MdspanLike M> std::size_t span_bytes(const M& m) noexcept {
    return static_cast<std::size_t>(m.mapping().required_span_size()) *
           sizeof(typename M::element_type);
}

}  // namespace heddle::detail
