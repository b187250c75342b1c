// Reports the host's accesses to arrays to the ordering checker. By default only in builds without
// NDEBUG.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <heddle/location.hpp>

// Define this macro as 0 or 1 to override the default for a file. Files compiled either way link
// together.
#if !defined(HEDDLE_HOST_ACCESSES)
#ifdef NDEBUG
#define HEDDLE_HOST_ACCESSES 0
#else
#define HEDDLE_HOST_ACCESSES 1
#endif
#endif

namespace heddle HEDDLE_VISIBLE {
namespace detail {

struct Block;

/// The member of Array by which the host accesses the elements.
enum class HostCall : std::uint8_t { none, element, begin, data };

/// A host access packed into one word, which the compiler computes.
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

/// The place of a call, as Where. A separate type, so that members of Array have different
/// signatures in files with HEDDLE_HOST_ACCESSES=1 and in files with 0.
struct HostPlace : SourceLocation {
    constexpr HostPlace(Where where = {}) noexcept : SourceLocation(where) {}
};

/// An index and the place of its use, because operator[] cannot take a place.
struct HostIndex {
    template <class N>
        requires std::is_convertible_v<const N&, std::size_t>
    constexpr HostIndex(const N& index, Where at = {}) noexcept
        : value(static_cast<std::size_t>(index)), where(at) {}
    std::size_t value;
    SourceLocation where;
};

/// 0 while no check runs. Otherwise changes whenever a host use that was correct may have become
/// incorrect. Cached answers of the check are then invalid.
inline constinit std::atomic<std::uint64_t> host_use_epoch{0};

/// Reports a use to the check, unless this thread has a cached answer that the use is correct.
void tell_host_use(const Block* block, std::size_t offset, std::size_t bytes, HostUse use,
                   SourceLocation where) noexcept;

/// Reports to the check that the host uses `bytes` bytes of a block from `offset` on. Costs one
/// load if no check runs. Has no effect inside host functions and CPU kernels.
[[gnu::always_inline]] inline void note_host_use(const Block* block, std::size_t offset,
                                                 std::size_t bytes, HostUse use,
                                                 SourceLocation where) noexcept {
    if (host_use_epoch.load(std::memory_order_relaxed) != 0) [[unlikely]]
        tell_host_use(block, offset, bytes, use, where);
}

}  // namespace detail
}  // namespace heddle
