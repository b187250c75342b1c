// From the device to the host: a thread that looks at events while someone waits for them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/gpu.hpp"

namespace heddle::detail::cu {

/// An event that is looked at until it is reached.
struct Notification {
    Gpu* gpu = nullptr;
    std::atomic<cudaEvent_t> native{nullptr};
    std::vector<CompletionRef> done;  ///< under the watcher's mutex
    EventState* event =
        nullptr;        ///< a user's event that `native` is in; null: `native` is the notification's
    bool owns = true;   ///< false: a closed stream's final event, which stays its
    bool plain = true;  ///< `native` comes from the device's pool and goes back there
    Notifier* notifier = nullptr;    ///< a stream of heddle's own that goes back to its list
    StreamRecord* source = nullptr;  ///< pinned; whose failure `done` gets. Null: nobody's
    std::uint64_t stream_id = 0;
    std::uint64_t submissions = 0;
    bool patient = false;  ///< told when the event is reached, or can never be, and for no other reason
    int failed_looks = 0;

    Notification() = default;
    ~Notification();  ///< gives back what is its
    Notification(const Notification&) = delete;
    Notification& operator=(const Notification&) = delete;
};

/// The watching thread sleeps while nothing is outstanding. It looks all the time at first and then less often: a wait of
/// microseconds is noticed within microseconds, a wait of seconds costs next to nothing.
class Watcher {
public:
    /// If another thread has begun to watch its event meanwhile, that notification tells this one's completions too.
    void watch(std::unique_ptr<Notification> note);
    /// One more completion for an event that is being looked at. False: it is not, or not any more.
    bool join(EventState& event, const CompletionRef& done);
    /// The event is about to be recorded anew or destroyed. True: the native event belongs to a notification from now on,
    /// and the event needs another.
    bool detach(EventState& event) noexcept;
    /// Others will record the event: from now on `stand_in`'s own event is looked at in its place. Nothing happens if nobody looks at it.
    void replace(EventState& event, Notification& stand_in) noexcept;
    /// At exit: ends the thread. What is outstanding is told by look_at_exit().
    void stop() noexcept;
    /// False: the thread goes on. Else looks once at everything that is outstanding, on this thread.
    bool look_at_exit() noexcept;

private:
    void work() noexcept;
    void put_back(std::vector<Notification*>& notes) noexcept;  ///< under the mutex
    bool look(Notification& note) noexcept;                     ///< true: told
    void tell(Notification& note, Failure failure) noexcept;

    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable stopped_;
    std::vector<Notification*> incoming_;
    bool registered_ = false;  ///< stop() is called at exit
    bool running_ = false;
    std::atomic<bool> stop_{false};  ///< changed under the mutex
};

Watcher& watcher();
bool look_at_exit() noexcept;    ///< the same, of the watcher if there is one
void forget_watcher() noexcept;  ///< in the child of a fork

}  // namespace heddle::detail::cu
