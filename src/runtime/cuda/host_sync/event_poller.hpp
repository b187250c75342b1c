// Device to host: a thread that polls events while they have waiters.
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
    std::vector<CompletionRef> done;  ///< guarded by the event poller's mutex
    /// The user's event that owns `native`, or null.
    EventState* event = nullptr;
    /// False if `native` is the final event of a closed stream, which owns it.
    bool owns = true;
    /// Whether `native` belongs to the device's event pool and returns to it.
    bool plain = true;
    /// The internal stream on which `native` was recorded, or null. The destructor returns the
    /// stream to Gpu::free_notifiers.
    Notifier* notifier = nullptr;
    /// The stream whose failure is passed to `done`, or null. The stream's record is not reused
    /// before that.
    StreamRecord* source = nullptr;
    std::uint64_t stream_id = 0;
    std::uint64_t submissions = 0;
    /// If true, completes only when the event completes or the device is lost, and not if a query
    /// fails for another reason.
    bool patient = false;
    int failed_looks = 0;

    Notification() = default;
    ~Notification();  ///< releases its members
    Notification(const Notification&) = delete;
    Notification& operator=(const Notification&) = delete;
};

/// A thread that polls events, and sleeps while none is pending. It polls continuously at first and
/// less often later: it notices the end of a short wait within microseconds, and spends little time
/// on a long one.
class EventPoller {
public:
    /// Starts to poll an event. If another thread's notification for the same event was added
    /// first, that one receives the completions of `note`.
    void watch(std::unique_ptr<Notification> note);
    /// Adds a completion to an event that is being polled. Returns false if the event is not being
    /// polled.
    bool join(EventState& event, const CompletionRef& done);
    /// Call before the event is recorded again or destroyed. Returns true if a notification owns
    /// the native event from now on: the EventState then needs a new native event.
    bool detach(EventState& event) noexcept;
    /// Call before code outside heddle can record the event. The event's notification, if any,
    /// polls the native event of `stand_in` from now on.
    void replace(EventState& event, Notification& stand_in) noexcept;
    /// Ends the thread at exit. look_at_exit() then polls pending notifications.
    void stop() noexcept;
    /// Polls all pending notifications once, on the calling thread. Before stop(), returns false
    /// and has no effect.
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

EventPoller& event_poller();
/// Calls EventPoller::detach(). Returns false if there is no watcher.
bool detach_from_event_poller(EventState& event) noexcept;
/// Calls EventPoller::look_at_exit(). Returns false if there is no watcher.
bool look_at_exit() noexcept;
void forget_event_poller() noexcept;  ///< call in the child of a fork()

}  // namespace heddle::detail::cu
