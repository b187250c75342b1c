// A clock that the test sets, for choices that are made by how long things take.
#pragma once

#include "core/base/clock.hpp"

#include <atomic>
#include <cstdint>

namespace heddle_test {

/// While it exists, decisions are made by a clock that stands still, or that goes on by a fixed
/// time whenever it is read. One at a time.
class ManualClock {
public:
    /// `step_ns`: how much later each reading is than the one before.
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
    inline static Clock clock;  // other threads may read it at any time
};

}  // namespace heddle_test
