// The contents of a recording: streams, threads, operations, and the times at which they ran. The
// data is plain: the recorder makes it, trace files store it, and all pictures and texts are
// computed from it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <heddle/observe/observer.hpp>

namespace heddle::detail {

/// A moment in nanoseconds since the trace's `base_ns`, on the host's monotonic clock.
using Moment = std::int64_t;
inline constexpr Moment unknown_moment = std::numeric_limits<Moment>::min();

/// An index into one of the trace's vectors.
using TraceIndex = std::uint32_t;
inline constexpr TraceIndex no_index = ~TraceIndex{0};

/// The source of the times of a device's operations.
enum class TraceClock : std::uint8_t {
    none,     ///< no times were measured
    workers,  ///< the threads that ran the work read the host's clock
    events,   ///< timing events behind operations: the ends are measured, the starts are deduced
    cupti,    ///< CUPTI's records of starts and ends
};

struct TraceDevice {
    bool is_cuda = false;
    int index = 0;
    TraceIndex name = 0;  ///< string: "NVIDIA H200", for example
    TraceClock clock = TraceClock::none;
    /// Largest error of its moments against the host's clock, in either direction.
    Moment clock_error = 0;
    unsigned processors = 1;  ///< CPU devices: the number of their workers
    bool operator==(const TraceDevice&) const = default;
};

struct TraceStream {
    std::uint64_t id = 0;  ///< StreamRef::id()
    TraceIndex device = 0;
    int priority = 0;
    TraceIndex name = 0;
    bool operator==(const TraceStream&) const = default;
};

/// A thread of the host that made calls.
struct TraceThread {
    TraceIndex name = 0;  ///< string: "main", "thread 3", or the name that the program set
    bool operator==(const TraceThread&) const = default;
};

/// The pitch is 0 if there is one row.
struct TraceAccess : OpAccess {
    TraceIndex name = 0;  ///< string: the array's name; empty if it has none
    bool operator==(const TraceAccess&) const = default;
};

struct TraceOp {
    std::uint64_t id = 0;  ///< OpInfo::id; 0 for none
    OpKind kind = OpKind::launch;
    OpMode mode = OpMode::run;
    WaitReason reason = WaitReason::user;
    TraceIndex name = 0, file = 0;  ///< indices of strings
    std::uint32_t line = 0;         ///< 0 if unknown
    TraceIndex thread = no_index;   ///< thread that made the call
    /// no_index for operations of the host alone, such as synchronize_device().
    TraceIndex stream = no_index;
    TraceIndex device = no_index;  ///< device of synchronize_device(), or of the stream
    std::uint64_t position = 0;    ///< position in its stream: unique there, and increasing
    Moment call_begin = unknown_moment, call_end = unknown_moment;
    /// The times at which it ran. The end may be known without the start.
    Moment start = unknown_moment, end = unknown_moment;
    std::uint64_t bytes = 0;
    /// For waits: the stream waited for, and the position of its last operation that the wait
    /// covers.
    TraceIndex other = no_index;
    std::uint64_t other_position = 0;
    std::uint64_t event = 0;       ///< records and waits of events: the event's id, or 0
    std::uint32_t generation = 0;  ///< number of the record of that event
    std::uint64_t recording = 0;   ///< the capture or batch that recorded the operation, or 0
    std::uint64_t parent = 0;      ///< TraceOp::id of the host function that enqueued it, or 0
    TraceIndex graph = no_index;   ///< graph launches: the launched graph
    /// For a share of a collective: its index, and the number of shares.
    std::uint32_t share = 0, shares = 0;
    std::uint64_t collective = 0;  ///< the same for all shares of one collective, or 0
    std::uint32_t workers = 0;  ///< CPU devices: number of workers that could share it; 0: unknown
    std::uint32_t first_access = 0, accesses = 0;
    /// For kernels: whether the kernel may use memory that its accesses do not list.
    bool holds_pointers = false;
    RunResult result = RunResult::done;  ///< also `done` for operations that have not run yet
    bool operator==(const TraceOp&) const = default;
};

/// A node of a graph or of a submitted batch.
struct TraceNode {
    TraceIndex name = 0, file = 0;
    std::uint32_t line = 0;
    OpKind kind = OpKind::launch;
    std::uint32_t first_access = 0, accesses = 0;
    std::vector<std::uint32_t> after;  ///< nodes that precede it directly
    /// The conditional node whose body contains it, and the index of the body; see GraphNodeInfo.
    TraceIndex inside = no_index;
    std::uint32_t alternative = 0;
    bool accesses_known = false;  ///< whether its accesses list all memory that it uses
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
    std::uint32_t node = 0;    ///< in the launch's graph
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
    /// CLOCK_MONOTONIC and CLOCK_REALTIME at moment 0.
    std::int64_t base_ns = 0, base_realtime_ns = 0;
    Moment begin = 0, end = 0;  ///< begin and end of the recording
    std::string program;
    std::vector<std::string> strings{""};  ///< interned; 0 is the empty one
    std::vector<TraceDevice> devices;
    std::vector<TraceStream> streams;
    std::vector<TraceThread> threads;
    std::vector<TraceOp> ops;  ///< by `call_end`, where it is known
    std::vector<TraceAccess> accesses;
    std::vector<TraceGraph> graphs;
    std::vector<TraceNodeRun> node_runs;
    std::vector<TraceRange> ranges;
    std::uint64_t lost_ops = 0;  ///< number of oldest operations that were dropped for lack of room
    std::vector<std::string> notes;  ///< remarks for readers: "CUPTI was taken by ..."

    const std::string& text(TraceIndex string) const { return strings[string]; }
    bool operator==(const Trace&) const = default;
};

}  // namespace heddle::detail
