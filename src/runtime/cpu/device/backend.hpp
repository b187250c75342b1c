// Declares CpuBackend, which implements core's Backend interface for CPU devices. The comment above
// each group of members names the files that define it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/seam/backend.hpp"

namespace heddle::detail::cpu {

/// Implements Backend. Not final, because tests derive from it to override single functions.
class CpuBackend : public Backend {
public:
    // process/devices.cpp, process/synchronize_device.cpp
    int device_count() noexcept override;
    std::string unavailable_reason() override { return {}; }
    DeviceInfo describe(int device) override;
    std::size_t free_memory(int device) override;
    bool can_access_peer(int, int) override { return true; }
    bool can_access_pool(int, int) override { return true; }
    int concurrent_queues(int) override;
    void synchronize_device(int device, std::vector<CompletionRef>& waited,
                            const SourceLocation& where) override;

    // process/fork_and_exit.cpp
    bool help_at_exit(const Completion& done) noexcept override;
    void after_fork() noexcept override;

    // memory/memory.cpp
    bool peer_reachable(int, int) noexcept override { return true; }
    void set_access(AccessKind, int, int, bool, const SourceLocation&) override {}
    bool has_access(AccessKind, int, int) noexcept override { return true; }
    PoolUsage pool_usage(int device, const SourceLocation& where) override;
    void reset_pool_high_water(int device, const SourceLocation& where) override;
    std::size_t pool_release_threshold(int device, const SourceLocation& where) override;
    void set_pool_release_threshold(int device, std::size_t bytes,
                                    const SourceLocation& where) override;
    void trim_pool(int device, std::size_t keep, const SourceLocation& where) override;

    // stream/stream.cpp
    void open_stream(StreamRecord& stream, const SourceLocation& where) override;
    void close_stream(StreamRecord& stream) noexcept override;
    void synchronize(StreamRecord& stream, const SourceLocation& where) override;
    bool is_complete(StreamRecord& stream, const SourceLocation& where) override;
    std::uint64_t position(StreamRecord& stream) noexcept override;
    std::uint64_t reached(StreamRecord& stream) noexcept override;
    bool finish_enqueues(StreamRecord& stream) noexcept override;
    void count_native(StreamRecord& stream) noexcept override;
    std::uint64_t capture_id(StreamRecord&) override { return 0; }
    Failure reset_failure(StreamRecord& stream, std::uint64_t submissions,
                          const SourceLocation& where) override;

    // look/look.cpp
    bool count_steps(StreamRecord& stream, StreamCounts& to) noexcept override;
    Looked look(StreamRecord& stream, StreamLook& to) override;
    bool list_shared_waits(std::vector<SharedWait>& to) override;
    int worker_count() noexcept override;

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

    // host_sync/signal.cpp
    void signal(EventState& event, CompletionRef done, const SourceLocation& where) override;
    CompletionRef completion_of(EventState& event, const SourceLocation& where) override;
    void signal_use(const StreamUse& use, CompletionRef done) override;
    void wait_use(StreamRecord& waiter, const StreamUse& use, const SourceLocation& where) override;
    void synchronize_use(const StreamUse& use, const SourceLocation& where) override;
    void wait_completion(StreamRecord& waiter, CompletionRef done,
                         const SourceLocation& where) override;

    // launch/launch.cpp
    void preload(int, const void*, const SourceLocation&) override {}
    void enqueue(StreamRecord& stream, const OpType& type, void* self, std::size_t count,
                 const SourceLocation& where) override;
    void launch(StreamRecord& stream, const LaunchCall& call) override;
    void launch_timed(StreamRecord& stream, const LaunchCall& call, std::uint64_t id) override;

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

    // graph/graph.cpp
    std::shared_ptr<GraphExec> instantiate(const GraphData& graph,
                                           const SourceLocation& where) override;
    // CPU streams have no native handle, so no work reaches them except through heddle.
    std::unique_ptr<ForeignCapture> capture_foreign(StreamRecord&, bool, CaptureMode,
                                                    const SourceLocation&) override {
        return nullptr;
    }

    // memory/memory.cpp, memory/copy.cpp, memory/fill.cpp
    void* allocate(StreamRecord& stream, std::size_t bytes, const SourceLocation& where) override;
    bool free(void* data, std::size_t bytes, int device, const StreamUse* users,
              std::size_t user_count) noexcept override;
    Allocated allocate_pinned(std::size_t bytes, const SourceLocation& where) override;
    bool free_pinned(void* data, std::size_t bytes, const StreamUse* users,
                     std::size_t user_count) noexcept override;
    bool classify(const void*, MemorySpace&) noexcept override { return false; }
    void copy(StreamRecord& stream, const Operand& to, const Operand& from,
              const SourceLocation& where) override;
    void fill(StreamRecord& stream, const Operand& to, const void* value, std::size_t size,
              const SourceLocation& where) override;
};

}  // namespace heddle::detail::cpu
