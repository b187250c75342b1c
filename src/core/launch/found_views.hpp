// Views in the bytes of kernels, arguments and host functions.
#pragma once

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
    MemoryArgument few_[16];  // not initialised
    std::vector<MemoryArgument> many_;
    std::span<const MemoryArgument> all_;
};

/// Throws UsageError if the array is gone that a view was taken from.
void check_alive(const MemoryArgument& memory, const char* call, const SourceLocation& where);

}  // namespace heddle::detail
