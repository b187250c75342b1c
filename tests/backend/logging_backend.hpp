// A backend that logs each call and forwards it to the library's CPU backend. Shows how to derive
// from Backend, and that core uses a backend only through this interface.
#pragma once

#include "backend/call_log.hpp"
#include "core/seam/backend.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace heddle_test {

namespace detail = heddle::detail;

/// Logs each call, and forwards it to library_cpu_backend(). Thread-safe.
class LoggingBackend final : public detail::Backend {
    using Where = heddle::SourceLocation;
    using Stream = detail::StreamRecord;
    using Event = detail::EventState;
    using Use = detail::StreamUse;

public:
    CallLog log;

    constexpr LoggingBackend() = default;

    int device_count() noexcept override;
    std::string unavailable_reason() override;
    heddle::DeviceInfo describe(int device) override;
    std::size_t free_memory(int device) override;
    bool can_access_peer(int device, int other) override;
    bool can_access_pool(int device, int other) override;
    int concurrent_queues(int device) override;
    bool peer_reachable(int device, int memory_device) noexcept override;
    void set_access(detail::AccessKind kind, int device, int peer, bool on, const Where&) override;
    bool has_access(detail::AccessKind kind, int device, int peer) noexcept override;
    detail::PoolUsage pool_usage(int device, const Where& where) override;
    void reset_pool_high_water(int device, const Where& where) override;
    std::size_t pool_release_threshold(int device, const Where& where) override;
    void set_pool_release_threshold(int device, std::size_t bytes, const Where& where) override;
    void trim_pool(int device, std::size_t keep, const Where& where) override;
    void preload(int device, const void* tag, const Where& where) override;

    void reserve_streams(int device, std::size_t count, const Where& where) override;
    void open_stream(Stream& stream, const Where& where) override;
    void close_stream(Stream& stream) noexcept override;
    void synchronize(Stream& stream, const Where& where) override;
    bool is_complete(Stream& stream, const Where& where) override;
    std::uint64_t position(Stream& stream) noexcept override;
    std::uint64_t reached(Stream& stream) noexcept override;
    void synchronize_device(int device, std::vector<detail::CompletionRef>& waited,
                            const Where& where) override;
    std::uint64_t capture_id(Stream& stream) override;
    detail::Failure reset_failure(Stream& stream, std::uint64_t submissions, const Where&) override;

    void wait_stream(Stream& waiter, Stream& other, const Where& where) override;
    void open_event(Event& event, const Where& where) override;
    void close_event(Event& event) noexcept override;
    void forget_record(Event& event) noexcept override;
    void record(Event& event, Stream& stream, const Where& where) override;
    void wait(Stream& waiter, Event& event, const Where& where) override;
    bool is_complete(Event& event, const Where& where) override;
    void synchronize(Event& event, const Where& where) override;
    double elapsed_ms(Event& start, Event& end, const Where& where) override;
    detail::Failure failure_of(Event& event) override;
    heddle::EventHandle export_event(Event& event, const Where& where) override;
    void import_event(Event& event, const heddle::EventHandle& handle, const Where&) override;

    void signal(Event& event, detail::CompletionRef done, const Where& where) override;
    detail::CompletionRef completion_of(Event& event, const Where& where) override;
    void wait_completion(Stream& waiter, detail::CompletionRef done, const Where& where) override;
    void signal_use(const Use& use, detail::CompletionRef done) override;
    void wait_use(Stream& waiter, const Use& use, const Where& where) override;
    void synchronize_use(const Use& use, const Where& where) override;
    bool finish_enqueues(Stream& stream) noexcept override;
    void count_native(Stream& stream) noexcept override;

    std::chrono::nanoseconds ask_progress(std::chrono::nanoseconds most) noexcept override;
    bool count_steps(Stream& stream, detail::StreamCounts& to) noexcept override;
    detail::Looked look(Stream& stream, detail::StreamLook& to) override;
    bool list_shared_waits(std::vector<detail::SharedWait>& to) override;
    int worker_count() noexcept override;

    void enqueue(Stream& stream, const detail::OpType& type, void* self, std::size_t count,
                 const Where& where) override;
    void launch(Stream& stream, const detail::LaunchCall& call) override;
    void launch_timed(Stream& stream, const detail::LaunchCall& call, std::uint64_t id) override;
    void check_grid(Stream& stream, const detail::WorkType& type, const detail::GridHead& grid,
                    const detail::PassedOptions& options, const Where& where) override;
    void copy(Stream& stream, const detail::Operand& to, const detail::Operand& from,
              const Where& where) override;
    void fill(Stream& stream, const detail::Operand& to, const void* value, std::size_t size,
              const Where& where) override;

    std::shared_ptr<detail::GraphExec> instantiate(const detail::GraphData& graph,
                                                   const Where& where) override;
    std::unique_ptr<detail::ForeignCapture> capture_foreign(Stream& stream, bool is_held,
                                                            heddle::CaptureMode mode,
                                                            const Where& where) override;

    void* allocate(Stream& stream, std::size_t bytes, const Where& where) override;
    bool free(void* data, std::size_t bytes, int device, const Use* users,
              std::size_t user_count) noexcept override;
    detail::Allocated allocate_pinned(std::size_t bytes, const Where& where) override;
    bool free_pinned(void* data, std::size_t bytes, const Use* users,
                     std::size_t user_count) noexcept override;
    detail::Allocated allocate_shared(int device, std::size_t bytes, const Where&) override;
    void export_shared(const void* base, heddle::ArrayHandle& handle, const Where&) override;
    void* import_shared(int device, const heddle::ArrayHandle& handle, const Where&) override;
    bool free_shared(const detail::SharedMemory& memory, const Use* users,
                     std::size_t user_count) noexcept override;
    void tell_ended_runs() noexcept override;
    std::string begin_records() override;
    void end_records() noexcept override;
    detail::RecordCounts record_counts() noexcept override;
    bool classify(const void* data, detail::MemorySpace& space) noexcept override;
    void poll_outstanding() noexcept override;
    bool help_at_exit(const detail::Completion& done) noexcept override;
    void after_fork() noexcept override;
    void register_host(void* data, std::size_t bytes, const Where& where) override;
    void unregister_host(void* data, std::size_t bytes) noexcept override;
};

/// Returns the object that heddle_backend_tests tests.
LoggingBackend& logging_backend() noexcept;

}  // namespace heddle_test
