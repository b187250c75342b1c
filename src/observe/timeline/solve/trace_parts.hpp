// Reads parts of traces that may be damaged or cut. Values out of range count as unknown.
#pragma once

#include <algorithm>
#include <string>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// A moment further from 0 than this (over a year) counts as damage. So differences and sums of
/// moments do not overflow.
inline constexpr Moment furthest_moment = Moment{1} << 55;

inline bool is_known(Moment moment) noexcept {
    return -furthest_moment <= moment && moment <= furthest_moment;
}

/// Returns the moment, or unknown_moment if it is too far from 0. An unknown moment is less than
/// any other, so std::max() selects a known one.
inline Moment sane(Moment moment) noexcept { return is_known(moment) ? moment : unknown_moment; }

inline const std::string& text_of(const Trace& trace, TraceIndex string) noexcept {
    static const std::string empty;
    return string < trace.strings.size() ? trace.strings[string] : empty;
}

/// Returns the device of a stream, or no_index if unknown.
inline TraceIndex device_of(const Trace& trace, TraceIndex stream) noexcept {
    if (stream >= trace.streams.size()) return no_index;
    const TraceIndex device = trace.streams[stream].device;
    return device < trace.devices.size() ? device : no_index;
}

inline Moment clock_error_of(const Trace& trace, TraceIndex stream) noexcept {
    const TraceIndex device = device_of(trace, stream);
    if (device == no_index || !is_known(trace.devices[device].clock_error)) return 0;
    return std::max<Moment>(trace.devices[device].clock_error, 0);
}

/// Returns whether the operation runs on its stream's device.
inline bool is_work(const TraceOp& op) noexcept {
    if (op.mode != OpMode::run) return false;
    switch (op.kind) {
    case OpKind::launch:
    case OpKind::graph_launch:
    case OpKind::host_function:
    case OpKind::copy:
    case OpKind::fill:
    case OpKind::native:
    case OpKind::collective: return true;
    case OpKind::allocate:
    case OpKind::free: return is_known(op.start) || is_known(op.end);
    default: return false;
    }
}

/// Returns whether the thread waited in the operation: in a synchronisation, within another call,
/// or by polling.
inline bool is_host_wait(const TraceOp& op) noexcept {
    return op.mode == OpMode::run && (op.kind == OpKind::synchronize || op.kind == OpKind::blocked);
}

/// Returns whether a stream's operations have no times because its device has no clock.
inline bool has_no_clock(const Trace& trace, TraceIndex stream) noexcept {
    const TraceIndex device = device_of(trace, stream);
    return device == no_index || trace.devices[device].clock == TraceClock::none;
}

}  // namespace heddle::detail
