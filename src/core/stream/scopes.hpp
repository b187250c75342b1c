// What reports say of the calling thread's scopes.
#pragma once

#include <cstdint>

#include <heddle/location.hpp>

namespace heddle::detail {

/// A scope that was entered, or a set_stream(), without a wait.
struct UnwaitedScope {
    const char* call = nullptr;  ///< "ScopedStream" or "set_stream"; null: there is none
    SourceLocation where = {};
};

/// Returns where the calling thread made the stream `waiter` current in place of `other`, and said
/// that it need not wait for the operation of `other` at `position`. Of scopes that are still open.
/// Streams are known by their ids.
UnwaitedScope unwaited_scope(std::uint64_t waiter, std::uint64_t other,
                             std::uint64_t position) noexcept;

}  // namespace heddle::detail
