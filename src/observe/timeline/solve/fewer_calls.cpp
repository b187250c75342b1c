#include "timeline/solve/fewer_calls.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "timeline/solve/pageable_copies.hpp"
#include "timeline/solve/trace_parts.hpp"

namespace heddle::detail {

namespace {

enum class Calls : std::size_t { on_cuda, on_cpu, pageable, count_ };

Calls kind_of(const Trace& trace, TraceIndex op, const std::vector<bool>& is_pageable) {
    if (is_pageable[op]) return Calls::pageable;
    const TraceIndex device = device_of(trace, trace.ops[op].stream);
    return device != no_index && trace.devices[device].is_cuda ? Calls::on_cuda : Calls::on_cpu;
}

const char* text_of(Calls kind) {
    switch (kind) {
    case Calls::pageable:
        return "Graphs and batches cannot contain copies of pageable memory: use pinned() memory.";
    case Calls::on_cpu:
        return "Use larger operations, or a graph, to make fewer calls; on CPU devices, a batch "
               "records nothing unless its option on_cpu is set.";
    case Calls::on_cuda:
    case Calls::count_: break;
    }
    return "Use a graph or a batch to make fewer calls.";
}

}  // namespace

std::string fewer_calls_text(const Trace& trace, TraceIndex op) {
    return text_of(kind_of(trace, op, find_pageable_copies(trace)));
}

std::string fewer_calls_text(const Trace& trace) {
    const std::vector<bool> is_pageable = find_pageable_copies(trace);
    std::array<Moment, static_cast<std::size_t>(Calls::count_)> times{};
    for (TraceIndex i = 0; i < trace.ops.size(); ++i) {
        const TraceOp& op = trace.ops[i];
        if (!is_work(op) || !is_known(op.call_begin) || !is_known(op.call_end)) continue;
        times[static_cast<std::size_t>(kind_of(trace, i, is_pageable))] +=
            op.call_end - op.call_begin;
    }
    return text_of(static_cast<Calls>(std::ranges::max_element(times) - times.begin()));
}

}  // namespace heddle::detail
