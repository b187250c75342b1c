// What the backend keeps for each device, and the guards around native calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

#include <cuda_runtime_api.h>

#include "core/backend.hpp"
#include "core/completion.hpp"
#include "core/records.hpp"
#include "cuda/driver.hpp"
#include "cuda/errors.hpp"
#include <heddle/detail/thread_state.hpp>
#include <heddle/launch_options.hpp>

namespace heddle::detail::cu {

class AwaitLine;
struct LaterFree;  // fence.hpp

/// Numbers of a device that are asked for often.
struct Limits {
    int max_threads_per_block = 0;
    int max_block[3] = {};
    int max_grid[3] = {};
    int max_shared = 0;  ///< dynamic shared memory without opting in
    int max_shared_opt_in = 0;
    int processors = 0;
    bool is_hopper = false;  ///< or later: clusters, dependent launches, memory domains
};

/// A closed stream whose last work may still run.
struct Zombie {
    StreamRecord* stream;
    cudaStream_t native;  ///< not destroyed yet: it was capturing, or closed inside a host function
};

/// A stream of heddle's own on which memory is freed that several streams used.
struct Reclaimer {
    cudaStream_t stream;
    AwaitLine* awaits;
};

/// A stream of heddle's own on which one notification at a time stands in for an event that is not ours.
struct Notifier {
    cudaStream_t stream;
    Notifier* next_free;
};

/// One device in use. Made when it is first used, never given back.
struct Gpu {
    int index = 0;
    CUcontext context = nullptr;  ///< the primary context, retained
    PriorityRange priorities;
    Limits limits;
    cudaMemPool_t pool = nullptr;

    std::atomic<bool> lost{false};
    std::mutex lost_mutex;
    Failure failure;  ///< why it is lost

    std::mutex event_mutex;
    std::vector<cudaEvent_t> free_events;  ///< without timing; none is ever destroyed

    std::atomic<std::size_t> chores{0};         ///< how many elements these lists have
    std::mutex chores_mutex;                    ///< guards the next five
    std::list<Zombie> zombies;                  ///< lists, because moving their elements cannot fail
    std::size_t zombies_in_hand = 0;            ///< that a thread has taken out to look at
    std::list<std::function<void()>> deferred;  ///< tried again by do_chores(); may defer itself anew
    std::list<LaterFree> later_frees;           ///< of memory that was in use when all reclaimers waited
    bool is_polled = false;                     ///< a thread does these two now and then

    std::mutex reclaim_mutex;            ///< guards the next three
    cudaStream_t free_stream = nullptr;  ///< never waits: for memory whose users are done
    std::vector<Reclaimer> reclaimers;
    std::size_t last_reclaimer = 0;

    std::mutex notify_mutex;  ///< guards the next one
    Notifier* free_notifiers = nullptr;

    std::mutex out_of_memory_mutex;
};

/// The device, made ready for use. Throws DeviceLost, ForkedError and what fails.
Gpu& gpu(int index, const SourceLocation& where);
/// A device that is in use for certain: the one of a stream or an event. Null before its first use.
Gpu* gpu_if_used(int index) noexcept;
inline Gpu& gpu_of(const StreamState& stream) noexcept { return *gpu_if_used(stream.device.index()); }
inline Gpu& gpu_of(const EventState& event) noexcept { return *gpu_if_used(event.device.index()); }

/// Makes the device's context current while it lives, if it is not. Contexts are pushed and popped instead of
/// calling cudaSetDevice: that would initialise device 0 when it restores it.
class InContext {
public:
    explicit InContext(const Gpu& g) noexcept : InContext(g.context, true) {}
    ~InContext() {
        if (pushed_) {
            CUcontext popped = nullptr;
            api.cuCtxPopCurrent(&popped);
        }
    }
    InContext(const InContext&) = delete;
    InContext& operator=(const InContext&) = delete;

protected:
    InContext(CUcontext context, bool wanted) noexcept {
        if (!wanted) return;
        CUcontext current = nullptr;
        api.cuCtxGetCurrent(&current);
        if (current != context) pushed_ = api.cuCtxPushCurrent(context) == CUDA_SUCCESS;
    }

private:
    bool pushed_ = false;
};

/// cudaStreamLegacy and cudaStreamPerThread mean the current device's; all other handles know theirs. Null is none of heddle's: to CUDA it
/// means the legacy stream, to heddle a closed one.
inline bool is_default_handle(const void* native) noexcept {
    return reinterpret_cast<std::uintptr_t>(native) - 1 <= 1;
}

/// Around driver calls on a stream. They run on the stream's device whatever context is current, and without any (seen with
/// driver 580 on two GPUs), so that only the default streams, which mean the current device's, need theirs. Copies are
/// different: memory of a pool is refused while another device's context is current. They, and calls of the runtime, which
/// would initialise device 0 on a thread without a context, want InContext.
class OnStream : public InContext {
public:
    OnStream(const Gpu& g, const void* native) noexcept : InContext(g.context, is_default_handle(native)) {}
};

/// This thread is the driver's and runs one of our callbacks: no CUDA call is allowed.
inline constinit thread_local bool in_callback = false;

/// Housekeeping may query and wait for things unrelated to captures: this thread's mode is relaxed for it, so
/// that nobody's capture is spoiled.
class RelaxedCapture {
public:
    RelaxedCapture() noexcept { exchange(); }
    ~RelaxedCapture() { exchange(); }
    RelaxedCapture(const RelaxedCapture&) = delete;
    RelaxedCapture& operator=(const RelaxedCapture&) = delete;

private:
    void exchange() noexcept {
        if (!in_callback) api.cuThreadExchangeStreamCaptureMode(&mode_);
    }

    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// Native captures that heddle holds open, of streams whose handles are out.
inline std::atomic<int> open_captures{0};

/// RelaxedCapture where such a capture is open: for calls that are frequent, and forbidden then even on other streams (allocating from a
/// pool is, with CUDA 13.0).
class RelaxedWhileCaptured {
public:
    RelaxedWhileCaptured() noexcept {
        if (open_captures.load(std::memory_order_relaxed) != 0) [[unlikely]]
            relaxed_.emplace();
    }

private:
    std::optional<RelaxedCapture> relaxed_;
};

class InCallback {
public:
    InCallback() noexcept : before_(in_callback) { in_callback = true; }
    ~InCallback() { in_callback = before_; }
    InCallback(const InCallback&) = delete;
    InCallback& operator=(const InCallback&) = delete;

private:
    bool before_;
};

/// Events without timing, for heddle's own use. An event may be given back as soon as the wait on its record
/// has been asked for: a later record does not change what that wait means.
cudaEvent_t take_event(Gpu& g, const SourceLocation& where);
void give_event(Gpu& g, cudaEvent_t event) noexcept;

/// Events of users. (event.cpp)
cudaEvent_t make_event(Gpu& g, const EventOptions& options, const SourceLocation& where);
void destroy_event(Gpu& g, cudaEvent_t event) noexcept;

/// Whether an event of heddle's own has been reached; true on lost devices too. Wants RelaxedCapture.
bool is_reached(Gpu& g, cudaEvent_t event) noexcept;

/// Records an event on a stream of `g`, and makes a stream wait for one; the driver's forms of both. Null is no stream: it is refused.
inline CUresult record_on(Gpu& g, cudaEvent_t event, cudaStream_t stream) noexcept {
    if (reinterpret_cast<std::uintptr_t>(stream) > 2) [[likely]]
        return api.cuEventRecord(event, stream);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    InContext in(g);
    return api.cuEventRecord(event, stream);
}
inline CUresult wait_on(Gpu& g, cudaStream_t stream, cudaEvent_t event) noexcept {
    if (reinterpret_cast<std::uintptr_t>(stream) > 2) [[likely]]
        return api.cuStreamWaitEvent(stream, event, 0);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    InContext in(g);
    return api.cuStreamWaitEvent(stream, event, 0);
}

/// The capture that a native stream takes part in, 0 for none.
std::uint64_t capture_of(Gpu& g, cudaStream_t stream) noexcept;
/// The same for a stream; asks only where there can be one.
inline std::uint64_t capture_of(StreamRecord& stream) noexcept {
    if (!stream.has(stream_flag::capturing | stream_flag::handed_out)) [[likely]]
        return 0;
    const auto native = static_cast<cudaStream_t>(stream.native);
    return native != nullptr ? capture_of(gpu_of(stream), native) : 0;
}

/// The attributes of a launch on a stream of this device, but for the dependence on the kernel before: their number, at most 5. (launch.cpp)
unsigned attributes_of(StreamState& stream, const LaunchOptions& options, cudaLaunchAttribute* to);
/// Throws UsageError, with the limit, or Unsupported for what the stream's device cannot launch; asks for shared memory beyond 48 KB.
void check_options(StreamState& stream, const void* function, dim3 grid, dim3 block, std::size_t shared_bytes,
                   const LaunchOptions& options, const SourceLocation& where);

/// Its parts: what no kernel is needed to know, and whether the grid fits on the device at once, which holds `most` blocks.
void check_way(StreamState& stream, const LaunchOptions& options, dim3 grid, const SourceLocation& where);
void check_fits_at_once(StreamState& stream, std::size_t most, dim3 grid, const SourceLocation& where);
std::size_t cluster_size(const LaunchOptions& options) noexcept;  ///< in blocks

/// Puts an action off until another thread may do it, and the capture that is in its way is over. Somebody does it soon, whatever the program
/// calls.
void defer(Gpu& g, std::function<void()> action);
/// With chores_mutex held, after a change to what it guards: notes how much there is to do, and has it done.
void note_chores(Gpu& g) noexcept;
/// Recycles closed streams that are done, frees memory whose users are, and tries deferred actions again.
void do_chores_now(Gpu& g) noexcept;
inline void do_chores(Gpu& g) noexcept {
    if (g.chores.load(std::memory_order_relaxed) != 0) [[unlikely]]
        do_chores_now(g);
}
/// Frees some of the memory that was in use when it was given up, if it is not any more. (memory.cpp)
void do_later_frees(Gpu& g, std::size_t at_once) noexcept;
/// Gives memory of shareable and imported arrays back that is not used any more. Waits for all that the device does. Returns
/// false if there was none. (interprocess.cpp)
bool give_unused_shared_memory_back(int device) noexcept;
/// Gives a closed stream's record back if its work is done. False: not yet. (stream.cpp)
bool bury(Gpu& g, Zombie& zombie) noexcept;

/// Before an event's native event is recorded anew or destroyed: a notification that still asks for its last record keeps
/// the native event, and the event gets another. (notify.cpp)
void detach_notification(EventState& event, const SourceLocation& where);
/// Before others can record an event's native event: a notification that still asks for the newest record looks at an
/// event of its own instead. (notify.cpp)
void stop_watching(EventState& event, const SourceLocation& where);
/// For nodes of graphs, which keep the native event they were made with: from now on the event keeps it too. (notify.cpp)
cudaEvent_t native_for_graph(EventState& event, const SourceLocation& where);

}  // namespace heddle::detail::cu
