// Details of a wait, besides OpInfo, for heddle's own observers.
#pragma once

#include <cstdint>
#include <utility>

namespace heddle::detail {

struct ToldWait {
    /// The id of the stream that is waited for, if OpInfo::other cannot identify the stream,
    /// because it may have been destroyed. Otherwise 0.
    std::uint64_t other = 0;
    /// Whether the wait was not enqueued, because all work that it covers had completed. Such a
    /// wait still orders later work on its stream, but is not a submission: a later wait for the
    /// stream may be elided.
    bool had_completed = false;
};
/// The wait that this thread is reporting to observers.
inline constinit thread_local ToldWait told_wait;

/// Sets told_wait for its lifetime.
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
