// Failures of work, and whether the user has been told of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <heddle/error.hpp>

namespace heddle::detail {

/// Why work failed. Shared by the stream it failed on, by the work that waited for it, and by
/// everything that may ask for it later. If it poisoned a stream and nobody was told, the last
/// reference to go calls the report hook. So hold no internal lock when dropping a reference.
/// (docs/adr/0019)
class FailedWork final : public ErrorInfo {
public:
    explicit FailedWork(ErrorInfo info) : ErrorInfo(std::move(info)) {}
    FailedWork(const FailedWork&) = delete;
    FailedWork& operator=(const FailedWork&) = delete;
    ~FailedWork();

    /// Notes that a stream took it as its failure: from now on somebody has to be told.
    void note_taken() const noexcept {
        State fresh = State::fresh;
        state_.compare_exchange_strong(fresh, State::untold, std::memory_order_acq_rel);
    }
    /// Notes that the user was told: by an exception, a std::exception_ptr, or the report hook.
    void note_told() const noexcept { state_.store(State::told, std::memory_order_release); }
    bool is_told() const noexcept { return state_.load(std::memory_order_acquire) == State::told; }

    /// Notes that a call has cleared it: clear_error(), clear_errors(). Streams that have it keep
    /// it, until it is cleared there. What a stream leaves when it ends is void then.
    void note_cleared() const noexcept { is_cleared_.store(true, std::memory_order_release); }
    bool is_cleared() const noexcept { return is_cleared_.load(std::memory_order_acquire); }
    /// Failures are numbered as they are made.
    std::uint64_t number() const noexcept { return number_; }
    static std::uint64_t newest_number() noexcept {
        return newest_.load(std::memory_order_acquire);
    }

private:
    enum class State : std::uint8_t { fresh, untold, told };
    mutable std::atomic<State> state_{State::fresh};
    mutable std::atomic<bool> is_cleared_{false};
    static constinit std::atomic<std::uint64_t> newest_;
    std::uint64_t number_ = newest_.fetch_add(1, std::memory_order_acq_rel) + 1;
};
using Failure = std::shared_ptr<const FailedWork>;

inline Failure make_failure(ErrorInfo info) {
    return std::make_shared<const FailedWork>(std::move(info));
}

/// Returns the failure that stands in for one that there was no memory to describe. Made at load.
const Failure& no_memory_failure() noexcept;
/// Converts an exception into the failure of the stream whose work it concerns.
Failure as_failure(std::exception_ptr error) noexcept;

}  // namespace heddle::detail
