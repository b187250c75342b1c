// A waiting CPU stream lends its priority to the stream that it waits for (docs/adr/0059).
#pragma once

#include <array>
#include <cstdint>

#include "core/seam/completion.hpp"
#include "cpu/executor/executor.hpp"

namespace heddle::detail::cpu {

/// The levels lent to a stream. Each loan ends when the stream's count of operations done reaches a
/// certain number, of which only the lower 32 bits are passed and stored. Not thread-safe.
class Loans {
public:
    /// Adds a loan. Returns false if an equally or more urgent one lasts at least as long.
    bool add(int level, std::uint32_t until) noexcept;
    /// Removes the loans that end at `done` operations or before.
    void remove_until(std::uint32_t done) noexcept;
    bool is_empty() const noexcept { return lent_ == 0; }
    /// Returns the most urgent of the lent levels and `own`.
    int most_urgent(int own) const noexcept;
    /// Returns whether a stream that has done `done` operations has not reached `until`.
    static bool is_ahead(std::uint32_t until, std::uint32_t done) noexcept {
        return static_cast<std::int32_t>(until - done) > 0;
    }

private:
    // For each level: when its loan ends. The least urgent level is never lent.
    std::array<std::uint32_t, levels - 1> until_{};
    std::uint32_t lent_ = 0;  ///< one bit for each level
};

/// Lends `level` to the stream that will complete `awaited`, until the stream completes it. Then
/// lends `level` to the stream that this stream waits for, and so on. Has no effect if the stream
/// is unknown or not a CPU stream. If `awaited` has already completed and been reused, the loan may
/// reach another stream, until that stream completes it. Call without StreamRecord::life held.
void lend(Completion& awaited, int level) noexcept;
/// Like lend(), with the level of `waiter`. Has no effect if `waiter` no longer waits for
/// `awaited`.
void lend_from(StreamRecord& waiter, Completion& awaited) noexcept;

}  // namespace heddle::detail::cpu
