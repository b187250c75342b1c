#include "timeline/solve/slow_calls.hpp"

#include <algorithm>

#include "timeline/solve/pageable_copies.hpp"
#include "timeline/solve/trace_parts.hpp"

namespace heddle::detail {

namespace {

constexpr Moment least_slow = 50'000;  // ns
constexpr Moment times_usual = 10;
/// The assumed usual time of a launch, for programs that launch each kernel only once. On an H200,
/// a launch takes 2.6 us.
constexpr Moment usual_launch = 5'000;  // ns

/// Returns the duration of the call, or unknown_moment.
Moment duration_of(const TraceOp& op) {
    if (op.mode != OpMode::run || !is_known(op.call_begin) || !is_known(op.call_end) ||
        op.call_end < op.call_begin)
        return unknown_moment;
    return op.call_end - op.call_begin;
}

std::uint64_t key_of(TraceIndex device, TraceIndex name) {
    return std::uint64_t{device} << 32 | name;
}

}  // namespace

SlowCalls::SlowCalls(const Trace& trace)
    : trace_(trace), is_pageable_(find_pageable_copies(trace)) {
    find_kernels();
    find_usual_times();
}

void SlowCalls::find_kernels() {
    for (std::size_t i = 0; i < trace_.ops.size(); ++i) {
        const TraceOp& op = trace_.ops[i];
        const Moment duration = duration_of(op);
        const TraceIndex device = device_of(trace_, op.stream);
        if (op.kind != OpKind::launch || device == no_index || !is_known(duration)) continue;
        Kernel& kernel = kernels_[key_of(device, op.name)];
        if (kernel.first == no_index) {
            kernel.first = static_cast<TraceIndex>(i);
        } else {
            kernel.fastest_later =
                kernel.has_later ? std::min(kernel.fastest_later, duration) : duration;
            kernel.has_later = true;
        }
    }
}

void SlowCalls::find_usual_times() {
    std::vector<std::vector<Moment>> calls(trace_.devices.size() * op_kinds);
    std::vector<bool> is_launched(trace_.devices.size());
    for (std::size_t i = 0; i < trace_.ops.size(); ++i) {
        const TraceOp& op = trace_.ops[i];
        const Moment duration = duration_of(op);
        const TraceIndex device = device_of(trace_, op.stream);
        const auto kind = static_cast<std::size_t>(op.kind);
        if (device == no_index || kind >= op_kinds || !is_known(duration) || is_pageable_[i])
            continue;
        if (op.kind == OpKind::launch) {
            is_launched[device] = true;
            if (kernels_.at(key_of(device, op.name)).first == i) continue;
        }
        calls[device * op_kinds + kind].push_back(duration);
    }
    usual_.assign(calls.size(), -1);
    for (std::size_t i = 0; i < calls.size(); ++i) {
        if (calls[i].empty()) continue;
        const auto tenth = calls[i].begin() + static_cast<std::ptrdiff_t>(calls[i].size() / 10);
        std::nth_element(calls[i].begin(), tenth, calls[i].end());
        usual_[i] = *tenth;
    }
    for (std::size_t device = 0; device < is_launched.size(); ++device) {
        Moment& usual = usual_[device * op_kinds + static_cast<std::size_t>(OpKind::launch)];
        if (is_launched[device] && usual < 0) usual = usual_launch;
    }
}

std::optional<GapReason> SlowCalls::reason_of(TraceIndex index) const {
    if (index >= trace_.ops.size()) return std::nullopt;
    const TraceOp& op = trace_.ops[index];
    const Moment duration = duration_of(op);
    const TraceIndex device = device_of(trace_, op.stream);
    const auto kind = static_cast<std::size_t>(op.kind);
    if (device == no_index || kind >= op_kinds || duration < least_slow || is_pageable_[index])
        return std::nullopt;
    // On a CPU device, no queue is ever full and no code must be loaded. So a call is slow only if
    // the thread lost its core, which does not count as a reason.
    if (!trace_.devices[device].is_cuda) return std::nullopt;
    const Moment usual = usual_[device * op_kinds + kind];
    if (usual < 0 || duration / times_usual <= usual) return std::nullopt;
    if (op.kind != OpKind::launch) return GapReason::queue_full;
    const auto kernel = kernels_.find(key_of(device, op.name));
    const bool is_first = kernel != kernels_.end() && kernel->second.first == index;
    const bool later_is_fast =
        is_first && (!kernel->second.has_later || kernel->second.fastest_later < duration / 5);
    return later_is_fast ? GapReason::loading_code : GapReason::queue_full;
}

}  // namespace heddle::detail
