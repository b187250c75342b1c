// The contents of a recording: streams, threads, operations, and the times at which they ran. This
// is plain data. The observer makes it, trace files store it, and all pictures and texts are
// computed from it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <heddle/operation/observer.hpp>

namespace heddle::detail {

/// A moment in nanoseconds since the trace's `base_ns`, on the host's monotonic clock.
using Moment = std::int64_t;
inline constexpr Moment unknown_moment = std::numeric_limits<Moment>::min();

/// An index into one of the vectors of Trace.
using TraceIndex = std::uint32_t;
inline constexpr TraceIndex no_index = ~TraceIndex{0};

/// How the times of a device's operations were measured.
enum class TraceClock : std::uint8_t {
    none,     ///< not at all
    workers,  ///< by the host's clock, on the threads that ran the work
    events,   ///< by timing events after operations: only ends are measured, starts are deduced
    cupti,    ///< by CUPTI, which records starts and ends
};

struct TraceDevice {
    bool is_cuda = false;
    int index = 0;
    TraceIndex name = 0;  ///< index of a string, for example "NVIDIA H200"
    TraceClock clock = TraceClock::none;
    /// The largest error of the device's moments, in either direction, after they were converted to
    /// the host's clock.
    Moment clock_error = 0;
    unsigned processors = 1;  ///< for CPU devices: the number of workers
    bool operator==(const TraceDevice&) const = default;
};

struct TraceStream {
    std::uint64_t id = 0;  ///< result of StreamRef::id()
    TraceIndex device = 0;
    int priority = 0;
    TraceIndex name = 0;
    bool operator==(const TraceStream&) const = default;
};

/// A thread of the host that made calls.
struct TraceThread {
    TraceIndex name = 0;  ///< index of a string: "main", "thread 3", or a name set by the program
    bool operator==(const TraceThread&) const = default;
};

/// An access to memory. The pitch is 0 if the access has one row.
struct TraceAccess : OpAccess {
    TraceIndex name = 0;  ///< index of a string: the array's name, empty if it has none
    bool operator==(const TraceAccess&) const = default;
};

struct TraceOp {
    std::uint64_t id = 0;  ///< OpInfo::id; 0 for none
    OpKind kind = OpKind::launch;
    OpMode mode = OpMode::run;
    WaitReason reason = WaitReason::user;
    TraceIndex name = 0, file = 0;  ///< indices of strings
    std::uint32_t line = 0;         ///< 0 if unknown
    TraceIndex thread = no_index;   ///< the thread that made the call
    /// no_index for an operation of the host alone, for example synchronize_device().
    TraceIndex stream = no_index;
    /// The device of the stream, or the argument of synchronize_device().
    TraceIndex device = no_index;
    std::uint64_t position = 0;  ///< position on its stream; increasing and unique there
    Moment call_begin = unknown_moment, call_end = unknown_moment;
    /// The times at which the operation ran. The end may be known although the start is not.
    Moment start = unknown_moment, end = unknown_moment;
    std::uint64_t bytes = 0;
    /// For a wait: the stream that is waited for, and on that stream the position of the last
    /// operation that the wait covers.
    TraceIndex other = no_index;
    std::uint64_t other_position = 0;
    std::uint64_t event = 0;       ///< for records and waits of events: the event's id; otherwise 0
    std::uint32_t generation = 0;  ///< number of the event's record
    std::uint64_t recording = 0;   ///< id of the capture or batch that recorded the operation, or 0
    /// TraceOp::id of the host function that enqueued the operation, or 0.
    std::uint64_t parent = 0;
    TraceIndex graph = no_index;  ///< for a graph launch: the launched graph
    /// For a share of a collective: the index of the share, and the number of shares.
    std::uint32_t share = 0, shares = 0;
    /// For a share: a number that all shares of the collective have; otherwise 0.
    std::uint64_t collective = 0;
    /// For CPU devices: how many workers could run the operation together; 0 if unknown.
    std::uint32_t workers = 0;
    std::uint32_t first_access = 0, accesses = 0;
    /// For kernels: whether the kernel may use memory that its accesses do not list.
    bool holds_pointers = false;
    /// `done` also stands for an operation that has not run yet.
    RunResult result = RunResult::succeeded;
    bool operator==(const TraceOp&) const = default;
};

/// A node of a graph or of a submitted batch.
struct TraceNode {
    TraceIndex name = 0, file = 0;
    std::uint32_t line = 0;
    OpKind kind = OpKind::launch;
    std::uint32_t first_access = 0, accesses = 0;
    std::vector<std::uint32_t> after;  ///< direct predecessors
    /// The conditional node whose body contains this node, and the index of that body; see
    /// OpNode.
    TraceIndex inside = no_index;
    std::uint32_t alternative = 0;
    bool accesses_known = false;  ///< whether `accesses` covers all memory that the node uses
    bool operator==(const TraceNode&) const = default;
};

struct TraceGraph {
    std::uint64_t id = 0;
    bool is_batch = false;
    std::vector<TraceNode> nodes;
    bool operator==(const TraceGraph&) const = default;
};

/// A run of one node of a launched graph.
struct TraceNodeRun {
    std::uint64_t launch = 0;  ///< TraceOp::id of the launch
    std::uint32_t node = 0;    ///< index of the node in the launched graph
    Moment start = unknown_moment, end = unknown_moment;
    bool operator==(const TraceNodeRun&) const = default;
};

/// A named range that the program marked on a host thread.
struct TraceRange {
    TraceIndex thread = 0, name = 0;
    Moment begin = 0, end = 0;
    bool operator==(const TraceRange&) const = default;
};

struct Trace {
    /// The values of CLOCK_MONOTONIC and CLOCK_REALTIME at moment 0.
    std::int64_t base_ns = 0, base_realtime_ns = 0;
    Moment begin = 0, end = 0;  ///< begin and end of the recording
    std::string program;
    std::vector<std::string> strings{""};  ///< each stored once; index 0 is the empty string
    std::vector<TraceDevice> devices;
    std::vector<TraceStream> streams;
    std::vector<TraceThread> threads;
    std::vector<TraceOp> ops;  ///< ordered by `call_end`, where that is known
    std::vector<TraceAccess> accesses;
    std::vector<TraceGraph> graphs;
    std::vector<TraceNodeRun> node_runs;
    std::vector<TraceRange> ranges;
    /// How many of the oldest operations were dropped because of the recording's limit.
    std::uint64_t lost_ops = 0;
    std::vector<std::string> notes;  ///< remarks for the user, for example "CUPTI was taken by ..."

    const std::string& text(TraceIndex string) const { return strings[string]; }
    bool operator==(const Trace&) const = default;
};

}  // namespace heddle::detail
