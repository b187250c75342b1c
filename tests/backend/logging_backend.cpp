#include "backend/logging_backend.hpp"

#include "backend/backend_under_test.hpp"
#include "core/base/made_once.hpp"
#include <heddle/memory/interprocess.hpp>
#include <heddle/recording/capture.hpp>

#include <utility>

namespace heddle_test {

static_assert(seam_calls == HEDDLE_TEST_BACKEND_FUNCTIONS,
              "Backend has functions that LoggingBackend does not forward: add them");

namespace {

using Stream = detail::StreamRecord;

constinit detail::NeverDestroyed<LoggingBackend> instance;

/// Logs a call, and returns the backend that executes it.
detail::Backend& logged(SeamCall call, std::uint64_t stream_id) noexcept {
    logging_backend().log.add(call, stream_id);
    return library_cpu_backend();
}
detail::Backend& logged(SeamCall call) noexcept { return logged(call, 0); }
detail::Backend& logged(SeamCall call, const Stream& stream) noexcept {
    return logged(call, stream.id.load(std::memory_order_relaxed));
}

}  // namespace

LoggingBackend& logging_backend() noexcept { return instance.get(); }
detail::Backend& backend_under_test() noexcept { return instance.get(); }

// The rest forwards. Where `Stream` is a parameter, the log has its id.

int LoggingBackend::device_count() noexcept {
    return logged(SeamCall::device_count).device_count();
}
std::string LoggingBackend::unavailable_reason() {
    return logged(SeamCall::unavailable_reason).unavailable_reason();
}
heddle::DeviceInfo LoggingBackend::describe(int device) {
    return logged(SeamCall::describe).describe(device);
}
std::size_t LoggingBackend::free_memory(int device) {
    return logged(SeamCall::free_memory).free_memory(device);
}
bool LoggingBackend::can_access_peer(int device, int other) {
    return logged(SeamCall::can_access_peer).can_access_peer(device, other);
}
bool LoggingBackend::can_access_pool(int device, int other) {
    return logged(SeamCall::can_access_pool).can_access_pool(device, other);
}
int LoggingBackend::concurrent_queues(int device) {
    return logged(SeamCall::concurrent_queues).concurrent_queues(device);
}
bool LoggingBackend::peer_reachable(int device, int memory_device) noexcept {
    return logged(SeamCall::peer_reachable).peer_reachable(device, memory_device);
}
void LoggingBackend::set_access(detail::AccessKind kind, int device, int peer, bool on,
                                const Where& where) {
    logged(SeamCall::set_access).set_access(kind, device, peer, on, where);
}
bool LoggingBackend::has_access(detail::AccessKind kind, int device, int peer) noexcept {
    return logged(SeamCall::has_access).has_access(kind, device, peer);
}
detail::PoolUsage LoggingBackend::pool_usage(int device, const Where& where) {
    return logged(SeamCall::pool_usage).pool_usage(device, where);
}
void LoggingBackend::reset_pool_high_water(int device, const Where& where) {
    logged(SeamCall::reset_pool_high_water).reset_pool_high_water(device, where);
}
std::size_t LoggingBackend::pool_release_threshold(int device, const Where& where) {
    return logged(SeamCall::pool_release_threshold).pool_release_threshold(device, where);
}
void LoggingBackend::set_pool_release_threshold(int device, std::size_t bytes, const Where& where) {
    logged(SeamCall::set_pool_release_threshold).set_pool_release_threshold(device, bytes, where);
}
void LoggingBackend::trim_pool(int device, std::size_t keep, const Where& where) {
    logged(SeamCall::trim_pool).trim_pool(device, keep, where);
}
void LoggingBackend::preload(int device, const void* tag, const Where& where) {
    logged(SeamCall::preload).preload(device, tag, where);
}
void LoggingBackend::reserve_streams(int device, std::size_t count, const Where& where) {
    logged(SeamCall::reserve_streams).reserve_streams(device, count, where);
}
void LoggingBackend::open_stream(Stream& stream, const Where& where) {
    logged(SeamCall::open_stream, stream).open_stream(stream, where);
}
void LoggingBackend::close_stream(Stream& stream) noexcept {
    logged(SeamCall::close_stream, stream).close_stream(stream);
}
void LoggingBackend::synchronize(Stream& stream, const Where& where) {
    logged(SeamCall::synchronize_stream, stream).synchronize(stream, where);
}
bool LoggingBackend::is_complete(Stream& stream, const Where& where) {
    return logged(SeamCall::is_stream_complete, stream).is_complete(stream, where);
}
std::uint64_t LoggingBackend::position(Stream& stream) noexcept {
    return logged(SeamCall::position, stream).position(stream);
}
std::uint64_t LoggingBackend::reached(Stream& stream) noexcept {
    return logged(SeamCall::reached, stream).reached(stream);
}
void LoggingBackend::synchronize_device(int device, std::vector<detail::CompletionRef>& waited,
                                        const Where& where) {
    logged(SeamCall::synchronize_device).synchronize_device(device, waited, where);
}
std::uint64_t LoggingBackend::capture_id(Stream& stream) {
    return logged(SeamCall::capture_id, stream).capture_id(stream);
}
detail::Failure LoggingBackend::reset_failure(Stream& stream, std::uint64_t submissions,
                                              const Where& where) {
    return logged(SeamCall::reset_failure, stream).reset_failure(stream, submissions, where);
}
void LoggingBackend::wait_stream(Stream& waiter, Stream& other, const Where& where) {
    logged(SeamCall::wait_stream, waiter).wait_stream(waiter, other, where);
}
void LoggingBackend::open_event(Event& event, const Where& where) {
    logged(SeamCall::open_event).open_event(event, where);
}
void LoggingBackend::close_event(Event& event) noexcept {
    logged(SeamCall::close_event).close_event(event);
}
void LoggingBackend::forget_record(Event& event) noexcept {
    logged(SeamCall::forget_record).forget_record(event);
}
void LoggingBackend::record(Event& event, Stream& stream, const Where& where) {
    logged(SeamCall::record, stream).record(event, stream, where);
}
void LoggingBackend::wait(Stream& waiter, Event& event, const Where& where) {
    logged(SeamCall::wait, waiter).wait(waiter, event, where);
}
bool LoggingBackend::is_complete(Event& event, const Where& where) {
    return logged(SeamCall::is_event_complete).is_complete(event, where);
}
void LoggingBackend::synchronize(Event& event, const Where& where) {
    logged(SeamCall::synchronize_event).synchronize(event, where);
}
double LoggingBackend::elapsed_ms(Event& start, Event& end, const Where& where) {
    return logged(SeamCall::elapsed_ms).elapsed_ms(start, end, where);
}
detail::Failure LoggingBackend::failure_of(Event& event) {
    return logged(SeamCall::failure_of).failure_of(event);
}
heddle::EventHandle LoggingBackend::export_event(Event& event, const Where& where) {
    return logged(SeamCall::export_event).export_event(event, where);
}
void LoggingBackend::import_event(Event& event, const heddle::EventHandle& handle,
                                  const Where& where) {
    logged(SeamCall::import_event).import_event(event, handle, where);
}
void LoggingBackend::signal(Event& event, detail::CompletionRef done, const Where& where) {
    logged(SeamCall::signal).signal(event, std::move(done), where);
}
detail::CompletionRef LoggingBackend::completion_of(Event& event, const Where& where) {
    return logged(SeamCall::completion_of).completion_of(event, where);
}
void LoggingBackend::wait_completion(Stream& waiter, detail::CompletionRef done,
                                     const Where& where) {
    logged(SeamCall::wait_completion, waiter).wait_completion(waiter, std::move(done), where);
}
void LoggingBackend::signal_use(const Use& use, detail::CompletionRef done) {
    logged(SeamCall::signal_use, use.id).signal_use(use, std::move(done));
}
void LoggingBackend::wait_use(Stream& waiter, const Use& use, const Where& where) {
    logged(SeamCall::wait_use, use.id).wait_use(waiter, use, where);
}
void LoggingBackend::synchronize_use(const Use& use, const Where& where) {
    logged(SeamCall::synchronize_use, use.id).synchronize_use(use, where);
}
bool LoggingBackend::finish_enqueues(Stream& stream) noexcept {
    return logged(SeamCall::finish_enqueues, stream).finish_enqueues(stream);
}
void LoggingBackend::count_native(Stream& stream) noexcept {
    logged(SeamCall::count_native, stream).count_native(stream);
}
std::chrono::nanoseconds LoggingBackend::ask_progress(std::chrono::nanoseconds most) noexcept {
    return logged(SeamCall::ask_progress).ask_progress(most);
}
bool LoggingBackend::count_steps(Stream& stream, detail::StreamCounts& to) noexcept {
    return logged(SeamCall::count_steps, stream).count_steps(stream, to);
}
detail::Looked LoggingBackend::look(Stream& stream, detail::StreamLook& to) {
    return logged(SeamCall::look, stream).look(stream, to);
}
bool LoggingBackend::list_shared_waits(std::vector<detail::SharedWait>& to) {
    return logged(SeamCall::list_shared_waits).list_shared_waits(to);
}
int LoggingBackend::worker_count() noexcept {
    return logged(SeamCall::worker_count).worker_count();
}
void LoggingBackend::enqueue(Stream& stream, const detail::OpType& type, void* self,
                             std::size_t count, const Where& where) {
    logged(SeamCall::enqueue, stream).enqueue(stream, type, self, count, where);
}
void LoggingBackend::launch(Stream& stream, const detail::LaunchCall& call) {
    logged(SeamCall::launch, stream).launch(stream, call);
}
void LoggingBackend::launch_timed(Stream& stream, const detail::LaunchCall& call,
                                  std::uint64_t id) {
    logged(SeamCall::launch_timed, stream).launch_timed(stream, call, id);
}
void LoggingBackend::check_grid(Stream& stream, const detail::WorkType& type,
                                const detail::GridHead& grid, const detail::PassedOptions& options,
                                const Where& where) {
    logged(SeamCall::check_grid, stream).check_grid(stream, type, grid, options, where);
}
void LoggingBackend::copy(Stream& stream, const detail::Operand& to, const detail::Operand& from,
                          const Where& where) {
    logged(SeamCall::copy, stream).copy(stream, to, from, where);
}
void LoggingBackend::fill(Stream& stream, const detail::Operand& to, const void* value,
                          std::size_t size, const Where& where) {
    logged(SeamCall::fill, stream).fill(stream, to, value, size, where);
}
std::shared_ptr<detail::GraphExec> LoggingBackend::instantiate(const detail::GraphData& graph,
                                                               const Where& where) {
    return logged(SeamCall::instantiate).instantiate(graph, where);
}
std::unique_ptr<detail::ForeignCapture> LoggingBackend::capture_foreign(Stream& stream,
                                                                        bool is_held,
                                                                        heddle::CaptureMode mode,
                                                                        const Where& where) {
    return logged(SeamCall::capture_foreign, stream).capture_foreign(stream, is_held, mode, where);
}
void* LoggingBackend::allocate(Stream& stream, std::size_t bytes, const Where& where) {
    return logged(SeamCall::allocate, stream).allocate(stream, bytes, where);
}
bool LoggingBackend::free(void* data, std::size_t bytes, int device, const Use* users,
                          std::size_t user_count) noexcept {
    return logged(SeamCall::free).free(data, bytes, device, users, user_count);
}
detail::Allocated LoggingBackend::allocate_pinned(std::size_t bytes, const Where& where) {
    return logged(SeamCall::allocate_pinned).allocate_pinned(bytes, where);
}
bool LoggingBackend::free_pinned(void* data, std::size_t bytes, const Use* users,
                                 std::size_t user_count) noexcept {
    return logged(SeamCall::free_pinned).free_pinned(data, bytes, users, user_count);
}
detail::Allocated LoggingBackend::allocate_shared(int device, std::size_t bytes,
                                                  const Where& where) {
    return logged(SeamCall::allocate_shared).allocate_shared(device, bytes, where);
}
void LoggingBackend::export_shared(const void* base, heddle::ArrayHandle& handle,
                                   const Where& where) {
    logged(SeamCall::export_shared).export_shared(base, handle, where);
}
void* LoggingBackend::import_shared(int device, const heddle::ArrayHandle& handle,
                                    const Where& where) {
    return logged(SeamCall::import_shared).import_shared(device, handle, where);
}
bool LoggingBackend::free_shared(const detail::SharedMemory& memory, const Use* users,
                                 std::size_t user_count) noexcept {
    return logged(SeamCall::free_shared).free_shared(memory, users, user_count);
}
void LoggingBackend::tell_ended_runs() noexcept {
    logged(SeamCall::tell_ended_runs).tell_ended_runs();
}
std::string LoggingBackend::begin_records() {
    return logged(SeamCall::begin_records).begin_records();
}
void LoggingBackend::end_records() noexcept { logged(SeamCall::end_records).end_records(); }
detail::RecordCounts LoggingBackend::record_counts() noexcept {
    return logged(SeamCall::record_counts).record_counts();
}
bool LoggingBackend::classify(const void* data, detail::MemorySpace& space) noexcept {
    return logged(SeamCall::classify).classify(data, space);
}
void LoggingBackend::poll_outstanding() noexcept {
    logged(SeamCall::poll_outstanding).poll_outstanding();
}
bool LoggingBackend::help_at_exit(const detail::Completion& done) noexcept {
    return logged(SeamCall::help_at_exit).help_at_exit(done);
}
void LoggingBackend::after_fork() noexcept { logged(SeamCall::after_fork).after_fork(); }
void LoggingBackend::register_host(void* data, std::size_t bytes, const Where& where) {
    logged(SeamCall::register_host).register_host(data, bytes, where);
}
void LoggingBackend::unregister_host(void* data, std::size_t bytes) noexcept {
    logged(SeamCall::unregister_host).unregister_host(data, bytes);
}

}  // namespace heddle_test
