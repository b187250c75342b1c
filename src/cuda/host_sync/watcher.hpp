// Device to host: a thread that polls events while something waits for them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

/// An event that is polled until it completes.
struct Notification {
    Gpu* gpu = nullptr;
    std::atomic<cudaEvent_t> native{nullptr};
    std::vector<CompletionRef> done;  ///< guarded by the watcher's mutex
    /// The user's event that owns `native`, or null.
    EventState* event = nullptr;
    /// False if `native` is the final event of a closed stream, which keeps it.
    bool owns = true;
    /// Whether `native` comes from the device's event pool and returns to it.
    bool plain = true;
    Notifier* notifier = nullptr;  ///< an internal stream that returns to its list
    /// The stream whose failure `done` gets, or null. It is kept from being reused until then.
    StreamRecord* source = nullptr;
    std::uint64_t stream_id = 0;
    std::uint64_t submissions = 0;
    /// Completes only when the event completes or the device is lost, not when queries fail
    /// otherwise.
    bool patient = false;
    int failed_looks = 0;

    Notification() = default;
    ~Notification();  ///< returns what it owns
    Notification(const Notification&) = delete;
    Notification& operator=(const Notification&) = delete;
};

/// A thread that polls events. It sleeps while nothing is pending. It polls continuously at first
/// and less often later: a wait of microseconds is noticed within microseconds, and a wait of
/// seconds costs next to nothing.
class Watcher {
public:
    /// Starts to poll an event. If another thread has begun to watch the same event meanwhile, its
    /// notification takes over this one's completions.
    void watch(std::unique_ptr<Notification> note);
    /// Adds a completion to an event that is being polled. Returns false if it is not, or no
    /// longer.
    bool join(EventState& event, const CompletionRef& done);
    /// Call before the event is recorded again or destroyed. Returns true if a notification owns
    /// the native event from now on; the event then needs another.
    bool detach(EventState& event) noexcept;
    /// Call before others can record the event. Its notification, if there is one, polls the event
    /// of `stand_in` from now on.
    void replace(EventState& event, Notification& stand_in) noexcept;
    /// Ends the thread at exit. look_at_exit() serves what is still pending.
    void stop() noexcept;
    /// Polls everything pending once, on the calling thread. Returns false, having done nothing,
    /// before stop().
    bool look_at_exit() noexcept;

private:
    void work() noexcept;
    void put_back(std::vector<Notification*>& notes) noexcept;  ///< call with the mutex held
    /// Polls the event once. Returns true if it has completed and deleted the notification.
    bool look(Notification& note) noexcept;
    void tell(Notification& note, Failure failure) noexcept;

    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable stopped_;
    std::vector<Notification*> incoming_;
    bool registered_ = false;  ///< stop() is registered with atexit()
    bool running_ = false;
    std::atomic<bool> stop_{false};  ///< written with the mutex held
};

Watcher& watcher();
/// Watcher::detach(); false if there is no watcher.
bool detach_from_watcher(EventState& event) noexcept;
bool look_at_exit() noexcept;    ///< Watcher::look_at_exit(); false if there is no watcher
void forget_watcher() noexcept;  ///< for the child of a fork()

}  // namespace heddle::detail::cu
