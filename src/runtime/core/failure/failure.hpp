// Failures of work, and whether they have been reported to the user.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include <heddle/error.hpp>

namespace heddle::detail {

/// The number of the newest moment. A new moment begins when a stream is closed or returned for
/// reuse, and when a call clears failures.
inline constinit std::atomic<std::uint64_t> newest_moment{0};
inline std::uint64_t next_moment() noexcept {
    return newest_moment.fetch_add(1, std::memory_order_acq_rel) + 1;
}

/// Why work failed. Shared by the stream on which the work failed, by streams that waited for the
/// work, and by results of later queries. A failure that poisoned a stream and was not reported is
/// passed to the report hook when its last reference is dropped. So hold no internal lock when
/// dropping a reference. (docs/adr/0019)
class FailedWork final : public ErrorInfo {
public:
    explicit FailedWork(ErrorInfo info) : ErrorInfo(std::move(info)) {}
    FailedWork(const FailedWork&) = delete;
    FailedWork& operator=(const FailedWork&) = delete;
    ~FailedWork();

    /// Notes that a stream has this failure: from now on the failure must be reported.
    void note_taken() const noexcept {
        State fresh = State::fresh;
        state_.compare_exchange_strong(fresh, State::untold, std::memory_order_acq_rel);
    }
    /// Notes that the user received the failure: by an exception, a std::exception_ptr, or the
    /// report hook.
    void note_told() const noexcept { state_.store(State::told, std::memory_order_release); }
    /// Notes that the report hook receives the failure. Returns false if no report is due.
    bool note_reported() const noexcept {
        State untold = State::untold;
        return state_.compare_exchange_strong(untold, State::told, std::memory_order_acq_rel);
    }
    bool is_told() const noexcept { return state_.load(std::memory_order_acquire) == State::told; }

    /// Notes that a call has cleared the failure: clear_error(), clear_errors(). Other streams that
    /// have the failure keep it until it is cleared on them. Streams closed before this call no
    /// longer pass the failure on to the arrays that they wrote.
    void note_cleared() const noexcept {
        cleared_at_.store(next_moment(), std::memory_order_release);
    }
    /// Returns the moment of the last note_cleared(), or 0.
    std::uint64_t cleared_at() const noexcept {
        return cleared_at_.load(std::memory_order_acquire);
    }

private:
    enum class State : std::uint8_t { fresh, untold, told };
    mutable std::atomic<State> state_{State::fresh};
    mutable std::atomic<std::uint64_t> cleared_at_{0};
};
using Failure = std::shared_ptr<const FailedWork>;

inline Failure make_failure(ErrorInfo info) {
    return std::make_shared<const FailedWork>(std::move(info));
}

/// Passes the failure to the report hook unless it has been reported already.
void report_untold(const FailedWork& failure);
/// Returns the failure to use if there was no memory to describe another one. Made at load.
const Failure& no_memory_failure() noexcept;
/// Converts an exception into the failure of the stream whose work it concerns.
Failure as_failure(std::exception_ptr error) noexcept;

}  // namespace heddle::detail
