// Priorities that CPU streams lend to those that they wait for (docs/adr/0059).
#pragma once

#include <array>
#include <cstdint>

#include "core/seam/completion.hpp"
#include "cpu/executor.hpp"

namespace heddle::detail::cpu {

/// The levels that others lend to a stream, each until it has done so many operations. All numbers
/// of operations are lower halves. Not thread-safe.
class Loans {
public:
    /// Returns false if a level as urgent has been lent until then, or longer.
    bool add(int level, std::uint32_t until) noexcept;
    /// Removes the loans that end with so many operations done, or fewer.
    void remove_until(std::uint32_t done) noexcept;
    bool is_empty() const noexcept { return lent_ == 0; }
    /// Returns the most urgent level: of the loans, or `own`.
    int most_urgent(int own) const noexcept;
    /// Returns whether a stream that has done so many has yet to reach `until`.
    static bool is_ahead(std::uint32_t until, std::uint32_t done) noexcept {
        return static_cast<std::int32_t>(until - done) > 0;
    }

private:
    // Nobody lends the least urgent level.
    std::array<std::uint32_t, levels - 1> until_{};
    std::uint32_t lent_ = 0;  ///< one bit for each level
};

/// Lends `level` to the stream that will complete `awaited`, until then, and to what that stream
/// waits for itself, and so on. Does nothing if it is unknown who completes it, or that is no CPU
/// stream. `awaited` may have completed, and may stand for something else since: then it may lend
/// the level to another stream, until that has completed it. Call without StreamRecord::life held.
void lend(Completion& awaited, int level) noexcept;
/// Does the same with the level of a stream that waits for `awaited`, if it still does.
void lend_from(StreamRecord& waiter, Completion& awaited) noexcept;

}  // namespace heddle::detail::cpu
