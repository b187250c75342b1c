// Declares CudaBackend, which implements core's Backend interface for CUDA. The comment above each
// group of members names the files that define it.
#pragma once

#include <cuda_runtime_api.h>

#include "core/seam/backend.hpp"
#include "core/stream/submission.hpp"
#include "cuda/device/gpu.hpp"

namespace heddle::detail::cu {

class CudaBackend final : public Backend {
public:
    // process/devices.cpp, process/synchronize_device.cpp
    int device_count() noexcept override;
    std::string unavailable_reason() override;
    DeviceInfo describe(int device) override;
    std::size_t free_memory(int device) override;
    bool can_access_peer(int device, int other) override;
    bool can_access_pool(int device, int other) override;
    int concurrent_queues(int device) override;
    void synchronize_device(int device, std::vector<CompletionRef>& waited,
                            const SourceLocation& where) override;
    // process/fork_and_exit.cpp
    void poll_outstanding() noexcept override;
    bool help_at_exit(const Completion& done) noexcept override;
    void after_fork() noexcept override;

    // memory/access.cpp
    bool peer_reachable(int device, int memory_device) noexcept override;
    void set_access(AccessKind kind, int device, int peer, bool on,
                    const SourceLocation& where) override;
    bool has_access(AccessKind kind, int device, int peer) noexcept override;
    PoolUsage pool_usage(int device, const SourceLocation& where) override;
    void reset_pool_high_water(int device, const SourceLocation& where) override;
    std::size_t pool_release_threshold(int device, const SourceLocation& where) override;
    void set_pool_release_threshold(int device, std::size_t bytes,
                                    const SourceLocation& where) override;
    void trim_pool(int device, std::size_t keep, const SourceLocation& where) override;

    // observe/records.cpp
    void tell_ended_runs() noexcept override;
    std::string begin_records() override;
    void end_records() noexcept override;
    RecordCounts record_counts() noexcept override;

    // stream/stream.cpp
    void reserve_streams(int device, std::size_t count, const SourceLocation& where) override;
    void open_stream(StreamRecord& stream, const SourceLocation& where) override;
    void close_stream(StreamRecord& stream) noexcept override;
    void synchronize(StreamRecord& stream, const SourceLocation& where) override;
    bool is_complete(StreamRecord& stream, const SourceLocation& where) override;
    std::uint64_t capture_id(StreamRecord& stream) override;
    Failure reset_failure(StreamRecord& stream, std::uint64_t submissions,
                          const SourceLocation& where) override;

    // look/look.cpp
    bool count_steps(StreamRecord& stream, StreamCounts& to) noexcept override;
    Looked look(StreamRecord& stream, StreamLook& to) override;
    std::chrono::nanoseconds ask_progress(std::chrono::nanoseconds patience) noexcept override;

    // stream/event.cpp
    void wait_stream(StreamRecord& waiter, StreamRecord& other,
                     const SourceLocation& where) override;
    void open_event(EventState& event, const SourceLocation& where) override;
    void close_event(EventState& event) noexcept override;
    void forget_record(EventState& event) noexcept override;
    void record(EventState& event, StreamRecord& stream, const SourceLocation& where) override;
    void wait(StreamRecord& waiter, EventState& event, const SourceLocation& where) override;
    bool is_complete(EventState& event, const SourceLocation& where) override;
    void synchronize(EventState& event, const SourceLocation& where) override;
    double elapsed_ms(EventState& start, EventState& end, const SourceLocation& where) override;
    Failure failure_of(EventState& event) override;

    // host_sync/signal.cpp, host_sync/completion_waits.cpp (wait_completion)
    void signal(EventState& event, CompletionRef done, const SourceLocation& where) override;
    void signal_use(const StreamUse& use, CompletionRef done) override;
    void wait_use(StreamRecord& waiter, const StreamUse& use, const SourceLocation& where) override;
    void synchronize_use(const StreamUse& use, const SourceLocation& where) override;
    void wait_completion(StreamRecord& waiter, CompletionRef done,
                         const SourceLocation& where) override;

    // host_sync/host_function.cpp, memory/copy.cpp, memory/fill.cpp
    void enqueue(StreamRecord& stream, const OpType& type, void* self, std::size_t count,
                 const SourceLocation& where) override;
    // launch/launch.cpp, launch/preload.cpp
    void preload(int device, const void* tag, const SourceLocation& where) override;
    void launch(StreamRecord& stream, const LaunchCall& call) override;
    void launch_timed(StreamRecord& stream, const LaunchCall& call, std::uint64_t id) override;
    void check_grid(StreamRecord& stream, const WorkType& type, const GridHead& head,
                    const PassedOptions& how, const SourceLocation& where) override;
    void copy(StreamRecord& stream, const Operand& to, const Operand& from,
              const SourceLocation& where) override;
    void fill(StreamRecord& stream, const Operand& to, const void* value, std::size_t size,
              const SourceLocation& where) override;

    // memory/interprocess.cpp
    EventHandle export_event(EventState& event, const SourceLocation& where) override;
    void import_event(EventState& event, const EventHandle& handle,
                      const SourceLocation& where) override;
    Allocated allocate_shared(int device, std::size_t bytes, const SourceLocation& where) override;
    void export_shared(const void* base, ArrayHandle& handle, const SourceLocation& where) override;
    void* import_shared(int device, const ArrayHandle& handle,
                        const SourceLocation& where) override;
    bool free_shared(const SharedMemory& memory, const StreamUse* users,
                     std::size_t user_count) noexcept override;

    // graph/graph.cpp, stream/external_work.cpp
    std::shared_ptr<GraphExec> instantiate(const GraphData& graph,
                                           const SourceLocation& where) override;
    std::unique_ptr<ForeignCapture> capture_foreign(StreamRecord& stream, bool is_held,
                                                    CaptureMode mode,
                                                    const SourceLocation& where) override;

    // memory/memory.cpp
    void* allocate(StreamRecord& stream, std::size_t bytes, const SourceLocation& where) override;
    bool free(void* data, std::size_t bytes, int device, const StreamUse* users,
              std::size_t user_count) noexcept override;
    Allocated allocate_pinned(std::size_t bytes, const SourceLocation& where) override;
    bool free_pinned(void* data, std::size_t bytes, const StreamUse* users,
                     std::size_t user_count) noexcept override;
    bool classify(const void* data, MemorySpace& space) noexcept override;

    // memory/registered.cpp
    void register_host(void* data, std::size_t bytes, const SourceLocation& where) override;
    void unregister_host(void* data, std::size_t bytes) noexcept override;
};

CudaBackend& the_backend() noexcept;

/// Returns the native handle of an open stream. Throws UsageError if the stream is closed. A closed
/// stream's handle is null, which CUDA would interpret as the legacy default stream.
inline cudaStream_t native_of(const StreamState& stream) {
    void* const native = stream.native;  // read once: another thread may close it
    if (native == nullptr) [[unlikely]]
        throw_closed(stream);
    return static_cast<cudaStream_t>(native);
}
inline cudaEvent_t native_of(const EventState& event) noexcept {
    return static_cast<cudaEvent_t>(event.native);
}

/// Records that the first `submissions` submissions of the stream have completed.
inline void see_complete(StreamRecord& stream, std::uint64_t submissions) noexcept {
    std::uint64_t seen = stream.seen_complete.load(std::memory_order_relaxed);
    while (seen < submissions && !stream.seen_complete.compare_exchange_weak(
                                     seen, submissions, std::memory_order_relaxed)) {}
}

/// Returns whether all work enqueued on the stream is known to have completed.
inline bool is_known_complete(const StreamRecord& stream) noexcept {
    return stream.seen_complete.load(std::memory_order_relaxed) >=
           stream.submissions.load(std::memory_order_acquire);
}
/// Records that the stream's cached event, which was just recorded, marks the stream's first
/// `submissions` submissions.
inline void note_mark(StreamRecord& stream, std::uint64_t submissions) noexcept {
    std::uint64_t before = stream.cached_at.load(std::memory_order_relaxed);
    while (before < submissions &&
           !stream.cached_at.compare_exchange_weak(before, submissions, std::memory_order_release,
                                                   std::memory_order_relaxed)) {}
}

}  // namespace heddle::detail::cu
