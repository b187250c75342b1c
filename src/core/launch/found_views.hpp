// Views in the bytes of kernels, arguments and host functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <heddle/detail/work.hpp>

namespace heddle::detail {

/// What a host function uses: the memory that it declares, and the views with an owner that it
/// holds, but for those of arrays that it declares.
class HostMemory {
public:
    /// `declared` must stay. Allocates only for large closures.
    HostMemory(const WorkType& type, const void* closure, std::span<const MemoryArgument> declared);
    HostMemory(const HostMemory&) = delete;
    HostMemory& operator=(const HostMemory&) = delete;

    std::span<const MemoryArgument> all() const noexcept { return all_; }

private:
    MemoryArgumentRoom<16> few_;
    std::vector<MemoryArgument> many_;
    std::span<const MemoryArgument> all_;
};

/// What a kernel holds beside views with an owner.
struct Undeclared {
    static constexpr std::size_t most_kept = 8;

    std::size_t pointers = 0;          ///< how many words may be addresses
    const void* kept[most_kept] = {};  ///< the first ones
    bool is_watched = false;           ///< a view, with an owner, whose elements others may look at

    std::span<const void* const> kept_pointers() const noexcept {
        return {kept, std::min(pointers, most_kept)};
    }
};
/// Returns all words of a kernel's closure that may be addresses, but for those of views with an
/// owner.
std::vector<const void*> addresses_in(const WorkType& type, const void* closure);
/// Returns what the closure of a kernel holds.
Undeclared undeclared_in(const WorkType& type, const void* closure);
/// Returns whether a kernel or host function may tell somebody that it runs there: what
/// WorkType::may_signal() says, less what the words of this one rule out.
bool may_signal(const WorkType& type, const Undeclared& held, Device device) noexcept;

/// Throws UsageError if the array is gone that a view was taken from.
void check_alive(const MemoryArgument& memory, const char* call, const SourceLocation& where);

}  // namespace heddle::detail
