// poisoned_streams(), clear_errors() and on_completion().
#include <heddle/launch/on_completion.hpp>
#include <heddle/stream/failures.hpp>

#include <algorithm>
#include <mutex>

#include <heddle/launch/detail/work.hpp>
#include <heddle/operation/observer.hpp>
#include <heddle/stream/detail/thread_state.hpp>

#include "core/base/host_function_mark.hpp"
#include "core/base/report.hpp"
#include "core/failure/told.hpp"
#include "core/stream/notify.hpp"
#include "core/stream/recorded_calls.hpp"
#include "core/stream/registry.hpp"
#include "core/stream/usable.hpp"
#include "core/stream/wait_for_device.hpp"

namespace heddle {

namespace detail {

namespace {

struct Found {
    StreamRecord* stream;
    std::uint64_t id;
    std::string name;
    std::uint64_t submissions;
};

/// Returns the open streams of the device. Other threads may open and close streams during the
/// call.
std::vector<Found> open_streams(Device device) {
    constexpr std::uint32_t not_asked =
        stream_flag::dead | stream_flag::forked | stream_flag::internal;
    std::vector<Found> found;
    for_each_stream([&](StreamRecord& stream) {
        if (stream.has(not_asked)) return;
        // open_stream() sets names under this lock.
        const std::lock_guard lock(stream.failure_mutex);
        if (stream.has(not_asked) || stream.device != device) return;
        found.push_back(
            {&stream, stream.id.load(), stream.display_name(), stream.submissions.load()});
    });
    return found;
}

Failure failure_of(const Found& one) {
    Failure failure = one.stream->known_failure();
    return one.stream->id.load() == one.id ? failure : nullptr;
}

void list(Device device, std::vector<PoisonedStream>& to) {
    for (Found& one : open_streams(device)) {
        const Failure failure = failure_of(one);
        if (failure == nullptr) continue;
        to.push_back(
            {Access::stream(*one.stream), std::move(one.name), to_be_told(failure, one.stream)});
        failure->note_told();
    }
}

void check_none_captures(Device device, const SourceLocation& where) {
    for_each_stream([&](StreamRecord& stream) {
        if (!stream.has(stream_flag::dead | stream_flag::forked) && stream.device == device)
            check_not_capturing(stream, "clear_errors", where);
    });
}

void clear(Device device, std::vector<PoisonedStream>& cleared, const SourceLocation& where) {
    Backend& backend = backend_of(device.kind());
    for_each_stream([&](StreamRecord& stream) {
        if (!stream.has(stream_flag::dead | stream_flag::forked) && stream.device == device)
            send_batch_of(stream, where);
    });
    std::vector<Found> all = open_streams(device);
    // The report hook receives the failures of closed streams.
    HostWait wait("clear_errors", device, where);
    wait_for_device(device, where);
    wait.end();
    cleared.reserve(cleared.size() + all.size());
    for (Found& one : all) {
        const Failure known = failure_of(one);
        if (known == nullptr) continue;
        // Makes the exception before clearing the failure: if memory runs out here, the failure is
        // not lost.
        std::exception_ptr error = to_be_told(known, one.stream);
        const Failure failure = backend.reset_failure(*one.stream, one.submissions, where);
        if (failure == nullptr) continue;
        if (failure == known) failure->note_told();
        else error = told(failure, one.stream);
        forget_past_failure(*one.stream);
        forget_failure_left(failure);
        cleared.push_back({Access::stream(*one.stream), std::move(one.name), std::move(error)});
    }
    forget_failures_left(device);
}

std::vector<Device> used_devices() {
    std::vector<Device> used;
    for_each_stream([&](StreamRecord& stream) {
        if (!stream.has(stream_flag::dead | stream_flag::forked) &&
            std::ranges::find(used, stream.device) == used.end())
            used.push_back(stream.device);
    });
    return used;
}

}  // namespace

void give_completion(StreamState& state, const WorkType& type, void* self,
                     const SourceLocation& where) try {
    const CallMark mark("on_completion", where);
    submit_host_function(state, type, self, {}, where);
} catch (...) {
    detail::rethrow_as_error("on_completion", where);
}

}  // namespace detail

std::vector<PoisonedStream> poisoned_streams(Device device) try {
    std::vector<PoisonedStream> all;
    detail::list(device, all);
    return all;
} catch (...) {
    detail::rethrow_as_error("poisoned_streams", {});
}

std::vector<PoisonedStream> poisoned_streams() try {
    std::vector<PoisonedStream> all;
    for (const Device device : detail::used_devices()) detail::list(device, all);
    return all;
} catch (...) {
    detail::rethrow_as_error("poisoned_streams", {});
}

std::vector<PoisonedStream> clear_errors(Device device, Where where) try {
    detail::check_may_wait("clear_errors", where);
    detail::check_none_captures(device, where);
    std::vector<PoisonedStream> cleared;
    detail::clear(device, cleared, where);
    return cleared;
} catch (...) {
    detail::rethrow_as_error("clear_errors", where);
}

std::vector<PoisonedStream> clear_errors(Where where) try {
    detail::check_may_wait("clear_errors", where);
    const std::vector<Device> used = detail::used_devices();
    for (const Device device : used) detail::check_none_captures(device, where);
    std::vector<PoisonedStream> cleared;
    std::exception_ptr lost;
    for (const Device device : used) {
        try {
            detail::clear(device, cleared, where);
        } catch (const DeviceLost&) {
            lost = std::current_exception();
        }
    }
    if (lost != nullptr) {
        // The exception leaves the caller without the list, so these failures are reported here.
        for (const PoisonedStream& one : cleared) detail::report(one.failure);
        std::rethrow_exception(lost);
    }
    return cleared;
} catch (...) {
    detail::rethrow_as_error("clear_errors", where);
}

}  // namespace heddle
