// The op seam: describes each enqueued operation to observers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <heddle/memory/range.hpp>
#include <heddle/stream/stream.hpp>

namespace heddle {

/// Kinds of operations.
enum class OpKind : std::uint8_t {
    launch,
    graph_launch,
    host_function,
    copy,
    fill,
    allocate,
    free,
    record,
    wait,
    wait_elided,         ///< a redundant wait that was left out
    dropped,             ///< an operation on a poisoned stream
    synchronize,         ///< a host wait has ended
    synchronize_begins,  ///< a host wait begins; the same thread's `synchronize` follows
    query,               ///< a query that answered "complete"
    collective,          ///< one device's share of a collective that NCCL runs
    host_access,         ///< the host itself reads or writes memory, during the call
    host_function_runs,  ///< a host function begins, on the thread that runs it
    make_event,          ///< an event was made
    export_event,        ///< an event was handed to other processes
    import_event,        ///< an event of another process was imported
    hand_out,            ///< a stream's native handle was handed out: its work cannot all be seen
    wrap,                ///< a native stream was wrapped, or a native event
    /// The stream, or the host, comes after all earlier uses of this memory that heddle knows. Told
    /// by an order_by_data, whose first stream `other` is: after those of streams not its own.
    after_users,
    used_on,  ///< Array::used_on(): what the stream has done so far may have used this memory
    abandon,  ///< a batch ended by a failure: what it had recorded and not sent will not run
    /// The calling thread was blocked within another call, or asked again and again until a query
    /// answered "complete". Orders nothing that the program could rely on. Told only if an observer
    /// wants times.
    blocked,
};
/// How many kinds there are.
inline constexpr std::size_t op_kinds = static_cast<std::size_t>(OpKind::blocked) + 1;

/// Returns the name of a kind, "wait_elided" for example.
const char* to_string(OpKind kind) noexcept;

/// What became of an operation.
enum class OpMode : std::uint8_t {
    run,       ///< it was enqueued
    captured,  ///< a capture recorded it: it runs when the graph is launched
    batched,   ///< a batch recorded it: it runs when the batch is sent, as by a `graph_launch`
};

/// Returns the name of a mode.
const char* to_string(OpMode mode) noexcept;

/// Who wanted a wait, or the record that belongs to it.
enum class WaitReason : std::uint8_t {
    user,         ///< the program asked for it
    scope_enter,  ///< a scope's stream waits for the one that it replaces
    scope_exit,   ///< the restored stream waits for the scope's
    fork,         ///< a branch waits for what was before the fork
    join,         ///< what follows waits for a branch
    copy,         ///< pageable memory: the host takes part in the copy
    collective,
    data,         ///< orders conflicting accesses
    batch,        ///< streams that took part in a batch are ordered around its graph
    free_memory,  ///< memory is freed after its users
    graph,        ///< a launch is ordered around the users of memory that its graph owns
    peer,         ///< copies between two devices
    pipeline,
    wait_reasons,  ///< how many there are, not one of them
};

/// Returns the name of a reason, "scope_enter" for example.
const char* to_string(WaitReason reason) noexcept;

/// How an operation uses memory.
enum class AccessMode : std::uint8_t {
    read,
    write,       ///< overwrites it without reading
    read_write,  ///< may do both: a kernel with a View<T>
    concurrent,  ///< makes an order of its own, with atomics
};

/// Memory that an operation accesses.
struct OpAccess : MemoryRange {
    /// Identifies the allocation for good; 0 for memory that heddle does not own.
    std::uint64_t allocation = 0;
    /// Bytes of an element; 0 if it is not known.
    std::uint32_t element = 0;
    /// What is done with it.
    AccessMode mode = AccessMode::read;
    /// Which of the kernel's arguments it is (or which holds it), from 0; -1 if it is none: the
    /// kernel itself holds it, or the operation is no kernel.
    std::int8_t argument = -1;

    /// Returns whether it may be written.
    bool writes() const noexcept { return mode != AccessMode::read; }
    bool operator==(const OpAccess&) const = default;
};

/// One record of an event: an event has many in its life, and a wait means one of them.
struct EventPoint {
    /// Identifies the event for good; 0 for none.
    std::uint64_t event = 0;
    /// How often it had been recorded; 0: never.
    std::uint64_t record = 0;
    bool operator==(const EventPoint&) const = default;
};

/// A node of a launched graph, or an operation of a sent batch. The nodes of a child graph are
/// among those of the graph, and named "child/node"; the child graph's own node follows them, and
/// does nothing.
struct GraphNodeInfo {
    /// No node's index.
    static constexpr std::uint32_t no_node = ~std::uint32_t{0};

    OpKind kind = OpKind::launch;  ///< of the operation that the node makes
    const char* name = "";         ///< given by the user, or the kernel's
    SourceLocation where = {};     ///< where it was made or captured
    /// Nodes that precede it directly, by their index. In a body: nodes of the same body.
    std::span<const std::uint32_t> after = {};
    /// For nodes in a body of a conditional node (which is a `graph_launch`, and reads its value):
    /// that node, which precedes them, by its index.
    std::uint32_t inside = no_node;
    /// Which of its bodies they are in. A pass through a conditional node runs at most one.
    std::uint32_t alternative = 0;
    /// For nodes of a child graph: the child graph's own node, by its index. It follows them.
    std::uint32_t child = no_node;
    /// The name of the stream whose work was captured as this node; empty if none was.
    const char* captured_on = "";
    /// Known only if there was an observer when the node was made. Else all of each array that it
    /// uses.
    std::span<const OpAccess> accesses = {};
    /// Whether `accesses` are exactly what it accesses.
    bool accesses_known = false;
    /// As OpInfo::may_signal.
    bool may_signal = false;
    /// For nodes that record or wait for an event.
    std::uint64_t event = 0;
};

/// What a graph launch runs. Immutable; observers may keep it by copying the pointer.
struct GraphShape {
    /// Identifies the shape for good: launches with the same id launch the same nodes.
    std::uint64_t id = 0;
    /// Identifies the graph for good, whose launches run one after the other. A graph that is
    /// changed gets another shape.
    std::uint64_t graph = 0;
    /// In an order that respects the edges. The nodes of a conditional node's bodies follow it
    /// directly, body by body.
    std::span<const GraphNodeInfo> nodes = {};
};

/// Describes one enqueued operation. Pointers and spans are valid only during the on_op() call.
struct OpInfo {
    /// What was enqueued, elided or dropped.
    OpKind kind = OpKind::launch;
    OpMode mode = OpMode::run;  ///< whether it was enqueued or recorded
    /// Of waits, records and host waits.
    WaitReason reason = WaitReason::user;
    /// Whether it may tell somebody that it runs in a way that cannot be seen, through a flag in
    /// memory for example. Of host functions and kernels: as far as their types, and the words that
    /// a kernel holds, say.
    bool may_signal = false;
    /// Kernels: whether it holds, or is passed, what may be pointers to memory that `accesses` does
    /// not tell of: addresses, references, views of addresses.
    bool holds_pointers = false;
    /// The first few of those words, if there are any.
    std::span<const void* const> pointers = {};
    /// Allocations: whether the memory comes from a cache of heddle's own, which has to hand it on
    /// after the uses of whoever had it before.
    bool from_own_cache = false;
    /// The kernel's type or function; for copies "host to device" and the like.
    const char* name = "";
    StreamRef stream = {};  ///< the stream it was enqueued on, if there is one
    /// Its place in the stream: unique there, and greater than those of operations that were
    /// described earlier.
    std::uint64_t position = 0;
    /// Identifies the operation in this process for good.
    std::uint64_t id = 0;
    /// When the call began, or for a second operation of one call when the first one was done:
    /// nanoseconds of std::chrono::steady_clock. 0 unless an observer asked for times.
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;  ///< when it was done, likewise
    /// Of synchronize_device(), and of allocations; else the stream's.
    Device device = detail::Access::device(DeviceKind::cpu, 0);
    std::size_t bytes = 0;  ///< copied, filled, allocated or freed
    /// For waits and host waits: the stream waited for, if known.
    StreamRef other = {};
    std::uint64_t other_position = 0;  ///< of its last operation that the wait covers
    /// For records: what was recorded. For waits and queries: the record that was meant.
    EventPoint event = {};
    /// The capture or batch that recorded it, or that a `graph_launch` sends or that is abandoned;
    /// else 0.
    std::uint64_t recording = 0;
    /// The id of the host function that enqueued it, or of the graph launch that such a function
    /// belongs to. 0: none, or no observer asked for times or host functions.
    std::uint64_t parent = 0;
    /// Graph launches: what was launched, if it is known.
    const GraphShape* shape = nullptr;
    /// For a collective's operations: which collective; else 0.
    std::uint64_t collective = 0;
    std::uint32_t share = 0;   ///< whose share of the collective it is: the rank
    std::uint32_t shares = 0;  ///< how many shares the collective has
    /// The memory that it uses, as far as its arguments say.
    std::span<const OpAccess> accesses = {};
    /// The user's call site.
    SourceLocation where = {};
};

/// What tells the times of a CUDA device.
enum class DeviceClock : std::uint8_t {
    events,  ///< timing events: each device has a clock of its own
    cupti,   ///< CUPTI, NVIDIA's library for profilers: one clock for all devices
};

/// What became of an operation.
enum class RunResult : std::uint8_t {
    done,     ///< it ran
    failed,   ///< it ran, and threw: its stream has failed
    dropped,  ///< it did not run, because its stream had failed
};

/// Tells when an operation ran. Of an operation that consists of parts, each part may be told, and
/// in any order: it began with the first and ended with the last.
struct OpRun {
    /// What `start_ns` is if the start is not known.
    static constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::min();
    /// OpInfo::id of the operation. This may come before the operation is described.
    std::uint64_t id = 0;
    /// Graph launches: the index of the node in the launched graph; else -1. A node in a body of a
    /// conditional node runs once in each pass, and may not run.
    std::int64_t node = -1;
    /// Nanoseconds of `clock`, or `unknown`: as soon as what it came after was done.
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;  ///< likewise, but always known
    /// How many worker threads could share it: 1, or all. 1 for a graph launch as a whole.
    std::uint32_t workers = 1;
    /// -1: std::chrono::steady_clock. Else a clock of the CUDA device with this index, which
    /// Observer::on_clock() relates to the host's.
    int clock = -1;
    /// Which clock of the CUDA device.
    DeviceClock measured_by = DeviceClock::events;
    /// Unless it is `done`, this tells no times.
    RunResult result = RunResult::done;
};

/// What a CUDA device's clock showed between two moments of the host's. All in nanoseconds.
struct ClockReading {
    int device = 0;                           ///< the device's index, or -1: of all devices
    std::int64_t before_ns = 0;               ///< before the reading, of std::chrono::steady_clock
    std::int64_t device_ns = 0;               ///< what it showed, counted from any moment
    std::int64_t after_ns = 0;                ///< after the reading, of std::chrono::steady_clock
    DeviceClock clock = DeviceClock::events;  ///< which clock was read
};

/// A public call of the library that an observer sees begin.
struct CallInfo {
    const char* name = "";      ///< the function
    SourceLocation where = {};  ///< the user's line
};

/// What an observer wants besides on_op(). What nobody asked for costs nothing.
struct ObserverOptions {
    /// Set OpInfo::begin_ns and end_ns, and call on_run() and on_clock(). On CUDA devices that
    /// takes a timing event behind each operation, unless CUPTI is in use (timeline::GpuTimes).
    bool times = false;
    /// Call on_call_begin() and on_call_end().
    bool calls = false;
    /// Set OpInfo::parent, and tell when a host function begins (OpKind::host_function_runs). With
    /// `times` that is so anyway.
    bool host_functions = false;
};

/// Receives a call for each operation. Derive from it, and register with add_observer().
///
///     struct Log final : Observer {
///         void on_op(const OpInfo& op) noexcept override {
///             std::printf("%s on %s\n", to_string(op.kind), op.stream.name().c_str());
///         }
///     };
///
/// Thread-safety: several threads may be in these functions at once.
class Observer {
public:
    /// Called on the enqueuing thread after the operation was enqueued. Must not throw, enqueue
    /// work or wait for any. May query names and ids of streams.
    virtual void on_op(const OpInfo& op) noexcept = 0;
    /// Called when an operation has run: on CPU devices on the thread that ran it, for CUDA devices
    /// soon after, on any thread. The same is forbidden.
    virtual void on_run(const OpRun&) noexcept {}
    /// Called on any thread, each second while operations of a CUDA device are timed. The same is
    /// forbidden.
    virtual void on_clock(const ClockReading&) noexcept {}
    /// Called on the calling thread when a public call begins, and when it returns or throws. Calls
    /// nest. The same is forbidden.
    virtual void on_call_begin(const CallInfo&) noexcept {}
    virtual void on_call_end() noexcept {}  ///< see on_call_begin()

protected:
    ~Observer() = default;
};

/// Registers an observer. Thread-safe.
void add_observer(Observer& observer, ObserverOptions options = {});
/// Unregisters an observer. Waits until all other threads that are in its functions have left; the
/// observer can be destroyed then. Thread-safe.
void remove_observer(Observer& observer);

namespace detail {
/// What the observers want: a set of bits. 0 without observers.
namespace observe {
inline constexpr std::uint32_t ops = 1, times = 2, calls = 4, host_functions = 8;
/// The watch wants operations to be noted (core/observe/flight.hpp). Nobody has to describe them.
inline constexpr std::uint32_t flight = 16;
}  // namespace observe
inline constinit std::atomic<std::uint32_t> observed{0};
void notify(OpInfo op) noexcept;
/// The same for what was just enqueued on `stream`, or recorded by its capture or batch. Sets the
/// op's stream, device, position and mode.
void notify_on(StreamState& stream, OpInfo op, bool is_recorded = false) noexcept;
/// Returns whether an observer wants operations to be described.
inline bool is_observed() noexcept {
    return (observed.load(std::memory_order_relaxed) & ~observe::flight) != 0;
}
/// Returns whether they are to be described or noted.
inline bool is_noted() noexcept { return observed.load(std::memory_order_relaxed) != 0; }
/// Returns whether the process is watched.
inline bool has_watch() noexcept {
    return (observed.load(std::memory_order_relaxed) & observe::flight) != 0;
}

/// Marks a public call from its construction to its destruction. Costs one load unless an observer
/// wants times or calls.
class CallMark {
public:
    CallMark(const char* name, const SourceLocation& where) noexcept {
        constexpr std::uint32_t wanted = observe::times | observe::calls;
        if ((observed.load(std::memory_order_relaxed) & wanted) != 0) [[unlikely]]
            begin(name, where);
    }
    ~CallMark() {
        if (has_begun_) [[unlikely]]
            end();
    }
    CallMark(const CallMark&) = delete;
    CallMark& operator=(const CallMark&) = delete;

private:
    void begin(const char* name, const SourceLocation& where) noexcept;
    void end() noexcept;
    std::int64_t outer_begin_;
    std::uint64_t outer_id_;
    bool has_begun_ = false;
    bool tells_;
};
}  // namespace detail

}  // namespace heddle
