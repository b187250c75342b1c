#include "timeline/record/log.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

namespace heddle::detail {

namespace {

/// The most accesses that are recorded for one operation, so that it always fits into a chunk.
constexpr std::size_t most_accesses = 128;

constexpr auto longest_short = std::int64_t{std::numeric_limits<std::uint32_t>::max()};

std::int64_t duration_of(const OpInfo& op) noexcept {
    return std::max<std::int64_t>(op.end_ns - op.begin_ns, 0);
}

bool is_rare(const OpInfo& op) noexcept {
    return op.event.event != 0 || op.recording != 0 || op.parent != 0 || op.shares != 0 ||
           op.shape != nullptr || !op.stream || duration_of(op) > longest_short;
}

bool is_wait(const OpInfo& op) noexcept { return static_cast<bool>(op.other); }

Slot& slot_or_throw(Slot* slot) {
    if (slot == nullptr) throw std::bad_alloc();
    return *slot;
}

}  // namespace

ThreadLog::Lately::One& ThreadLog::Lately::place_of(const char* text) noexcept {
    return all_[(reinterpret_cast<std::uintptr_t>(text) >> 3) % std::size(all_)];
}

TraceIndex ThreadLog::Lately::index_of_name(const char* name, StringTable& strings) {
    One& one = place_of(name);
    if (one.address != name) [[unlikely]]
        one = {name, strings.keep(name)};
    return one.kept.index;
}

TraceIndex ThreadLog::Lately::index_of_file(const char* file, StringTable& strings) {
    One& one = place_of(file);
    if (one.address != file || std::strcmp(one.kept.text, file) != 0) [[unlikely]]
        one = {file, strings.keep(file)};
    return one.kept.index;
}

TraceIndex ThreadLog::index_of(StreamRef stream) {
    if (!stream) return no_index;
    const std::uint64_t id = stream.id();
    SeenStream& one = streams_[id % std::size(streams_)];
    if (one.id != id) [[unlikely]]
        one = {id, tables_.streams.keep(stream)};
    return one.index;
}

void ThreadLog::add(const OpInfo& op, bool with_accesses) {
    const std::size_t accesses =
        with_accesses ? std::min(op.accesses.size(), most_accesses) : std::size_t{0};
    const bool rare = is_rare(op);
    // First does everything that may throw, so that an entry is either complete or missing.
    const TraceIndex name = lately_.index_of_name(op.name, tables_.strings);
    const TraceIndex file = lately_.index_of_file(op.where.file, tables_.strings);
    const TraceIndex stream = index_of(op.stream), other = index_of(op.other);
    const TraceIndex graph =
        op.shape != nullptr ? tables_.graphs.keep(*op.shape, op.recording != 0) : no_index;
    const TraceIndex device = rare && !op.stream ? tables_.streams.keep(op.device) : no_index;
    const std::size_t count = 1 + (rare ? 1 : 0) + accesses;
    Slot* to = &slot_or_throw(ops_.reserve(count));
    const std::int64_t duration = duration_of(op);
    (to++)->op = {.id = op.id,
                  .begin_ns = op.begin_ns,
                  .duration_ns = static_cast<std::uint32_t>(std::min(duration, longest_short)),
                  .name = name,
                  .file = file,
                  .line = op.where.line,
                  .position = op.position,
                  .amount = is_wait(op) ? op.other_position : op.bytes,
                  .stream = stream,
                  .other = other,
                  .kind = op.kind,
                  .mode = op.mode,
                  .reason = op.reason,
                  .flags =
                      static_cast<std::uint8_t>((rare ? OpSlot::has_rare : 0) |
                                                (op.holds_pointers ? OpSlot::holds_pointers : 0)),
                  .accesses = static_cast<std::uint32_t>(accesses)};
    if (rare)
        (to++)->rare = {.event = op.event.event,
                        .recording = op.recording,
                        .parent = op.parent,
                        .collective = op.collective,
                        .generation = static_cast<std::uint32_t>(op.event.record),
                        .graph = graph,
                        .share = op.share,
                        .shares = op.shares,
                        .device = device,
                        .unused = 0,
                        .long_duration_ns = duration > longest_short ? duration : 0};
    for (std::size_t i = 0; i < accesses; ++i) (to++)->access = trace_access(op.accesses[i]);
    ops_.publish(count);
    op_count_.store(op_count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void ThreadLog::add(const OpRun& run) {
    slot_or_throw(runs_.reserve(1)).run = {run.id,          run.node,    run.start_ns,
                                           run.end_ns,      run.workers, run.clock,
                                           run.measured_by, run.result,  {}};
    runs_.publish(1);
}

void ThreadLog::add(const ClockReading& reading) {
    slot_or_throw(clocks_.reserve(1)).clock = {
        reading.before_ns, reading.device_ns, reading.after_ns, reading.device, reading.clock, {}};
    clocks_.publish(1);
}

void ThreadLog::add_range(std::int64_t begin_ns, std::int64_t end_ns, std::string_view name) {
    const TraceIndex index = tables_.strings.keep(name).index;
    slot_or_throw(ranges_.reserve(1)).range = {begin_ns, end_ns, index, {}};
    ranges_.publish(1);
}

}  // namespace heddle::detail
