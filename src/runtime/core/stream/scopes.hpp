// The calling thread's scopes, for reports.
#pragma once

#include <cstdint>

#include <heddle/location.hpp>

namespace heddle::detail {

/// A scope that was entered, or a set_stream(), without a wait.
struct UnwaitedScope {
    /// "ScopedStream" or "set_stream"; null if no such scope was found.
    const char* call = nullptr;
    SourceLocation where = {};
};

/// Finds an open scope that made the stream `waiter` current in place of `other`, without a wait
/// for the operation of `other` at `position`. Searches the calling thread's scopes. Streams are
/// named by their ids.
UnwaitedScope unwaited_scope(std::uint64_t waiter, std::uint64_t other,
                             std::uint64_t position) noexcept;

}  // namespace heddle::detail
