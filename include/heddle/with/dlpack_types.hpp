// Types of elements and shapes of DLPack's tensors, for <heddle/with/dlpack.hpp>.
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <heddle/detail/mistakes.hpp>

// CUDA's types of elements, which its headers define.
struct __half;         // NOLINT(bugprone-reserved-identifier)
struct __nv_bfloat16;  // NOLINT(bugprone-reserved-identifier)
struct float4;

namespace heddle HEDDLE_VISIBLE {

/// The type of a tensor's elements, as in DLPack: a DLDataType.
struct DlpackElement {
    std::uint8_t code = 0;    ///< kDLInt 0, kDLUInt 1, kDLFloat 2, kDLBfloat 4, kDLComplex 5, ...
    std::uint8_t bits = 0;    ///< of one lane
    std::uint16_t lanes = 1;  ///< of a vector, such as float4
    bool operator==(const DlpackElement&) const = default;
};

namespace detail {
template <class T> inline constexpr DlpackElement dlpack_element{};
template <std::integral T>
inline constexpr DlpackElement dlpack_element<T>{
    std::is_signed_v<T> ? std::uint8_t{0} : std::uint8_t{1}, sizeof(T) * 8};
template <std::floating_point T>
    requires(sizeof(T) <= 8)
inline constexpr DlpackElement dlpack_element<T>{2, sizeof(T) * 8};
template <class T>
inline constexpr DlpackElement dlpack_element<std::complex<T>>{5, sizeof(T) * 16};
template <> inline constexpr DlpackElement dlpack_element<bool>{6, 8};
template <> inline constexpr DlpackElement dlpack_element<std::byte>{1, 8};
template <> inline constexpr DlpackElement dlpack_element<__half>{2, 16};
template <> inline constexpr DlpackElement dlpack_element<__nv_bfloat16>{4, 16};
template <> inline constexpr DlpackElement dlpack_element<float4>{2, 32, 4};
}  // namespace detail

/// The element type of DLPack that T corresponds to. Defined for bool, numbers of 8 to 64 bits,
/// std::byte, std::complex, __half, __nv_bfloat16 and float4. Specialise it for others:
///
///     template <> struct heddle::DlpackType<MyHalf> {
///         static constexpr DlpackElement value{.code = 2, .bits = 16};
///     };
template <class T> struct DlpackType {
    static_assert(
        detail::dlpack_element<T>.bits != 0,
        "heddle: DLPack has no element type for this T: specialise heddle::DlpackType<T>");
    /// The element.
    static constexpr DlpackElement value = detail::dlpack_element<T>;
};

/// The sizes of a tensor's dimensions, the slowest first: `to_dlpack(x, {rows, columns})`. If
/// empty, the tensor has one dimension with all elements. Copies up to 8 sizes; sizes in a span are
/// not copied, and must outlive it. Throws nothing: to_dlpack() checks the sizes.
class DlpackShape {
public:
    DlpackShape() = default;
    /// Copies the sizes.
    template <std::integral... N>
        requires(sizeof...(N) > 0 && sizeof...(N) <= 8)
    DlpackShape(N... sizes) noexcept
        : own_{static_cast<std::int64_t>(sizes)...}, count_(sizeof...(N)) {}
    /// The sizes that the span refers to must outlive this object.
    explicit DlpackShape(std::span<const std::int64_t> sizes HEDDLE_LIFETIMEBOUND) noexcept
        : others_(sizes.data()), count_(sizes.size()) {}
    /// Returns the sizes.
    std::span<const std::int64_t> sizes() const noexcept HEDDLE_LIFETIMEBOUND {
        return {others_ != nullptr ? others_ : own_, count_};
    }

private:
    std::int64_t own_[8] = {};
    const std::int64_t* others_ = nullptr;
    std::size_t count_ = 0;
};

}  // namespace heddle
