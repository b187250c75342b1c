// Per-device state of the backend, kept from a GPU's first use on.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <vector>

#include <cuda_runtime_api.h>

#include "core/base/free_list.hpp"
#include "core/seam/backend.hpp"
#include "core/seam/completion.hpp"
#include "core/seam/records.hpp"
#include "cuda/device/driver.hpp"
#include "cuda/device/errors.hpp"
#include <heddle/launch/launch_options.hpp>
#include <heddle/stream/detail/thread_state.hpp>

namespace heddle::detail::cu {

class CompletionWaits;
struct LaterFree;  // cuda/host_sync/pending_use.hpp

/// Device limits that are read often.
struct Limits {
    int max_threads_per_block = 0;
    int max_block[3] = {};
    int max_grid[3] = {};
    int max_shared = 0;  ///< bytes of dynamic shared memory without opting in
    int max_shared_opt_in = 0;
    int processors = 0;
    /// Compute capability 9.0 or later: clusters, dependent launches, memory domains.
    bool is_hopper = false;
};

struct Gpu;
struct Doomed;
/// Destroyed graphs that may still have a running launch. (graph/destroy.cpp)
class DoomedGraphs {
public:
    DoomedGraphs() noexcept;
    ~DoomedGraphs();
    DoomedGraphs(const DoomedGraphs&) = delete;
    DoomedGraphs& operator=(const DoomedGraphs&) = delete;
    void add(std::unique_ptr<Doomed> one) noexcept;
    /// Swaps with another list. Call only while this list is empty.
    void take(DoomedGraphs& from) noexcept;
    /// Destroys the graphs whose launches are done, and moves the others to Gpu::doomed.
    void destroy(Gpu& g) noexcept;
    std::size_t size() const noexcept { return count_; }

private:
    std::unique_ptr<Doomed> first_;
    std::size_t count_ = 0;
};

/// A closed stream whose last work may still be running.
struct Zombie {
    StreamRecord* stream;
    /// Null once the native stream has been released. The release has to wait while the stream is
    /// capturing, and until a host function that closed the stream has returned.
    cudaStream_t native;
};

/// An internal stream that frees memory after waiting for several streams that used it.
struct Reclaimer {
    cudaStream_t stream;
    CompletionWaits* completion_waits;
};

/// An internal stream for notifications of events that code outside heddle may record. Serves one
/// notification at a time.
struct Notifier {
    cudaStream_t stream;
    Notifier* next_free;
};

/// Caches events of one kind for reuse. Never destroys them. Thread-safe.
class EventPool {
public:
    /// Returns a free event. Returns null if there is none, after reserving space for one more: the
    /// caller makes a new event, and returning it to the pool cannot fail.
    cudaEvent_t take() {
        const std::lock_guard lock(mutex_);
        if (free_.empty()) {
            if (made_ + 1 > free_.capacity()) free_.reserve(2 * (made_ + 1));
            ++made_;
            return nullptr;
        }
        cudaEvent_t event = free_.back();
        free_.pop_back();
        return event;
    }
    /// Returns an event to the pool. Does not allocate. `event` may be null.
    void give(cudaEvent_t event) noexcept {
        if (event == nullptr) return;
        const std::lock_guard lock(mutex_);
        free_.push_back(event);
    }

private:
    std::mutex mutex_;  ///< guards the next two
    std::vector<cudaEvent_t> free_;
    std::size_t made_ = 0;
};

/// One device in use. Created at first use, never destroyed.
struct Gpu {
    int index = 0;
    CUcontext context = nullptr;  ///< the primary context, retained
    PriorityRange priorities;
    Limits limits;
    cudaMemPool_t pool = nullptr;

    std::atomic<bool> lost{false};
    std::mutex lost_mutex;
    Failure failure;  ///< why the device is lost; set before `lost`

    EventPool events;  ///< without timing

    /// Number of elements in the lists below, except for unused_zombies.
    std::atomic<std::size_t> cleanups{0};
    std::mutex cleanups_mutex;         ///< guards the next seven
    std::list<Zombie> zombies;         ///< lists, because splicing their elements cannot fail
    std::list<Zombie> unused_zombies;  ///< one for each open stream that heddle created
    DoomedGraphs doomed;
    std::size_t zombies_in_hand = 0;  ///< number of zombies that a thread has removed to inspect
    /// Retried by run_cleanups(). An action may call defer() again.
    std::list<std::function<void()>> deferred;
    /// Memory that was freed with pending users while all reclaimers were waiting.
    std::list<LaterFree> later_frees;
    /// True while the background thread retries `deferred`, `later_frees` and `doomed`.
    bool is_polled = false;

    std::mutex reclaim_mutex;            ///< guards the next three
    cudaStream_t free_stream = nullptr;  ///< frees memory whose users are done, so it never waits
    std::vector<Reclaimer> reclaimers;
    std::size_t last_reclaimer = 0;

    FreeList<Notifier> free_notifiers;

    std::mutex out_of_memory_mutex;
};

/// Creates the state of a device at its first use. Call with no other first use in progress.
/// (process/first_use.cpp)
Gpu* start_gpu(int index, const SourceLocation& where);
/// Returns the device; initialises it at first use. Throws DeviceLost, ForkedError, or the error of
/// the initialisation.
Gpu& gpu(int index, const SourceLocation& where);
/// The devices in use. Never destroyed: pending work may need a Gpu until the process ends.
inline constinit std::atomic<Gpu*> used_gpus[max_devices]{};
/// Return a device: gpu_if_used() returns null before the device's first use; gpu_of() takes a
/// stream or event, whose device is always in use.
Gpu* gpu_if_used(int index) noexcept;
inline Gpu& gpu_of(const StreamState& stream) noexcept {
    return *used_gpus[stream.device.index()].load(std::memory_order_acquire);
}
inline Gpu& gpu_of(const EventState& event) noexcept {
    return *used_gpus[event.device.index()].load(std::memory_order_acquire);
}

}  // namespace heddle::detail::cu
