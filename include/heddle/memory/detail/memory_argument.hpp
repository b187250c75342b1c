// The memory that work uses, as a launch or a host access passes it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <heddle/location.hpp>
#include <heddle/memory/detail/block.hpp>
#include <heddle/memory/range.hpp>

namespace heddle::detail {

/// The memory that a kernel uses through a view, if less than the view's type allows.
struct DeclaredUse {
    static constexpr std::size_t most_parts = 4;
    MemoryRange parts[most_parts] = {};  ///< the parts that the kernel uses; none is empty
    std::uint8_t count = 0;
    bool has_parts = false;  ///< if false, the kernel may use all of the view
    bool is_concurrent = false;

    /// Returns the number of accesses that this declaration describes.
    std::size_t most() const noexcept { return has_parts ? count : 1; }
    /// Adds a part of the memory `of`. Throws UsageError if the part is not within it, or if there
    /// are too many parts.
    void add(const MemoryRange& part, const MemoryRange& of, const SourceLocation& where);
};

/// The memory of an array or view: an argument of a kernel, or inside an argument or the kernel.
struct MemoryArgument : MemoryRange {
    Block* block = nullptr;     ///< null if heddle does not own the memory
    std::uint32_t element = 1;  ///< bytes of an element
    std::int8_t argument = -1;  ///< its index among the kernel's arguments; -1: in the kernel
    bool writes = false;        ///< whether the kernel can write it
    bool is_array = false;      ///< an Array, which is empty if it has no block
    /// Whether it was found by a search of the argument's bytes, at `offset` from its beginning.
    bool is_found = false;
    const DeclaredUse* use = nullptr;  ///< if null, uses all of the memory as `writes` says
    std::uint32_t offset = 0;
    bool is_by_address = false;  ///< of a span or mdspan: find_owners() sets `block`
};

/// Uninitialised space for memory arguments.
template <std::size_t most> union MemoryArgumentRoom {
    MemoryArgumentRoom() noexcept {}  // NOLINT(modernize-use-equals-default)
    MemoryArgument all[most];
};

/// Returns the index of an argument in MemoryArgument. All indices from 127 on share one.
constexpr std::int8_t argument_index(std::size_t i) noexcept {
    return static_cast<std::int8_t>(i < 127 ? i : 127);
}

/// Finds the views with an owner in a kernel object (argument -1), an argument or a host function.
/// Searches the object's words only, not the memory that they point to. Also finds views of freed
/// arrays if their bytes lie in the block's current or last memory. Writes them to `to`, which
/// needs space for one view per 24 bytes, and returns the end. `object` must be aligned to eight
/// bytes.
MemoryArgument* find_views(const void* object, std::size_t bytes, std::int8_t argument,
                           MemoryArgument* to) noexcept;
/// Throws UsageError if the kernel cannot access the memory on `stream`, or if its array was freed.
void check_memory(const MemoryArgument& memory, const StreamState& stream,
                  const SourceLocation& where);

}  // namespace heddle::detail
