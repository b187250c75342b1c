// What heddle's own observers are told of a wait beside OpInfo.
#pragma once

#include <cstdint>
#include <utility>

namespace heddle::detail {

struct ToldWait {
    /// The id of the stream that is waited for: it may have been destroyed, and then OpInfo::other
    /// does not say which it was. 0: see there.
    std::uint64_t other = 0;
    /// Whether nothing was enqueued, because all that the wait covers had completed. It orders what
    /// comes later on its stream, but it is no submission: a later wait for the stream may be
    /// elided.
    bool had_completed = false;
};
/// The wait that this thread tells observers of.
inline constinit thread_local ToldWait told_wait;

/// Sets it for its lifetime.
class TellsWait {
public:
    explicit TellsWait(ToldWait wait) noexcept : before_(std::exchange(told_wait, wait)) {}
    ~TellsWait() { told_wait = before_; }
    TellsWait(const TellsWait&) = delete;
    TellsWait& operator=(const TellsWait&) = delete;

private:
    const ToldWait before_;
};

}  // namespace heddle::detail
