// Stream and StreamRef, and waits for whole devices. Streams are closed in registry.cpp.
#include <heddle/device/synchronize_device.hpp>
#include <heddle/stream/stream.hpp>

#include <algorithm>
#include <vector>

#include <heddle/memory/detail/block.hpp>
#include <heddle/operation/observer.hpp>
#include <heddle/stream/current_stream.hpp>
#include <heddle/stream/detail/thread_state.hpp>
#include <heddle/stream/scope.hpp>

#include "core/base/host_function_mark.hpp"
#include "core/failure/told.hpp"
#include "core/stream/freed_memory.hpp"
#include "core/stream/notify.hpp"
#include "core/stream/order.hpp"
#include "core/stream/recorded_calls.hpp"
#include "core/stream/registry.hpp"
#include "core/stream/usable.hpp"
#include "core/stream/wait_for_device.hpp"

namespace heddle {

using detail::record_of;
using detail::StreamRecord;

namespace {
/// This thread's own streams, closed when it ends.
struct ThreadStreams {
    StreamRecord* streams[2][detail::max_devices] = {};
    ~ThreadStreams() {
        for (auto& kind : streams)
            for (StreamRecord*& stream : kind)
                if (stream != nullptr) detail::close_stream(*std::exchange(stream, nullptr));
    }
};
}  // namespace

int StreamRef::priority() const noexcept { return record_of(*state_).priority.load(); }
std::uint64_t StreamRef::id() const noexcept {
    return record_of(*state_).id.load(std::memory_order_relaxed);
}
std::string StreamRef::name() const try { return record_of(*state_).display_name(); } catch (...) {
    detail::rethrow_as_error("name", {});
}

void StreamRef::wait_stream(StreamRef other, Where where) const try {
    const detail::CallMark mark("wait_stream", where);
    detail::order_after_stream(record_of(*state_), record_of(*other.state_), where);
} catch (...) {
    detail::rethrow_as_error("wait_stream", where);
}

void StreamRef::wait_event(const Event& event, Where where) const try {
    const detail::CallMark mark("wait_event", where);
    detail::order_after_event(record_of(*state_), detail::Access::state(event, "wait_event", where),
                              where);
} catch (...) {
    detail::rethrow_as_error("wait_event", where);
}

Event StreamRef::record_event(EventOptions options, Where where) const try {
    const detail::CallMark mark("record_event", where);
    detail::check_usable(record_of(*state_), "record_event", where);
    Event event(device(), options, where);
    detail::record_event(detail::Access::state(event), record_of(*state_), where);
    return event;
} catch (...) {
    detail::rethrow_as_error("record_event", where);
}

void StreamRef::record_event(Event& event, Where where) const try {
    const detail::CallMark mark("record_event", where);
    detail::record_event(detail::Access::state(event, "record_event", where), record_of(*state_),
                         where);
} catch (...) {
    detail::rethrow_as_error("record_event", where);
}

void StreamRef::synchronize(Where where) const try {
    const detail::CallMark mark("synchronize", where);
    StreamRecord& stream = record_of(*state_);
    const std::uint64_t submitted = detail::block_until_idle(stream, where);
    if (stream.has(detail::stream_flag::poisoned | detail::stream_flag::fallible)) [[unlikely]] {
        detail::throw_known_failure(stream);
        stream.forget_dependencies(submitted);
    }
} catch (...) {
    detail::rethrow_as_error("synchronize", where);
}

bool StreamRef::is_complete(Where where) const try {
    StreamRecord& stream = record_of(*state_);
    detail::check_usable(stream, "is_complete", where);
    if (!detail::may_query(stream, "is_complete", where)) return false;
    detail::check_not_capturing(stream, "is_complete", where);
    const std::uint64_t covered = detail::noted_on(stream);
    if (!stream.backend->is_complete(stream, where)) {
        if (detail::wants_times()) [[unlikely]]
            detail::note_pending_query(stream, where);
        return false;
    }
    if (detail::is_observed()) detail::notify_query(stream, covered, where);
    detail::throw_known_failure(stream);
    return true;
} catch (...) {
    detail::rethrow_as_error("is_complete", where);
}

bool StreamRef::is_capturing(Where where) const try {
    StreamRecord& stream = record_of(*state_);
    detail::check_usable(stream, "is_capturing", where);
    if (stream.has(detail::stream_flag::recording) && detail::is_captured(stream)) return true;
    return stream.has(detail::stream_flag::capturing | detail::stream_flag::unseen) &&
           stream.backend->capture_id(stream) != 0;
} catch (...) {
    detail::rethrow_as_error("is_capturing", where);
}

bool StreamRef::is_poisoned() const try {
    StreamRecord& stream = record_of(*state_);
    return stream.has(detail::stream_flag::poisoned | detail::stream_flag::fallible) &&
           stream.known_failure() != nullptr;
} catch (...) {
    detail::rethrow_as_error("is_poisoned", {});
}

std::exception_ptr StreamRef::clear_error(Where where) const try {
    StreamRecord& stream = record_of(*state_);
    detail::check_usable(stream, "clear_error", where);
    detail::check_may_wait("clear_error", where);
    detail::check_not_capturing(stream, "clear_error", where);
    const std::uint64_t submitted = stream.submissions.load(std::memory_order_acquire);
    detail::HostWait wait("clear_error", stream, where);
    stream.backend->synchronize(stream, where);
    wait.end();
    const detail::Failure known = stream.known_failure();
    // Makes the exception before clearing the failure: if memory runs out here, the failure is not
    // lost.
    const std::exception_ptr told = known != nullptr ? detail::to_be_told(known) : nullptr;
    const detail::Failure failure = stream.backend->reset_failure(stream, submitted, where);
    if (failure == nullptr) return nullptr;
    detail::forget_past_failure(stream);
    detail::forget_failure_left(failure);
    if (failure != known) return detail::told(failure);
    failure->note_told();
    return told;
} catch (...) {
    detail::rethrow_as_error("clear_error", where);
}

Stream::Stream(Device device, StreamOptions options, Where where) try
    : StreamRef(detail::open_stream(device, options.priority, std::move(options.name), where)) {
} catch (...) {
    detail::rethrow_as_error("Stream", where);
}

Stream& Stream::operator=(Stream&& other) noexcept {
    if (this != &other) {
        detail::close_stream(record_of(*state_));
        state_ = std::exchange(other.state_, &detail::null_stream());
    }
    return *this;
}

Stream::~Stream() { detail::close_stream(record_of(*state_)); }

StreamRef Stream::per_thread(Device device) try {
    static thread_local ThreadStreams own;
    StreamRecord*& stream = own.streams[static_cast<int>(device.kind())][device.index()];
    if (stream == nullptr || stream->has(detail::stream_flag::forked))
        stream = &detail::open_stream(device, 0, device.name() + " per-thread", Where());
    return detail::Access::stream(*stream);
} catch (...) {
    detail::rethrow_as_error("per_thread", {});
}

void wait_stream(StreamRef waiter, StreamRef other, Where where) {
    waiter.wait_stream(other, where);
}
void wait_stream(StreamRef other, Where where) { current_stream().wait_stream(other, where); }
void wait_event(StreamRef waiter, const Event& event, Where where) {
    waiter.wait_event(event, where);
}
void wait_event(const Event& event, Where where) { current_stream().wait_event(event, where); }
Event record_event(StreamRef stream, EventOptions options, Where where) {
    return stream.record_event(options, where);
}
Event record_event(EventOptions options, Where where) {
    return current_stream().record_event(options, where);
}
void record_event(StreamRef stream, Event& event, Where where) {
    stream.record_event(event, where);
}
void record_event(Event& event, Where where) { event.record(where); }
void synchronize_stream(StreamRef stream, Where where) { stream.synchronize(where); }

namespace detail {
namespace {
/// Reports the failures that only these completions hold. Other threads may still hold the
/// completions, and release them later.
void report_unheld(const std::vector<CompletionRef>& waited) {
    for (const CompletionRef& done : waited) {
        const Failure failure = done->failure();
        if (failure == nullptr) continue;
        const auto held = std::ranges::count_if(
            waited, [&](const CompletionRef& other) { return other->failure() == failure; });
        if (failure.use_count() == held + 1) report_untold(*failure);
    }
}
}  // namespace

void wait_for_device(Device device, const SourceLocation& where) {
    Backend& backend = backend_of(device.kind());
    // A branch's failure is also that of its base. So the completions of both are kept to the end.
    std::vector<CompletionRef> waited;
    backend.synchronize_device(device.index(), waited, where);
    bool has_failed_branch = false;
    for_each_stream([&](StreamRecord& stream) {
        has_failed_branch |= stream.device == device && stream.has(stream_flag::internal) &&
                             !stream.has(stream_flag::dead | stream_flag::forked) &&
                             stream.gone_at.load() != 0 &&
                             stream.has(stream_flag::poisoned | stream_flag::fallible) &&
                             stream.known_failure() != nullptr;
    });
    if (has_failed_branch) [[unlikely]] {
        TrimStep::run_all(device);  // closes the streams of joined branches that have failed
        backend.synchronize_device(device.index(), waited, where);
    }
    report_unheld(waited);
}
}  // namespace detail

void synchronize_device(Device device, Where where) try {
    const detail::CallMark mark("synchronize_device", where);
    detail::check_may_wait("synchronize_device", where);
    detail::for_each_stream([&](StreamRecord& stream) {
        if (stream.device != device ||
            stream.has(detail::stream_flag::dead | detail::stream_flag::forked))
            return;
        // Work in the calling thread's own captures does not run before their graphs are launched,
        // so waiting for it is an error. Does not wait for captures of other threads, but for work
        // that was enqueued on their streams before the capture.
        if (detail::is_captured_here(stream))
            detail::check_not_capturing(stream, "synchronize_device", where);
        else detail::send_batch_of(stream, where);
    });
    detail::free_unfreed_blocks();
    detail::HostWait wait("synchronize_device", device, where);
    detail::wait_for_device(device, where);
    wait.end();
    detail::Failure first;
    detail::for_each_stream([&](StreamRecord& stream) {
        if (first == nullptr && stream.device == device &&
            !stream.has(detail::stream_flag::dead | detail::stream_flag::forked |
                        detail::stream_flag::internal) &&
            stream.has(detail::stream_flag::poisoned | detail::stream_flag::fallible))
            first = stream.known_failure();
    });
    if (first != nullptr) detail::throw_failure(first);
} catch (...) {
    detail::rethrow_as_error("synchronize_device", where);
}

void synchronize(Where where) try {
    bool used[2][detail::max_devices] = {};
    detail::for_each_stream([&](StreamRecord& stream) {
        if (!stream.has(detail::stream_flag::forked))
            used[static_cast<int>(stream.device.kind())][stream.device.index()] = true;
    });
    // CPU devices first and last, because work of each kind of device may wait for work of the
    // other.
    for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::cuda, DeviceKind::cpu})
        for (int i = 0; i < detail::max_devices; ++i)
            if (used[static_cast<int>(kind)][i])
                synchronize_device(detail::Access::device(kind, i), where);
} catch (...) {
    detail::rethrow_as_error("synchronize", where);
}

}  // namespace heddle
