// A clock that tests control, for decisions that depend on time.
#pragma once

#include "core/base/clock.hpp"

#include <atomic>
#include <cstdint>

namespace heddle_test {

/// Replaces the decision clock while this object exists. The time stands still, or advances by a
/// fixed step at each reading. Only one may exist at a time.
class ManualClock {
public:
    /// `step_ns` is the step by which each reading advances the time, in ns.
    explicit ManualClock(std::int64_t step_ns = 0) {
        clock.step_ns = step_ns;
        heddle::detail::DecisionClock::set(&clock);
    }
    ~ManualClock() { heddle::detail::DecisionClock::set(nullptr); }
    ManualClock(const ManualClock&) = delete;
    ManualClock& operator=(const ManualClock&) = delete;

private:
    struct Clock final : heddle::detail::DecisionClock {
        std::int64_t now_ns() noexcept override { return time_ns += step_ns.load(); }
        void wait(std::atomic<std::uint32_t>&, std::uint32_t, std::int64_t) noexcept override {}
        std::int64_t spin_ns(std::int64_t usual) noexcept override { return usual; }
        std::atomic<std::int64_t> time_ns, step_ns;
    };
    inline static Clock clock;  // never destroyed while other threads may read it
};

}  // namespace heddle_test
