// Views in the bytes of kernels, arguments and host functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <heddle/launch/detail/work.hpp>
#include <heddle/memory/detail/memory_argument.hpp>

namespace heddle::detail {

/// The memory of a host function: its declared memory, and the views with an owner in its closure.
/// Leaves out views of declared arrays.
class HostMemory {
public:
    /// `declared` must outlive the object. Allocates only for large closures.
    HostMemory(const WorkType& type, const void* closure, std::span<const MemoryArgument> declared);
    HostMemory(const HostMemory&) = delete;
    HostMemory& operator=(const HostMemory&) = delete;

    std::span<const MemoryArgument> all() const noexcept { return all_; }

private:
    MemoryArgumentRoom<16> few_;
    std::vector<MemoryArgument> many_;
    std::span<const MemoryArgument> all_;
};

/// The words of a kernel's closure that are not part of views with an owner.
struct Undeclared {
    static constexpr std::size_t most_kept = 8;

    std::size_t pointers = 0;          ///< number of words that may be addresses
    const void* kept[most_kept] = {};  ///< the first of these words
    /// Whether there is a view, with an owner, that other threads or devices may poll.
    bool is_watched = false;

    std::span<const void* const> kept_pointers() const noexcept {
        return {kept, std::min(pointers, most_kept)};
    }
};
/// Returns all words of a kernel's closure that may be addresses, except those of views with an
/// owner.
std::vector<const void*> addresses_in(const WorkType& type, const void* closure);
/// Returns the contents of a kernel's closure apart from views with an owner.
Undeclared undeclared_in(const WorkType& type, const void* closure);
/// Returns whether a kernel or host function may signal other threads or devices while it runs on
/// the device. Returns WorkType::may_signal(), unless the contents of this closure rule a signal
/// out.
bool may_signal(const WorkType& type, const Undeclared& held, Device device) noexcept;

/// Throws UsageError if the view's array was destroyed.
void check_alive(const MemoryArgument& memory, const char* call, const SourceLocation& where);

}  // namespace heddle::detail
