// The CPU backend: implements the seam on top of the executor's queues.
#pragma once

#include "core/seam/backend.hpp"
#include "cpu/queue.hpp"
#include "cpu/shared_event.hpp"

namespace heddle::detail::cpu {

inline Queue& queue_of(StreamRecord& stream) noexcept {
    return *static_cast<Queue*>(stream.native);
}

/// Implements Backend. Not final, because tests override single functions.
class CpuBackend : public Backend {
public:
    // devices.cpp
    int device_count() noexcept override;
    std::string unavailable_reason() override { return {}; }
    DeviceInfo describe(int device) override;
    std::size_t free_memory(int device) override;
    bool can_access_peer(int, int) override { return true; }
    bool can_access_pool(int, int) override { return true; }
    int concurrent_queues(int) override;
    bool peer_reachable(int, int) noexcept override { return true; }
    void preload(int, const void*, const SourceLocation&) override {}
    void set_access(AccessKind, int, int, bool, const SourceLocation&) override {}
    bool has_access(AccessKind, int, int) noexcept override { return true; }
    bool help_at_exit(const Completion& done) noexcept override;  // streams.cpp
    void after_fork() noexcept override;

    // streams.cpp
    void open_stream(StreamRecord& stream, const SourceLocation& where) override;
    void close_stream(StreamRecord& stream) noexcept override;
    void synchronize(StreamRecord& stream, const SourceLocation& where) override;
    bool is_complete(StreamRecord& stream, const SourceLocation& where) override;
    std::uint64_t position(StreamRecord& stream) noexcept override;
    std::uint64_t reached(StreamRecord& stream) noexcept override;
    void synchronize_device(int device, const SourceLocation& where) override;
    std::uint64_t capture_id(StreamRecord&) override { return 0; }
    Failure reset_failure(StreamRecord& stream, std::uint64_t submissions,
                          const SourceLocation& where) override;
    bool finish_enqueues(StreamRecord& stream) noexcept override {
        queue_of(stream).finish_pushes();
        return true;
    }
    void count_native(StreamRecord& stream) noexcept override {
        queue_of(stream).count_submission();
    }
    void enqueue(StreamRecord& stream, const OpType& type, void* self, std::size_t count,
                 const SourceLocation& where) override;
    void launch(StreamRecord& stream, const LaunchCall& call) override;
    void launch_timed(StreamRecord& stream, const LaunchCall& call, std::uint64_t id) override;

    // look.cpp
    bool count_steps(StreamRecord& stream, StreamCounts& to) noexcept override;
    Looked look(StreamRecord& stream, StreamLook& to) override;
    bool list_shared_waits(std::vector<SharedWait>& to) override {
        return SharedEvent::list_waits(to);
    }
    int worker_count() noexcept override;

    // events.cpp
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
    EventHandle export_event(EventState& event, const SourceLocation& where) override;
    void import_event(EventState& event, const EventHandle& handle,
                      const SourceLocation& where) override;
    void signal(EventState& event, CompletionRef done, const SourceLocation& where) override;
    CompletionRef completion_of(EventState& event, const SourceLocation& where) override;
    void signal_use(const StreamUse& use, CompletionRef done) override;
    void wait_use(StreamRecord& waiter, const StreamUse& use, const SourceLocation& where) override;
    void synchronize_use(const StreamUse& use, const SourceLocation& where) override;
    void await(StreamRecord& waiter, CompletionRef done, const SourceLocation& where) override;

    // graph_plan.cpp
    std::shared_ptr<GraphExec> instantiate(const GraphData& graph,
                                           const SourceLocation& where) override;
    // CPU streams have no native handle, so no work reaches them except through heddle.
    void begin_foreign(StreamRecord&, CaptureMode, const SourceLocation&) override {}
    std::shared_ptr<void> take_foreign(StreamRecord&, CaptureMode, const SourceLocation&) override {
        return nullptr;
    }
    void drop_foreign(StreamRecord&) noexcept override {}

    // interprocess.cpp
    Allocated allocate_shared(int device, std::size_t bytes, const SourceLocation& where) override;
    void export_shared(const void* base, ArrayHandle& handle, const SourceLocation& where) override;
    void* import_shared(int device, const ArrayHandle& handle,
                        const SourceLocation& where) override;
    bool free_shared(const SharedMemory& memory, const StreamUse* users,
                     std::size_t user_count) noexcept override;

    // memory.cpp
    PoolUsage pool_usage(int device, const SourceLocation& where) override;
    void reset_pool_high_water(int device, const SourceLocation& where) override;
    std::size_t pool_release_threshold(int device, const SourceLocation& where) override;
    void set_pool_release_threshold(int device, std::size_t bytes,
                                    const SourceLocation& where) override;
    void trim_pool(int device, std::size_t keep, const SourceLocation& where) override;
    void copy(StreamRecord& stream, const Piece& to, const Piece& from,
              const SourceLocation& where) override;
    void fill(StreamRecord& stream, const Piece& to, const void* value, std::size_t size,
              const SourceLocation& where) override;
    void* allocate(StreamRecord& stream, std::size_t bytes, const SourceLocation& where) override;
    bool free(void* data, std::size_t bytes, int device, const StreamUse* users,
              std::size_t user_count) noexcept override;
    Allocated allocate_pinned(std::size_t bytes, const SourceLocation& where) override;
    bool free_pinned(void* data, std::size_t bytes, const StreamUse* users,
                     std::size_t user_count) noexcept override;
    bool classify(const void*, Place&) noexcept override { return false; }
};

/// Returns a completion of all work enqueued on the stream so far. Returns null if that work has
/// completed without failure, if the stream no longer exists, or if it belongs to the parent of a
/// fork. Accepts streams that are being closed or no longer exist.
CompletionRef pending_work(const StreamUse& use);

/// A block of memory that is freed later. Created together with the memory, because freeing must
/// not fail.
struct Kept {
    void* base;
    std::size_t bytes;
    int device;
    void (*give_back)(Kept& memory) noexcept;
};
using GiveBack = decltype(Kept::give_back);
/// Frees the memory once all work enqueued so far on `users` is done, like Backend::free().
/// (memory.cpp)
bool give_back_after(Kept& memory, const StreamUse* users, std::size_t user_count) noexcept;

/// Enqueues work on the stream. If the stream has joined a batch in the meantime, flushes that
/// batch first.
void push_work(StreamRecord& stream, const OpType& type, void* self, std::size_t count,
               const SourceLocation& where);

/// Blocks until `done` completes. Meanwhile the calling thread runs ready work of CPU streams that
/// is ordered before it. (help.cpp)
void wait_for(Completion& done);

/// Returns the completion of an event's newest record. Returns null if the event has no record, or
/// if that record is known to have completed.
CompletionRef newest_record(const EventState& event);
/// A record of an event, made in two steps. Only the first step can fail. Without the second,
/// nothing is recorded.
class EventRecord {
public:
    /// Prepares a record that a submission of the stream makes.
    EventRecord(EventState& event, const StreamRecord& stream);
    /// Makes `done` the event's newest record.
    void make(CompletionRef done) noexcept;

private:
    EventState* event_;
    SharedRecord shared_;
};

}  // namespace heddle::detail::cpu
