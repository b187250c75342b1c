// The seam: the only interface between core and the backends. Core never sees a native type. A
// backend never sees a scope, a current stream or an observer.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/operation/calls.hpp"
#include "core/seam/completion.hpp"
#include "core/seam/records.hpp"
#include "core/seam/stream_look.hpp"
#include <heddle/device/device.hpp>
#include <heddle/error.hpp>
#include <heddle/launch/detail/kernel_closures.hpp>
#include <heddle/launch/detail/work.hpp>
#include <heddle/memory/copy.hpp>
#include <heddle/memory/detail/block.hpp>
#include <heddle/memory/fill.hpp>
#include <heddle/memory/pool.hpp>
#include <heddle/stream/detail/host_op.hpp>

namespace heddle {
struct ArrayHandle;  // heddle/memory/interprocess.hpp
struct EventHandle;
enum class CaptureMode : std::uint8_t;  // heddle/recording/capture.hpp
}  // namespace heddle

namespace heddle::detail {

/// A device's memory pool, in bytes. `used` includes memory that streams cache.
struct PoolUsage {
    std::size_t used = 0;
    std::size_t used_high = 0;      ///< high-water mark of `used` since the last reset
    std::size_t reserved = 0;       ///< allocated from the device now
    std::size_t reserved_high = 0;  ///< high-water mark of `reserved`
};

class GraphExec;
struct GraphData;

/// A native capture of work that code outside heddle enqueues. The destructor ends the capture and
/// discards the remaining work.
class ForeignCapture {
public:
    ForeignCapture() = default;
    virtual ~ForeignCapture() = default;
    ForeignCapture(const ForeignCapture&) = delete;
    ForeignCapture& operator=(const ForeignCapture&) = delete;
    /// Returns the native handle that is captured.
    virtual void* native() const noexcept = 0;
    /// Returns the work recorded so far, as an opaque graph for a node of kind `other`, or null if
    /// there is no work. Throws UsageError if the work cannot be captured. The capture continues in
    /// either case, unless an earlier error has ended it.
    virtual std::shared_ptr<void> take_work(const SourceLocation& where) = 0;
};

/// How one device accesses another's memory (heddle/device/peer_access.hpp).
enum class AccessKind : std::uint8_t { peer, pool };

/// The device and the kind of memory. classify() finds them for pointers that heddle does not own.
struct MemorySpace {
    Device device = Access::device(DeviceKind::cpu, 0);
    MemoryKind kind = MemoryKind::pageable;
};
/// Returns whether the memory is on a CUDA device.
inline bool is_on_cuda(const MemorySpace& space) noexcept {
    return space.kind == MemoryKind::device && space.device.is_cuda();
}

/// The source or destination of a copy or fill, with its space. Core has checked sizes, null
/// pointers and overlaps. For a single row, the pitch is `bytes`.
struct Operand : MemoryRange {
    MemorySpace space{};
    /// The array that contains the memory, if known. Graph nodes and recordings list their arrays
    /// elsewhere.
    Block* owner = nullptr;
};

/// Returns the start of writable memory.
inline std::byte* writable(const MemoryRange& memory) noexcept {
    return const_cast<std::byte*>(static_cast<const std::byte*>(memory.data));
}

/// Memory from allocate_shared() or import_shared().
struct SharedMemory {
    void* base;
    std::size_t bytes;
    int device;
    bool is_imported;
};

/// Memory that a backend allocated.
struct Allocated {
    void* data;
    /// Whether the memory is from the backend's own cache. If so, all uses before the last free of
    /// this memory have completed.
    bool is_reused = false;
};

/// A kind of device. Functions throw heddle::Error unless marked noexcept. `where` is the place of
/// the user's call, for errors. All functions are thread-safe, even for calls on the same stream.
class HEDDLE_HIDDEN Backend {
public:
    virtual ~Backend() = default;

    // Devices -------------------------------------------------------------------------------------
    virtual int device_count() noexcept = 0;
    /// Returns an empty string if device_count() > 0.
    virtual std::string unavailable_reason() = 0;
    virtual DeviceInfo describe(int device) = 0;
    virtual std::size_t free_memory(int device) = 0;
    virtual bool can_access_peer(int device, int other) = 0;
    virtual bool can_access_pool(int device, int other) = 0;
    virtual int concurrent_queues(int device) = 0;
    /// Returns whether kernels of `device` can access pool memory of `memory_device` now.
    virtual bool peer_reachable(int device, int memory_device) noexcept = 0;

    virtual void set_access(AccessKind kind, int device, int peer, bool on,
                            const SourceLocation& where) = 0;
    virtual bool has_access(AccessKind kind, int device, int peer) noexcept = 0;
    virtual PoolUsage pool_usage(int device, const SourceLocation& where) = 0;
    virtual void reset_pool_high_water(int device, const SourceLocation& where) = 0;
    virtual std::size_t pool_release_threshold(int device, const SourceLocation& where) = 0;
    virtual void set_pool_release_threshold(int device, std::size_t bytes,
                                            const SourceLocation& where) = 0;
    virtual void trim_pool(int device, std::size_t keep, const SourceLocation& where) = 0;

    /// Loads the code of the kernels with this tag, or of all kernels if `tag` is null
    /// (heddle/code/preload.hpp).
    virtual void preload(int device, const void* tag, const SourceLocation& where) = 0;

    // Streams -------------------------------------------------------------------------------------
    /// Reserves driver resources for that many more streams, so that open_stream() does not wait
    /// for a busy device.
    virtual void reserve_streams(int, std::size_t, const SourceLocation&) {}
    /// Makes the native stream. The caller has set the record's device and requested priority;
    /// clamps the priority to the device's range.
    virtual void open_stream(StreamRecord& stream, const SourceLocation& where) = 0;
    /// Releases the native stream without blocking; pending work still runs. The caller has set
    /// flag `dead`. The backend calls recycle_stream() (core/stream/registry.hpp) once the last
    /// work has completed and nothing will access the record any more.
    virtual void close_stream(StreamRecord& stream) noexcept = 0;
    /// Blocks until all work enqueued so far has completed. Does not throw for failed work: core
    /// calls known_failure() afterwards.
    virtual void synchronize(StreamRecord& stream, const SourceLocation& where) = 0;
    virtual bool is_complete(StreamRecord& stream, const SourceLocation& where) = 0;
    /// Returns a position after all work enqueued so far on the stream. Returns 0 if the backend
    /// cannot query a stream's progress without an event. Only for open streams, as is reached().
    virtual std::uint64_t position(StreamRecord&) noexcept { return 0; }
    /// Returns the position that the stream has reached: all work before it has completed.
    virtual std::uint64_t reached(StreamRecord&) noexcept { return 0; }
    /// Blocks until all work enqueued so far on the device's streams has completed. Adds the
    /// completions that hold failures of closed streams to `waited`, so that core can report the
    /// failures that no other object reports. If failures are held otherwise, reports those before
    /// it returns. Core itself queries the failures of open streams.
    virtual void synchronize_device(int device, std::vector<CompletionRef>& waited,
                                    const SourceLocation& where) = 0;
    /// Returns the id of the native capture that the stream takes part in, or 0. Called only for
    /// streams with the flag `capturing` or `handed_out`.
    virtual std::uint64_t capture_id(StreamRecord& stream) = 0;
    /// Clears the stream's failure in stream order and returns it. Returns null if there is none.
    /// Call it once the stream's first `submissions` submissions have completed. The stream's owner
    /// may close the stream during the call. Throws DeviceLost if the device is lost.
    virtual Failure reset_failure(StreamRecord& stream, std::uint64_t submissions,
                                  const SourceLocation& where) = 0;

    // Order ---------------------------------------------------------------------------------------
    /// Makes `waiter` wait for all work enqueued on `other`. Both streams belong to this backend.
    /// Counts a submission on `waiter`.
    virtual void wait_stream(StreamRecord& waiter, StreamRecord& other,
                             const SourceLocation& where) = 0;
    /// Makes the native event, if the backend needs one before the first record.
    virtual void open_event(EventState& event, const SourceLocation& where) = 0;
    virtual void close_event(EventState& event) noexcept = 0;
    /// Drops the newest record. Called when the event returns to its pool.
    virtual void forget_record(EventState& event) noexcept = 0;
    /// Records the event. Core has checked the device, and fills in the EventState afterwards.
    virtual void record(EventState& event, StreamRecord& stream, const SourceLocation& where) = 0;
    virtual void wait(StreamRecord& waiter, EventState& event, const SourceLocation& where) = 0;
    virtual bool is_complete(EventState& event, const SourceLocation& where) = 0;
    virtual void synchronize(EventState& event, const SourceLocation& where) = 0;
    virtual double elapsed_ms(EventState& start, EventState& end, const SourceLocation& where) = 0;
    /// Returns the failure of the work before a complete event, or null. CPU events store the
    /// failure. For CUDA events, the device or the event's WorkOutcome stores it.
    virtual Failure failure_of(EventState& event) = 0;
    virtual EventHandle export_event(EventState& event, const SourceLocation& where) = 0;
    virtual void import_event(EventState& event, const EventHandle& handle,
                              const SourceLocation& where) = 0;

    // Between kinds of devices --------------------------------------------------------------------
    /// Completes `done` (with the failure, if any) when the event's newest record completes. Never
    /// blocks.
    virtual void signal(EventState& event, CompletionRef done, const SourceLocation& where) = 0;
    /// Returns a completion of the event's newest record. A backend whose events contain a
    /// completion overrides this.
    virtual CompletionRef completion_of(EventState& event, const SourceLocation& where) {
        CompletionRef done = make_completion();
        signal(event, done, where);
        return done;
    }
    /// Orders work enqueued on `waiter` from now on after `done`. If `done` has a failure, poisons
    /// `waiter`. Never blocks.
    virtual void wait_completion(StreamRecord& waiter, CompletionRef done,
                                 const SourceLocation& where) = 0;

    // The next three functions are for streams that the caller does not own. Such a stream may be
    // open, closing or ended. Work that is being captured natively does not count.

    /// Completes `done` once all work enqueued so far on the stream, which belongs to this backend,
    /// has completed. Passes that work's failure, if any, to `done`. Never blocks. If it throws
    /// because memory is exhausted, `done` will not complete.
    virtual void signal_use(const StreamUse& use, CompletionRef done) = 0;
    /// Makes `waiter` wait for all work enqueued so far on the stream. Both streams belong to this
    /// backend. Counts a submission if it enqueues a wait.
    virtual void wait_use(StreamRecord& waiter, const StreamUse& use,
                          const SourceLocation& where) = 0;
    /// Blocks until all work enqueued so far on the stream has completed.
    virtual void synchronize_use(const StreamUse& use, const SourceLocation& where) = 0;

    /// Called right after flag `joined` was set. Returns false if another thread may still be
    /// enqueuing work without having seen the flag; the stream must not join then. Returns true if
    /// all such work has been counted (docs/adr/0060).
    virtual bool finish_enqueues(StreamRecord& stream) noexcept {
        // Reads `announced` first. A submission that is announced later has seen the flag, and is
        // counted only after it has called make_way().
        const std::uint64_t announced = stream.announced.load();
        return stream.submissions.load(std::memory_order_acquire) == announced;
    }

    /// Counts a submission that code outside heddle enqueued on the native stream.
    virtual void count_native(StreamRecord& stream) noexcept {
        stream.announced.fetch_add(1);
        count_submission(stream);
    }

    // The next functions are for the watch, which takes no lock (docs/adr/0051). Other threads may
    // close the stream during the calls.

    /// Queries the progress of streams that the backend does not track otherwise. Waits for an
    /// answer, at most for the passed duration. Returns for how long a request has been unanswered,
    /// or 0 if it was answered.
    virtual std::chrono::nanoseconds ask_progress(std::chrono::nanoseconds) noexcept {
        return std::chrono::nanoseconds(0);
    }
    /// Reads the stream's progress. Returns false if its pending work may advance without a change
    /// that this function can read.
    virtual bool count_steps(StreamRecord&, StreamCounts&) noexcept { return false; }
    /// Reads the stream's pending work.
    virtual Looked look(StreamRecord&, StreamLook&) { return Looked::refused; }
    /// Lists the waits for events that processes share. Returns false if they cannot be read.
    virtual bool list_shared_waits(std::vector<SharedWait>&) { return true; }
    /// Returns the number of heddle's threads that run the streams' work, which may be 0.
    virtual int worker_count() noexcept { return 0; }

    // Work ----------------------------------------------------------------------------------------
    /// Enqueues `count` operations of one type (heddle/stream/detail/host_op.hpp). Counts one
    /// submission.
    virtual void enqueue(StreamRecord& stream, const OpType& type, void* self, std::size_t count,
                         const SourceLocation& where) = 0;
    /// Enqueues a kernel that has been checked. Counts one submission. Throws if CUDA rejects the
    /// launch.
    virtual void launch(StreamRecord& stream, const LaunchCall& call) = 0;
    /// Enqueues a kernel like launch(). A backend that can measure when the kernel ran calls
    /// notify_run() with this id, at the latest in the first tell_ended_runs() after the kernel's
    /// end.
    virtual void launch_timed(StreamRecord& stream, const LaunchCall& call, std::uint64_t) {
        launch(stream, call);
    }
    /// Throws for a grid that the CUDA device cannot run. Enables the dynamic shared memory that
    /// the kernel requests.
    virtual void check_grid(StreamRecord&, const WorkType&, const GridHead&, const PassedOptions&,
                            const SourceLocation&) {}
    /// Enqueues a copy. At least one side is this backend's memory, or both sides are host memory.
    /// Counts a submission.
    virtual void copy(StreamRecord& stream, const Operand& to, const Operand& from,
                      const SourceLocation& where) = 0;
    /// Enqueues a fill that repeats the `size` bytes at `value` over the piece. Reads `value`
    /// before it returns. `to.bytes` is a multiple of `size`.
    virtual void fill(StreamRecord& stream, const Operand& to, const void* value, std::size_t size,
                      const SourceLocation& where) = 0;

    // Graphs --------------------------------------------------------------------------------------
    /// Makes an executable graph. Core has checked all properties except those that depend on the
    /// backend.
    virtual std::shared_ptr<GraphExec> instantiate(const GraphData& graph,
                                                   const SourceLocation& where) = 0;

    /// Begins a native capture for a stream that heddle captures, to record work that code outside
    /// heddle enqueues. `is_held`: that code holds the stream's own handle, so the stream itself is
    /// captured, and until the capture ends, other threads cannot wait for the stream's earlier
    /// work. Otherwise captures an internal stream, and does not change the stream. Returns null if
    /// streams of the device have no native handle.
    virtual std::unique_ptr<ForeignCapture> capture_foreign(StreamRecord& stream, bool is_held,
                                                            CaptureMode mode,
                                                            const SourceLocation& where) = 0;

    // Memory --------------------------------------------------------------------------------------
    /// Allocates memory of the stream's device, usable by work enqueued on the stream from now on.
    /// Counts a submission unless other streams may use the memory immediately, too. `bytes` > 0.
    /// Throws OutOfMemory.
    virtual void* allocate(StreamRecord& stream, std::size_t bytes,
                           const SourceLocation& where) = 0;
    /// Frees memory from allocate() after all work enqueued so far on `users`. Never blocks.
    /// `users` are distinct streams of any backend; some may be closed or ended. Returns false, and
    /// does nothing, if the host memory that it needs is not available. The caller must try again
    /// later.
    [[nodiscard]] virtual bool free(void* data, std::size_t bytes, int device,
                                    const StreamUse* users, std::size_t user_count) noexcept = 0;
    /// Allocates page-locked host memory. free_pinned() frees it like free(), and may cache it.
    virtual Allocated allocate_pinned(std::size_t bytes, const SourceLocation& where) = 0;
    [[nodiscard]] virtual bool free_pinned(void* data, std::size_t bytes, const StreamUse* users,
                                           std::size_t user_count) noexcept = 0;
    /// Allocates memory that other processes can map. `bytes` > 0.
    virtual Allocated allocate_shared(int device, std::size_t bytes,
                                      const SourceLocation& where) = 0;
    /// Fills in the handle by which another process can import the memory.
    virtual void export_shared(const void* base, ArrayHandle& handle,
                               const SourceLocation& where) = 0;
    /// Maps memory that another process exported.
    virtual void* import_shared(int device, const ArrayHandle& handle,
                                const SourceLocation& where) = 0;
    /// Frees allocated memory, or unmaps imported memory, like free().
    [[nodiscard]] virtual bool free_shared(const SharedMemory& memory, const StreamUse* users,
                                           std::size_t user_count) noexcept = 0;

    /// Reports to observers all timed operations that have ended, if the backend reports them with
    /// a delay.
    virtual void tell_ended_runs() noexcept {}
    /// Starts to time operations with a profiling library's records. Returns an empty string, or
    /// the reason why this is impossible. Each successful call needs an end_records(); the last of
    /// them stops the timing. Thread-safe.
    virtual std::string begin_records() { return "this backend has none"; }
    /// Ends one begin_records(), and reports to observers the records received so far.
    virtual void end_records() noexcept {}
    virtual RecordCounts record_counts() noexcept { return {}; }

    /// Finds the space of an address that heddle does not own. Returns false if this backend does
    /// not know the address.
    virtual bool classify(const void* data, MemorySpace& space) noexcept = 0;

    /// Called by host threads that block for long (block_until(): every 100 ms or less). Completes
    /// notifications that no heddle thread polls any more (at exit), and does deferred cleanup.
    virtual void poll_outstanding() noexcept {}
    /// See core/seam/completion.hpp.
    virtual bool help_at_exit(const Completion&) noexcept { return false; }

    // Process -------------------------------------------------------------------------------------
    /// Called in the child of a fork.
    virtual void after_fork() noexcept = 0;

    // Host memory of users ------------------------------------------------------------------------
    /// Pins host memory that heddle did not allocate, so that copies of it are asynchronous. Throws
    /// UsageError for memory that cannot be pinned. Each successful call needs an
    /// unregister_host(), which passes errors to the report hook. A backend for which all host
    /// memory is alike does nothing. `bytes` > 0.
    virtual void register_host(void*, std::size_t, const SourceLocation&) {}
    virtual void unregister_host(void*, std::size_t) noexcept {}
};

/// Return the CPU backend, and the CUDA backend or its stand-in without CUDA (no_cuda). Both
/// exist from the start of the program and are never destroyed.
Backend& cpu_backend() noexcept;
Backend& cuda_backend() noexcept;
inline Backend& backend_of(DeviceKind kind) noexcept {
    return kind == DeviceKind::cuda ? cuda_backend() : cpu_backend();
}

}  // namespace heddle::detail
