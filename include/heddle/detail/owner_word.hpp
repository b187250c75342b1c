// The third word of a view: its allocation, and a pattern by which the view is recognised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <heddle/kernel.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

struct Block;

/// Whether other threads may read a T while it is written: it is an atomic, or volatile.
template <class T>
inline constexpr bool is_watched =
    std::is_volatile_v<T> || (!std::is_const_v<T> && requires { T::is_always_lock_free; });

/// A word that describes the allocation of a view, so that a search of a closure's bytes finds it.
/// Its fields from the lowest bit on, with their widths in bits: const (1), a pattern that aligned
/// pointers do not have (4), watched (1), rectangle (1), the address of the Block, a multiple of
/// 128 (41), and the size of an element in bytes, at most 0xffff (16). Without a Block, address and
/// pattern are zero. See docs/adr/0043.
class OwnerWord {
public:
    constexpr OwnerWord() noexcept = default;
    /// Returns the word of a View<T>.
    template <class T> static OwnerWord of(const Block* block) noexcept {
        if (block == nullptr) return {};
        return OwnerWord(reinterpret_cast<std::uintptr_t>(block) | pattern | traits<T>);
    }
    /// Interprets any eight bytes as a word.
    HEDDLE_FN explicit constexpr OwnerWord(std::uint64_t word) noexcept : word_(word) {}

    /// Returns the word of a View<T> with the same owner. It is in a rectangle if this one is.
    template <class T> HEDDLE_FN constexpr OwnerWord as() const noexcept {
        return OwnerWord((word_ & (address | rectangle | pattern_mask)) | traits<T>);
    }
    /// Returns this word, marked as belonging to a view in a View2D.
    constexpr OwnerWord in_rectangle() const noexcept { return OwnerWord(word_ | rectangle); }
    /// Returns this word without that mark.
    constexpr OwnerWord alone() const noexcept { return OwnerWord(word_ & ~rectangle); }

    /// Returns the block, or null. For arbitrary bytes, the address is valid only if may_be_owned()
    /// is true.
    Block* block() const noexcept { return reinterpret_cast<Block*>(word_ & address); }
    /// Returns false for nearly all words that do not belong to a view with an owner.
    constexpr bool may_be_owned() const noexcept { return (word_ & pattern_mask) == pattern; }
    /// Returns the bytes of an element, or `large` for that many or more.
    constexpr std::size_t element() const noexcept { return word_ >> 48; }
    /// Return whether the elements are const, whether other threads may read them during writes
    /// (is_watched), and whether the view is inside a View2D.
    constexpr bool is_const() const noexcept { return (word_ & const_bit) != 0; }
    constexpr bool is_watched() const noexcept { return (word_ & watched) != 0; }
    constexpr bool is_rectangle() const noexcept { return (word_ & rectangle) != 0; }

    static constexpr std::size_t large = 0xffff;

private:
    static constexpr std::uint64_t const_bit = 1, pattern_mask = 0x1e, pattern = 0x16,
                                   watched = 0x20, rectangle = 0x40, address = 0xffffffffff80;
    template <class T>
    static constexpr std::uint64_t traits =
        std::uint64_t{sizeof(T) < large ? sizeof(T) : large} << 48 |
        (std::is_const_v<T> ? const_bit : 0) | (detail::is_watched<T> ? watched : 0);

    std::uint64_t word_ = 0;
};
static_assert(sizeof(OwnerWord) == 8 && std::is_trivially_copyable_v<OwnerWord>);

}  // namespace detail
}  // namespace heddle
