// Counts the waits that calls enqueue, and the waits that they elide.
#pragma once

#include "support.hpp"

#include <cstdint>
#include <string>

namespace heddle_test {

struct Waits {
    std::uint64_t inserted, elided;
    bool operator==(const Waits&) const = default;
};
template <class F> Waits waits_of(F&& call) {
    const OpCounter counted;
    call();
    return {counted.stats().waits_inserted, counted.stats().waits_elided};
}
inline constexpr Waits inserted{1, 0}, elided{0, 1};

/// Returns the expected wait for a stream that has only new memory. On CPU devices, new memory can
/// be used immediately. On GPUs, the stream must have reached the allocation.
inline Waits wait_for_new_memory() { return test_device().is_cuda() ? inserted : elided; }

}  // namespace heddle_test

namespace Catch {
template <> struct StringMaker<heddle_test::Waits> {
    static std::string convert(const heddle_test::Waits& w) {
        return std::to_string(w.inserted) + " inserted, " + std::to_string(w.elided) + " elided";
    }
};
}  // namespace Catch
