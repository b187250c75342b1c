#include "cuda/host_sync/event_poller.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <pthread.h>
#include <sys/prctl.h>
#include <thread>

#include "core/base/made_once.hpp"
#include "core/base/report.hpp"
#include "core/failure/left_failures.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/native_event.hpp"

namespace heddle::detail::cu {

namespace {

using Clock = std::chrono::steady_clock;

/// Pauses between two polls. `idle` is the time since the last completion. At first only yields the
/// core, because the shortest sleep lasts a millisecond where timers are coarse (in many virtual
/// machines).
void rest(Clock::duration idle) noexcept {
    using namespace std::chrono_literals;
    static const Clock::duration patience = std::thread::hardware_concurrency() > 2 ? 5ms : 200us;
    if (idle < patience) std::this_thread::yield();
    else std::this_thread::sleep_for(50us);
}

/// Returns the failure of the stream's first `submissions` submissions, or null. Also returns null
/// if the stream has ended and its failure has been cleared since.
Failure uncleared_failure(StreamRecord& stream, std::uint64_t submissions) noexcept {
    Failure failure = failure_until(stream, submissions);
    const std::uint64_t gone = stream.gone_at.load(std::memory_order_acquire);
    if (failure != nullptr && gone != 0 && is_void(*failure, stream.device, gone)) return nullptr;
    return failure;
}

}  // namespace

Notification::~Notification() {
    if (notifier != nullptr) gpu->free_notifiers.give(*notifier);
    if (source != nullptr) source->pins.fetch_sub(1, std::memory_order_release);
    const cudaEvent_t mine = native.load();
    if (mine == nullptr || !owns || event != nullptr) return;
    if (plain) give_event(*gpu, mine);
    else destroy_event(*gpu, mine);
}

void EventPoller::watch(std::unique_ptr<Notification> note) {
    const std::lock_guard lock(mutex_);
    if (note->event != nullptr) {
        if (auto* first =
                static_cast<Notification*>(note->event->watched.load(std::memory_order_relaxed))) {
            first->done.insert(first->done.end(), note->done.begin(), note->done.end());
            return;
        }
    }
    incoming_.reserve(incoming_.size() + 1);
    if (!registered_) {
        std::atexit([] { event_poller().stop(); });
        registered_ = true;
    }
    if (!running_ && !stop_) {
        std::thread([this] { work(); }).detach();
        running_ = true;
    }
    if (note->event != nullptr) note->event->watched.store(note.get(), std::memory_order_release);
    incoming_.push_back(note.release());
    wake_.notify_one();
}

bool EventPoller::join(EventState& event, const CompletionRef& done) {
    const std::lock_guard lock(mutex_);
    auto* note = static_cast<Notification*>(event.watched.load(std::memory_order_relaxed));
    if (note == nullptr) return false;
    note->done.push_back(done);
    return true;
}

bool EventPoller::detach(EventState& event) noexcept {
    const std::lock_guard lock(mutex_);
    auto* note = static_cast<Notification*>(event.watched.exchange(nullptr));
    if (note == nullptr) return false;
    note->event = nullptr;
    return true;
}

void EventPoller::replace(EventState& event, Notification& stand_in) noexcept {
    const std::lock_guard lock(mutex_);
    auto* note = static_cast<Notification*>(event.watched.exchange(nullptr));
    if (note == nullptr) return;
    note->event = nullptr;
    note->plain = true;
    note->native.store(stand_in.native.exchange(nullptr));
    note->notifier = std::exchange(stand_in.notifier, nullptr);
}

void EventPoller::tell(Notification& note, Failure failure) noexcept {
    std::vector<CompletionRef> done;
    {
        const std::lock_guard lock(mutex_);
        done.swap(note.done);
        if (note.event != nullptr) note.event->watched.store(nullptr, std::memory_order_relaxed);
    }
    for (const CompletionRef& one : done) one->complete(failure);
    delete &note;
}

bool EventPoller::look(Notification& note) noexcept {
    Gpu& g = *note.gpu;
    Failure failure;
    if (!g.lost.load(std::memory_order_acquire)) {
        const CUresult code = api.cuEventQuery(note.native);
        if (code == CUDA_ERROR_NOT_READY) return false;
        if (code == CUDA_SUCCESS) {
            if (note.source != nullptr &&
                note.source->id.load(std::memory_order_acquire) == note.stream_id) {
                see_complete(*note.source, note.submissions);
                failure = uncleared_failure(*note.source, note.submissions);
            }
            tell(note, std::move(failure));
            return true;
        }
        const cudaError_t native = as_runtime(code);
        if (is_unloading(native)) {
            // The process is exiting, and the driver has waited for all enqueued work.
        } else if (is_sticky(native)) {
            failure = mark_lost(g.index, native, "cuEventQuery", nullptr, {});
            // Out of memory for the failure: tries again later.
            if (failure == nullptr) return false;
        } else {
            // The query itself failed. Repeats it a few times, then passes the failure to the
            // waiters.
            constexpr int patience = 3;
            if (++note.failed_looks < patience) return false;
            if (note.patient && note.failed_looks == patience)
                note_failure(code, "cuEventQuery", g.index);
            if (note.patient) return false;
            failure = failure_from(native, "cuEventQuery", g.index);
            if (failure == nullptr) return false;
        }
    } else {
        const std::lock_guard lock(g.lost_mutex);
        failure = g.failure;
    }
    tell(note, std::move(failure));
    return true;
}

void EventPoller::work() noexcept {
    pthread_setname_np(pthread_self(), "heddle-cuda");
    prctl(PR_SET_TIMERSLACK, 1000UL);  // in ns; by default, short sleeps would last 50 µs longer
    const RelaxedCapture relaxed;      // polling must not invalidate a capture
    // How long to stay awake without events: saves a wake-up if the next wait begins soon.
    constexpr auto linger = std::chrono::microseconds(100);
    std::vector<Notification*> active;
    Clock::time_point last = Clock::now();
    std::unique_lock lock(mutex_);
    while (!stop_) {
        if (!incoming_.empty()) {
            active.insert(active.end(), incoming_.begin(), incoming_.end());
            incoming_.clear();
            last = Clock::now();
        }
        if (active.empty() && Clock::now() - last > linger) {
            wake_.wait(lock, [&] { return stop_ || !incoming_.empty(); });
            continue;
        }
        lock.unlock();
        if (std::erase_if(active, [this](Notification* note) { return look(*note); }) != 0)
            last = Clock::now();
        rest(Clock::now() - last);
        lock.lock();
    }
    put_back(active);
    running_ = false;
    stopped_.notify_all();
}

void EventPoller::put_back(std::vector<Notification*>& notes) noexcept {
    try {
        incoming_.insert(incoming_.end(), notes.begin(), notes.end());
    } catch (...) {
        report(std::current_exception());  // out of memory: these completions never complete
    }
}

bool EventPoller::look_at_exit() noexcept {
    std::vector<Notification*> mine;
    {
        const std::lock_guard lock(mutex_);
        if (!stop_) return false;
        mine.swap(incoming_);  // holds all notifications once the thread has ended
    }
    const RelaxedCapture relaxed;
    std::erase_if(mine, [this](Notification* note) { return look(*note); });
    const std::lock_guard lock(mutex_);
    put_back(mine);
    return true;
}

void EventPoller::stop() noexcept {
    std::unique_lock lock(mutex_);
    stop_ = true;
    wake_.notify_all();
    stopped_.wait_for(lock, std::chrono::milliseconds(500), [&] { return !running_; });
}

namespace {
constinit MadeOnce<EventPoller> instance;
}

EventPoller& event_poller() { return instance.get(); }

bool detach_from_event_poller(EventState& event) noexcept {
    EventPoller* const made = instance.if_made();
    return made != nullptr && made->detach(event);
}

bool look_at_exit() noexcept {
    EventPoller* const made = instance.if_made();
    return made != nullptr && made->look_at_exit();
}

void forget_event_poller() noexcept { instance.forget(); }

}  // namespace heddle::detail::cu
