#include "cpu/executor/slice.hpp"

namespace heddle::detail::cpu {

namespace {
/// Returns the processor's tick counter, or 0 if it has none. Takes less than half the time of
/// reading the clock.
std::uint64_t ticks() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}
/// This is less than 2 µs on any processor with a tick counter.
constexpr std::uint64_t few_ticks = 2000;
}  // namespace

bool Slice::has_passed() noexcept {
    // While operations take nanoseconds, the clock is read only every few operations.
    const std::uint64_t now_ticks = ticks();
    if (begun_ns_ != none && now_ticks - asked_at_ < few_ticks && now_ticks != 0 &&
        DecisionClock::current() == nullptr)
        return false;
    asked_at_ = now_ticks;
    const std::int64_t now = decision_ns();
    if (begun_ns_ == none) begun_ns_ = now;
    return now - begun_ns_ >= ns;
}

}  // namespace heddle::detail::cpu
