#include "timeline/solve/lone_streams.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <span>

#include "timeline/solve/trace_parts.hpp"

namespace heddle::detail {

namespace {

/// The most operations of one stream that are examined.
constexpr std::size_t most_of_stream = 20'000;

/// For each byte of some memory: when it was last written and read.
class MemoryTimes {
public:
    /// Returns the earliest moment at which an access to this memory may begin.
    Moment free_for(std::uint64_t begin, std::uint64_t end, bool writes) const {
        Moment free = 0;
        for (auto part = first_behind(begin); part != parts_.end() && part->first < end; ++part)
            free = std::max({free, part->second.written, writes ? part->second.read : 0});
        return free;
    }
    void use(std::uint64_t begin, std::uint64_t end, bool writes, Moment until) {
        split(begin);
        split(end);
        std::uint64_t at = begin;
        auto part = parts_.lower_bound(begin);
        while (at < end) {
            if (part == parts_.end() || part->first > at) {
                const std::uint64_t next = part == parts_.end() ? end : std::min(end, part->first);
                part = parts_.emplace_hint(part, at, Part{next});
            }
            Moment& time = writes ? part->second.written : part->second.read;
            time = std::max(time, until);
            at = part->second.end;
            ++part;
        }
    }

private:
    struct Part {
        std::uint64_t end;
        Moment written = 0, read = 0;
    };
    std::map<std::uint64_t, Part>::const_iterator first_behind(std::uint64_t address) const {
        auto part = parts_.upper_bound(address);
        if (part != parts_.begin() && std::prev(part)->second.end > address) --part;
        return part;
    }
    void split(std::uint64_t address) {
        auto part = parts_.upper_bound(address);
        if (part == parts_.begin()) return;
        --part;
        if (part->first == address || part->second.end <= address) return;
        Part behind = part->second;
        part->second.end = address;
        parts_.emplace(address, behind);
    }
    std::map<std::uint64_t, Part> parts_;  ///< by begin
};

/// Simulates the operations of one stream as if only their memory ordered them.
class FreeRun {
public:
    FreeRun(const Trace& trace, const TraceDevice& device) : trace_(trace), device_(device) {}

    void add(TraceIndex index, Moment length) {
        const TraceOp& op = trace_.ops[index];
        add_load(op, length);
        sum_ += length;
        const auto accesses = accesses_of(op);
        Moment start = accesses ? floor_ : last_;
        if (accesses)
            for (const TraceAccess& one : *accesses)
                start = std::max(start, memory_.free_for(one.address(), one.end(), one.writes()));
        const Moment end = start + length;
        if (accesses)
            for (const TraceAccess& one : *accesses)
                memory_.use(one.address(), one.end(), one.writes(), end);
        else floor_ = end;
        last_ = std::max(last_, end);
    }
    /// Orders all operations that are added later after those that have been added so far.
    void order() { floor_ = last_; }

    /// Returns how much time the simulation saves, compared with running one after the other.
    Moment saved() const { return sum_ - std::max({last_, kernels_, copies_}); }

private:
    /// Returns the accesses of an operation. Returns nullopt if the operation may use other memory.
    std::optional<std::span<const TraceAccess>> accesses_of(const TraceOp& op) const {
        const bool is_known = !op.holds_pointers && op.kind != OpKind::graph_launch &&
                              op.accesses != 0 && op.first_access <= trace_.accesses.size() &&
                              op.accesses <= trace_.accesses.size() - op.first_access;
        if (!is_known) return std::nullopt;
        return std::span(trace_.accesses).subspan(op.first_access, op.accesses);
    }

    void add_load(const TraceOp& op, Moment length) {
        if (device_.is_cuda) {
            (op.kind == OpKind::copy ? copies_ : kernels_) += length;
            return;
        }
        const auto all = static_cast<Moment>(std::max(1u, device_.processors));
        kernels_ += length * std::clamp<Moment>(op.workers, 1, all) / all;
    }

    const Trace& trace_;
    const TraceDevice& device_;
    MemoryTimes memory_;
    Moment floor_ = 0;  ///< no operation added from now on begins earlier
    Moment last_ = 0;   ///< the latest end of all operations added
    Moment sum_ = 0;    ///< the sum of the lengths of all operations
    /// The shortest time that the device needs for all kernels, and for all copies.
    Moment kernels_ = 0, copies_ = 0;
};

/// Returns in order: the stream's operations that ran, its waits, and host waits for the stream.
std::vector<TraceIndex> operations_of(const Trace& trace, TraceIndex stream) {
    std::vector<TraceIndex> ops;
    const auto is_for = [&](const TraceOp& op) {
        if (is_host_wait(op) || op.kind == OpKind::query) return op.other == stream;
        return op.stream == stream &&
               (is_work(op) || (op.mode == OpMode::run && op.kind == OpKind::wait));
    };
    for (TraceIndex i = 0; i < trace.ops.size() && ops.size() < most_of_stream; ++i)
        if (is_for(trace.ops[i])) ops.push_back(i);
    return ops;
}

}  // namespace

std::vector<LoneStream> find_lone_streams(const Trace& trace, const Solution& solution) {
    if (solution.critical.empty()) return {};
    std::vector<Moment> shares(trace.streams.size());
    for (const CriticalStep& step : solution.critical)
        if (step.kind == CriticalStep::Kind::runs)
            shares[trace.ops[step.op].stream] += step.end - step.begin;
    const Moment whole = solution.critical.back().end - solution.critical.front().begin;
    std::vector<Moment> lengths(trace.ops.size());
    for (const Bar& bar : solution.bars)
        if (bar.run == no_index) lengths[bar.op] = bar.end - bar.start;
    std::vector<LoneStream> found;
    for (TraceIndex stream = 0; stream < trace.streams.size(); ++stream) {
        const TraceIndex device = device_of(trace, stream);
        if (shares[stream] <= whole / 2 || device == no_index) continue;
        FreeRun run(trace, trace.devices[device]);
        LoneStream one;
        for (const TraceIndex op : operations_of(trace, stream)) {
            if (!is_work(trace.ops[op])) {
                run.order();
            } else if (lengths[op] > 0) {
                if (one.operations++ == 0) one.op = op;
                run.add(op, lengths[op]);
            }
        }
        one.time = std::min(run.saved(), shares[stream]);
        if (one.time > 0) found.push_back(one);
    }
    return found;
}

}  // namespace heddle::detail
