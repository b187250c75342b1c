// Limits how long a stream or graph keeps a worker while other work of the same priority is ready.
#pragma once

#include <cstdint>

#include "core/base/clock.hpp"
#include "cpu/executor/executor.hpp"

namespace heddle::detail::cpu {

/// The time for which a thread may run the operations of one stream or graph while rivals are
/// ready: other streams or graphs of the same priority. The slice begins once rivals are ready, at
/// construction at the earliest. No clock is read until it begins. Not thread-safe.
class Slice {
public:
    static constexpr std::int64_t ns = 1'000'000;

    /// Begins a slice of `work`, whose level may change during the slice.
    explicit Slice(const Runnable& work) noexcept : work_(work) {
        if (executor().rivals(work.level()) == Executor::Rivals::equal) [[unlikely]]
            begun_ns_ = decision_ns();
    }
    /// Returns whether something more urgent is ready.
    bool is_urgent_ready() const noexcept { return executor().more_urgent_ready(work_.level()); }
    /// Returns whether other work takes precedence now. Call between two operations.
    bool is_over() noexcept {
        const Executor::Rivals rivals = executor().rivals(work_.level());
        if (rivals == Executor::Rivals::none) [[likely]] {
            begun_ns_ = none;
            return false;
        }
        if (rivals == Executor::Rivals::more_urgent) return true;
        return has_passed();
    }

private:
    static constexpr std::int64_t none = -1;

    bool has_passed() noexcept;

    const Runnable& work_;
    std::int64_t begun_ns_ = none;
    std::uint64_t asked_at_ = 0;  ///< in ticks
};

}  // namespace heddle::detail::cpu
