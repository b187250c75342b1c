#include "cuda/look/probe.hpp"

#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <system_error>
#include <thread>

#include "core/base/made_once.hpp"
#include "core/stream/registry.hpp"
#include "cuda/device/backend.hpp"
#include "cuda/device/context.hpp"

namespace heddle::detail::cu {

namespace {

using Clock = std::chrono::steady_clock;

/// Returns whether to query the driver about a stream. Returns false if a native capture may
/// include the stream: the query would fail, and would invalidate the capture.
bool is_to_be_asked(const StreamRecord& stream) noexcept {
    return stream.device.is_cuda() && !is_known_complete(stream) &&
           !stream.has(stream_flag::forked | stream_flag::ended | stream_flag::recording |
                       stream_flag::capturing | stream_flag::unseen);
}

void ask_about(StreamRecord& stream) noexcept {
    const Gpu* const g = is_to_be_asked(stream) ? gpu_if_used(stream.device.index()) : nullptr;
    if (g == nullptr || g->lost.load(std::memory_order_acquire)) return;
    // While this thread holds the lock, no thread destroys the native stream. Another thread that
    // needs the lock has to wait for the driver, but would call the driver next anyway. If another
    // thread holds the lock, it may be blocked in the driver, so this only tries to lock.
    if (!stream.life.try_lock()) return;
    const std::lock_guard life(stream.life, std::adopt_lock);
    const std::uint64_t submitted = stream.submissions.load(std::memory_order_acquire);
    const auto native = static_cast<cudaStream_t>(stream.native);
    const auto last = static_cast<cudaEvent_t>(stream.final_event);  // of a closed stream
    if (native == nullptr) {
        if (last != nullptr && api.cuEventQuery(last) == CUDA_SUCCESS)
            see_complete(stream, submitted);
        return;
    }
    if (!is_to_be_asked(stream)) return;
    if (api.cuStreamQuery(native) == CUDA_SUCCESS) return see_complete(stream, submitted);
    // A wait of another stream for this one may have recorded an event on it.
    const std::uint64_t mark = stream.cached_at.load(std::memory_order_acquire);
    const auto event = static_cast<cudaEvent_t>(std::atomic_ref<void*>(stream.cached_event).load());
    if (event != nullptr && mark > stream.seen_complete.load(std::memory_order_relaxed) &&
        api.cuEventQuery(event) == CUDA_SUCCESS)
        see_complete(stream, mark);
}

/// A thread that queries the driver on request.
class Probe {
public:
    std::chrono::nanoseconds ask(std::chrono::nanoseconds patience) noexcept {
        std::unique_lock lock(mutex_);
        if (!start()) return std::chrono::nanoseconds(0);
        if (asked_ == answered_) since_ = Clock::now();
        const std::uint64_t mine = ++asked_;
        changed_.notify_all();
        if (changed_.wait_for(lock, patience, [&] { return answered_ >= mine || is_over_; }))
            return std::chrono::nanoseconds(0);
        return Clock::now() - since_;
    }

private:
    /// Starts the thread if necessary. Returns false if it cannot run. Call with the mutex held.
    bool start() noexcept {
        if (is_over_) return false;
        if (has_thread_) return true;
        try {
            std::atexit([] { end_at_exit(); });
            std::thread([this] { work(); }).detach();
        } catch (const std::system_error&) {
            return false;
        }
        return has_thread_ = true;
    }
    void work() noexcept {
        pthread_setname_np(pthread_self(), "heddle-probe");
        const RelaxedCapture relaxed;  // queries must not invalidate a capture
        std::unique_lock lock(mutex_);
        while (!is_over_) {
            if (asked_ == answered_) {
                changed_.wait(lock);
                continue;
            }
            const std::uint64_t now = asked_;
            lock.unlock();
            for_each_stream([](StreamRecord& stream) { ask_about(stream); });
            lock.lock();
            answered_ = now;
            since_ = Clock::now();
            changed_.notify_all();
        }
        has_thread_ = false;
        changed_.notify_all();
    }
    /// Waits briefly for a call into the driver to end, because the driver is about to be unloaded.
    static void end_at_exit() noexcept;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t asked_ = 0, answered_ = 0;  ///< number of requests
    Clock::time_point since_;                 ///< time of the oldest unanswered request
    bool has_thread_ = false, is_over_ = false;
};

constinit MadeOnce<Probe> probe;

void Probe::end_at_exit() noexcept {
    Probe* const made = probe.if_made();
    if (made == nullptr) return;
    std::unique_lock lock(made->mutex_);
    made->is_over_ = true;
    made->changed_.notify_all();
    made->changed_.wait_for(lock, std::chrono::milliseconds(500),
                            [&] { return !made->has_thread_; });
}

}  // namespace

std::chrono::nanoseconds ask_driver(std::chrono::nanoseconds patience) {
    bool is_any = false;
    for_each_stream([&](StreamRecord& stream) { is_any = is_any || is_to_be_asked(stream); });
    return is_any ? probe.get().ask(patience) : std::chrono::nanoseconds(0);
}

void forget_probe() noexcept { probe.forget(); }

}  // namespace heddle::detail::cu
