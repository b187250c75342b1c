// What the host does with arrays, told to a check: compiled into programs that are not released.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <heddle/location.hpp>

// Set it to 0 or 1 to decide it for a file. Files compiled either way link together.
#if !defined(HEDDLE_HOST_ACCESSES)
#ifdef NDEBUG
#define HEDDLE_HOST_ACCESSES 0
#else
#define HEDDLE_HOST_ACCESSES 1
#endif
#endif

namespace heddle::detail {

struct Block;

/// By which member of Array the host reaches the elements.
enum class HostCall : std::uint8_t { none, element, begin, data };

/// In one word, which the compiler makes.
class HostUse {
public:
    constexpr HostUse(std::size_t element, HostCall call, bool only_reads) noexcept
        : word_(std::uint64_t{element} << 8 | static_cast<std::uint64_t>(call) << 1 |
                static_cast<std::uint64_t>(only_reads)) {}
    /// Returns the size of an element in bytes.
    constexpr std::size_t element() const noexcept { return word_ >> 8; }
    constexpr HostCall call() const noexcept { return static_cast<HostCall>(word_ >> 1 & 127); }
    constexpr bool only_reads() const noexcept { return (word_ & 1) != 0; }

private:
    std::uint64_t word_;
};

/// The place of a call, as Where. A type of its own, so that members which take it are not taken
/// for those of files compiled without host accesses.
struct HostPlace : SourceLocation {
    constexpr HostPlace(Where where = {}) noexcept : SourceLocation(where) {}
};

/// An index, and where it is used: operator[] has no room for a place.
struct HostIndex {
    template <class N>
        requires std::is_convertible_v<const N&, std::size_t>
    constexpr HostIndex(const N& index, Where at = {}) noexcept
        : value(static_cast<std::size_t>(index)), where(at) {}
    std::size_t value;
    SourceLocation where;
};

/// 0: nothing is checked. Else it grows with what may make a use by the host wrong.
inline constinit std::atomic<std::uint64_t> host_use_epoch{0};

/// Tells the check, unless this thread knows that the use is right.
void tell_host_use(const Block* block, std::size_t offset, std::size_t bytes, HostUse use,
                   SourceLocation where) noexcept;

/// Says that the host uses `bytes` bytes of a block from `offset` on. Costs one load if nothing is
/// checked. Work of streams that calls it is ignored.
[[gnu::always_inline]] inline void note_host_use(const Block* block, std::size_t offset,
                                                 std::size_t bytes, HostUse use,
                                                 SourceLocation where) noexcept {
    if (host_use_epoch.load(std::memory_order_relaxed) != 0) [[unlikely]]
        tell_host_use(block, offset, bytes, use, where);
}

}  // namespace heddle::detail
