// The seam: the one interface between core and the backends. Core never sees a native type; a backend never sees a
// scope, a current stream or an observer.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "core/completion.hpp"
#include "core/records.hpp"
#include <heddle/copy.hpp>
#include <heddle/detail/block.hpp>
#include <heddle/detail/host_op.hpp>
#include <heddle/device.hpp>
#include <heddle/error.hpp>
#include <heddle/memory_access.hpp>

namespace heddle {
struct ArrayHandle;                     // heddle/interprocess.hpp
enum class CaptureMode : std::uint8_t;  // heddle/capture.hpp
}  // namespace heddle

namespace heddle::detail {

class GraphExec;
struct GraphData;

/// Of one device to another one's memory (heddle/memory_access.hpp).
enum class AccessKind : std::uint8_t { peer, pool };

/// Where a region of memory is. Unowned pointers are classified by classify().
struct Place {
    Device device = Device::unchecked(DeviceKind::cpu, 0);
    MemoryKind kind = MemoryKind::pageable;
};

/// One region with its place, as copies and fills get it. Checked by core: sizes, nulls, overlaps.
struct Piece {
    void* data;
    std::size_t bytes;  ///< of one row
    std::size_t rows;
    std::size_t pitch;  ///< bytes; == bytes for one row
    Place place;
};

/// Memory of allocate_shared(), or of import_shared().
struct SharedMemory {
    void* base;
    std::size_t bytes;
    int device;
    bool is_imported;
};

/// Functions throw heddle::Error unless marked noexcept. `where` is the user's call, for errors. Thread-safety: all
/// may be called from many threads at once, for the same stream too.
class Backend {
public:
    virtual ~Backend() = default;

    // Devices -----------------------------------------------------------------------------------------------------
    virtual int device_count() noexcept = 0;
    virtual std::string unavailable_reason() = 0;  ///< empty when device_count() > 0
    virtual DeviceInfo describe(int device) = 0;
    virtual std::size_t free_memory(int device) = 0;
    virtual bool can_access_peer(int device, int other) = 0;
    virtual bool can_access_pool(int device, int other) = 0;
    virtual int concurrent_queues(int device) = 0;
    virtual bool peer_reachable(int device,
                                int memory_device) noexcept = 0;  ///< may kernels of `device` touch it now

    virtual void set_access(AccessKind kind, int device, int peer, bool on, const SourceLocation& where) = 0;
    virtual bool has_access(AccessKind kind, int device, int peer) noexcept = 0;
    virtual PoolUsage pool_usage(int device, const SourceLocation& where) = 0;
    virtual void reset_pool_high_water(int device, const SourceLocation& where) = 0;
    virtual std::size_t pool_release_threshold(int device, const SourceLocation& where) = 0;
    virtual void set_pool_release_threshold(int device, std::size_t bytes, const SourceLocation& where) = 0;
    virtual void trim_pool(int device, std::size_t keep, const SourceLocation& where) = 0;

    /// Loads the code of kernels with this tag, or of all (heddle/preload.hpp).
    virtual void preload(int device, const void* tag, const SourceLocation& where) = 0;

    // Streams -----------------------------------------------------------------------------------------------------
    /// So that open_stream() of so many more streams does not wait for a busy device.
    virtual void reserve_streams(int, std::size_t, const SourceLocation&) {}
    /// Makes the native stream; device and the wanted priority are set. Clamps the priority.
    virtual void open_stream(StreamRecord& stream, const SourceLocation& where) = 0;
    /// Gives the native stream up without blocking and without losing work; flag `dead` is set already. The
    /// backend calls recycle_stream(stream) (core/registry.hpp) when its last work is done and nothing will touch it.
    virtual void close_stream(StreamRecord& stream) noexcept = 0;
    /// Blocks until all work given so far is done. Does not throw for failed work: core asks known_failure() afterwards.
    virtual void synchronize(StreamRecord& stream, const SourceLocation& where) = 0;
    virtual bool is_complete(StreamRecord& stream, const SourceLocation& where) = 0;
    /// Returns a failure of a stream that was closed before its work was done, null if there was none: core asks the open ones.
    virtual Failure synchronize_device(int device, const SourceLocation& where) = 0;
    /// A number for the capture the stream takes part in, 0 for none. Only asked for streams flagged `capturing` or
    /// `handed_out`.
    virtual std::uint64_t capture_id(StreamRecord& stream) = 0;
    /// Forgets the stream's failure in stream order, and returns it; null if there is none. Called when the stream's first `submissions`
    /// pieces of work are done. Its owner may close it meanwhile. Throws DeviceLost where there is no way back.
    virtual Failure reset_failure(StreamRecord& stream, std::uint64_t submissions,
                                  const SourceLocation& where) = 0;

    // Order -------------------------------------------------------------------------------------------------------
    /// `waiter` waits for all that `other` (of this backend) was given. Counts the submission on `waiter`.
    virtual void wait_stream(StreamRecord& waiter, StreamRecord& other, const SourceLocation& where) = 0;
    /// Makes the native event, if it needs one before it is recorded.
    virtual void open_event(EventState& event, const SourceLocation& where) = 0;
    virtual void close_event(EventState& event) noexcept = 0;
    /// Called when an event goes back to its pool, and when it is taken out again unrecorded.
    virtual void forget_record(EventState& event) noexcept = 0;
    /// Core has checked the device, and sets the fields of the record afterwards.
    virtual void record(EventState& event, StreamRecord& stream, const SourceLocation& where) = 0;
    virtual void wait(StreamRecord& waiter, EventState& event, const SourceLocation& where) = 0;
    virtual bool is_complete(EventState& event, const SourceLocation& where) = 0;
    virtual void synchronize(EventState& event, const SourceLocation& where) = 0;
    virtual double elapsed_ms(EventState& start, EventState& end, const SourceLocation& where) = 0;
    /// The failure behind a complete event, null if none (CPU events carry it; CUDA's come from the stream's record).
    virtual Failure failure_of(EventState& event) = 0;
    virtual EventHandle export_event(EventState& event, const SourceLocation& where) = 0;
    virtual void import_event(EventState& event, const EventHandle& handle, const SourceLocation& where) = 0;

    // Between kinds of devices --------------------------------------------------------------------------------------
    /// `done` completes (with the failure, if any) when the event's newest record is reached. Never blocks.
    virtual void signal(EventState& event, CompletionRef done, const SourceLocation& where) = 0;
    /// The same, giving the completion; a backend that has one at hand saves the detour.
    virtual CompletionRef completion_of(EventState& event, const SourceLocation& where) {
        CompletionRef done = make_completion();
        signal(event, done, where);
        return done;
    }
    /// What `waiter` is given from now on comes after `done`; a failure in it poisons `waiter`. Never blocks.
    virtual void await(StreamRecord& waiter, CompletionRef done, const SourceLocation& where) = 0;

    // For streams that are not the caller's: open, being closed, or gone. What is being captured natively does not count.
    /// `done` completes when all that the stream (of this backend) was given until now is done. Never blocks. Where it throws, for want of
    /// memory, `done` will not happen.
    virtual void fence(const StreamUse& use, CompletionRef done) = 0;
    /// `waiter` waits for all that the stream was given until now; both are of this backend. Counts the submission, if there is one.
    virtual void wait_use(StreamRecord& waiter, const StreamUse& use, const SourceLocation& where) = 0;
    /// Blocks until all that the stream was given until now is done.
    virtual void synchronize_use(const StreamUse& use, const SourceLocation& where) = 0;

    /// The flag `joined` has just been set: work that is being enqueued by other threads, which did not see it, has been counted when this
    /// returns. Backends that cannot tell do nothing (docs/adr/0022).
    virtual void finish_enqueues(StreamRecord&) noexcept {}

    // Work --------------------------------------------------------------------------------------------------------
    /// Gives the stream `count` operations of one type (detail/host_op.hpp). Counts the submission.
    virtual void enqueue(StreamRecord& stream, const OpType& type, void* self, std::size_t count,
                         const SourceLocation& where) = 0;
    /// At least one side is this backend's or both are host memory. Counts the submission.
    virtual void copy(StreamRecord& stream, const Piece& to, const Piece& from,
                      const SourceLocation& where) = 0;
    /// Repeats `size` bytes at `value` (read before returning) over the piece; piece.bytes is a multiple of size.
    virtual void fill(StreamRecord& stream, const Piece& to, const void* value, std::size_t size,
                      const SourceLocation& where) = 0;

    // Graphs ------------------------------------------------------------------------------------------------------
    /// Makes a graph that can be launched. All of it has been checked but what only the backend knows.
    virtual std::shared_ptr<GraphExec> instantiate(const GraphData& graph, const SourceLocation& where) = 0;

    /// The native stream is recorded natively from now on: what others give it past heddle.
    virtual void begin_foreign(StreamRecord& stream, CaptureMode mode, const SourceLocation& where) = 0;
    /// What that recorded until now, and goes on; null: nothing. An opaque graph, for nodes of kind `other`.
    virtual std::shared_ptr<void> take_foreign(StreamRecord& stream, CaptureMode mode,
                                               const SourceLocation& where) = 0;
    virtual void drop_foreign(StreamRecord& stream) noexcept = 0;

    // Memory ------------------------------------------------------------------------------------------------------
    /// Memory of the stream's device, usable by what the stream is given next. bytes > 0. Throws OutOfMemory.
    virtual void* allocate(StreamRecord& stream, std::size_t bytes, const SourceLocation& where) = 0;
    /// Frees memory of allocate() after everything that `users` were given until now. Never blocks. `users` are
    /// distinct streams of any backend, some perhaps closed or gone meanwhile.
    virtual void free(void* data, std::size_t bytes, int device, const StreamUse* users,
                      std::size_t user_count) noexcept = 0;
    /// Page-locked host memory, and its release after what `users` were given until now (never blocks; may cache).
    virtual void* allocate_pinned(std::size_t bytes, const SourceLocation& where) = 0;
    virtual void free_pinned(void* data, std::size_t bytes, const StreamUse* users,
                             std::size_t user_count) noexcept = 0;
    /// Memory that other processes can open, its name for them, and theirs opened here. bytes > 0.
    virtual void* allocate_shared(int device, std::size_t bytes, const SourceLocation& where) = 0;
    virtual void export_shared(const void* base, ArrayHandle& handle, const SourceLocation& where) = 0;
    virtual void* import_shared(int device, const ArrayHandle& handle, const SourceLocation& where) = 0;
    /// Gives it up, or lets go of it, after what `users` were given until now. Never blocks.
    virtual void free_shared(const SharedMemory& memory, const StreamUse* users,
                             std::size_t user_count) noexcept = 0;

    /// Where an address that heddle does not own is. False: this backend does not know it.
    virtual bool classify(const void* data, Place& place) noexcept = 0;

    /// Called now and then by host threads that block for long: completes what only a look at the device can (the
    /// notifications of a lost device), and gives back what had to wait.
    virtual void poll_outstanding() noexcept {}
    /// See core/completion.hpp.
    virtual bool help_at_exit(const Completion&) noexcept { return false; }

    // Process -----------------------------------------------------------------------------------------------------
    /// In the child of a fork.
    virtual void after_fork() noexcept = 0;
};

/// The CPU backend, and the CUDA backend or what stands in its place (src/no_cuda). Made at first use, never destroyed.
Backend& cpu_backend();
Backend& cuda_backend();
inline Backend& backend_of(DeviceKind kind) {
    return kind == DeviceKind::cuda ? cuda_backend() : cpu_backend();
}

}  // namespace heddle::detail
