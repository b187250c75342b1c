// Observers: receive a description of each enqueued operation.
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
    wait_elided,         ///< a redundant wait that was not enqueued
    dropped,             ///< an operation on a poisoned stream
    synchronize,         ///< a host wait has ended
    synchronize_begins,  ///< a host wait begins; the same thread's `synchronize` follows
    query,               ///< a query that answered "complete"
    collective,          ///< one device's share of a collective that NCCL runs
    host_access,         ///< the host itself reads or writes memory, during the call
    host_function_runs,  ///< a host function begins, on the thread that runs it
    make_event,          ///< an event was made
    export_event,        ///< an event was exported to other processes
    import_event,        ///< an event of another process was imported
    hand_out,            ///< a stream's native handle was requested: heddle may not see later work
    wrap,                ///< a native stream or event was wrapped
    /// The stream, or the host, is ordered after all earlier uses of this memory that heddle knows.
    /// Reported by an order_by_data, for uses on streams that it does not own. `other` is the first
    /// of its own streams.
    after_users,
    used_on,  ///< Array::used_on(): the stream's work so far may have used this memory
    abandon,  ///< a batch ended with a failure: work recorded since its last flush will not run
    /// The calling thread was blocked within another call, or polled by repeating a query. This
    /// orders no work. Reported only if an observer requests times.
    blocked,
    /// Work that other code enqueued on a lent native handle: with_native(), borrow(). Any number
    /// of native operations, reported at the end of the loan.
    native,
};
/// The number of kinds.
inline constexpr std::size_t op_kinds = static_cast<std::size_t>(OpKind::native) + 1;

/// Returns the name of a kind, "wait_elided" for example.
const char* to_string(OpKind kind) noexcept;

/// Whether an operation was enqueued or recorded.
enum class OpMode : std::uint8_t {
    run,       ///< the operation was enqueued
    captured,  ///< a capture recorded the operation: it runs when the graph is launched
    batched,   ///< a batch recorded the operation: it runs in the `graph_launch` of a flush
};

/// Returns the name of a mode.
const char* to_string(OpMode mode) noexcept;

/// The reason for a wait, or for the record that belongs to it.
enum class WaitReason : std::uint8_t {
    user,         ///< requested by the program
    scope_enter,  ///< a scope's stream waits for the one that it replaces
    scope_exit,   ///< the restored stream waits for the scope's
    fork,         ///< a branch waits for work enqueued before the fork
    join,         ///< later work waits for a branch
    copy,         ///< orders a copy of pageable memory, in which the host takes part
    collective,
    data,         ///< orders conflicting accesses
    batch,        ///< orders the streams that took part in a batch around the batch's graph
    free_memory,  ///< orders the freeing of memory after its users
    graph,        ///< orders a launch around the users of memory that the graph owns
    peer,         ///< orders a copy between two devices
    pipeline,
    wait_reasons,  ///< the number of reasons, not a reason
};

/// Returns the name of a reason, "scope_enter" for example.
const char* to_string(WaitReason reason) noexcept;

/// How an operation uses memory.
enum class AccessMode : std::uint8_t {
    read,
    write,       ///< overwrites the memory without reading it
    read_write,  ///< may do both: a kernel with a View<T>
    concurrent,  ///< synchronises its own accesses, with atomics for example
};

/// Memory that an operation accesses.
struct OpAccess : MemoryRange {
    /// Identifies the allocation uniquely; 0 for memory that heddle does not own.
    std::uint64_t allocation = 0;
    /// Bytes of an element; 0 if unknown.
    std::uint32_t element = 0;
    /// How the memory is used.
    AccessMode mode = AccessMode::read;
    /// The index, from 0, of the kernel's argument that holds it. -1 if the kernel object holds it,
    /// or the operation is not a kernel.
    std::int8_t argument = -1;

    /// Returns whether the memory may be written.
    bool writes() const noexcept { return mode != AccessMode::read; }
    bool operator==(const OpAccess&) const = default;
};

/// One record of an event. An event may be recorded many times; a wait targets one of the records.
struct EventPoint {
    /// Identifies the event uniquely; 0 for no event.
    std::uint64_t event = 0;
    /// Counts the records of the event, from 1; 0 if it was never recorded.
    std::uint64_t record = 0;
    bool operator==(const EventPoint&) const = default;
};

/// A node of a launched graph, or an operation of a flushed batch. The nodes of a child graph are
/// listed among those of the graph, and named "child/node". The child graph's own node follows
/// them, and performs no work.
struct GraphNodeInfo {
    /// An index that refers to no node.
    static constexpr std::uint32_t no_node = ~std::uint32_t{0};

    OpKind kind = OpKind::launch;  ///< kind of the node's operation
    const char* name = "";         ///< the same as GraphNode::name()
    SourceLocation where = {};     ///< where the node was made or captured
    /// Indices of its direct predecessors. A node in a body has predecessors in the same body only.
    std::span<const std::uint32_t> after = {};
    /// For nodes in a body: the index of the conditional node, which precedes them. That node is a
    /// `graph_launch`, and reads its value.
    std::uint32_t inside = no_node;
    /// The index of the body. A pass through a conditional node runs at most one body.
    std::uint32_t alternative = 0;
    /// For nodes of a child graph: the index of the child graph's own node, which follows these
    /// nodes.
    std::uint32_t child = no_node;
    /// The name of the stream whose work was captured as this node; empty if it was not captured.
    const char* captured_on = "";
    /// Its accesses. If no observer was registered when a kernel or host function was set, lists
    /// the entire arrays that it uses.
    std::span<const OpAccess> accesses = {};
    /// Whether `accesses` are exact.
    bool accesses_known = false;
    /// The same as OpInfo::may_signal.
    bool may_signal = false;
    /// For nodes that record or wait for an event: EventPoint::event.
    std::uint64_t event = 0;
};

/// The nodes that a graph launch runs. Valid only during the on_op() call.
struct GraphShape {
    /// Identifies the shape uniquely: launches with the same id launch the same nodes.
    std::uint64_t id = 0;
    /// Identifies the graph uniquely. Its launches run one after the other. Changing the graph
    /// changes the id of its shape.
    std::uint64_t graph = 0;
    /// The nodes in topological order. The nodes of a conditional node's bodies follow it directly,
    /// body by body.
    std::span<const GraphNodeInfo> nodes = {};
};

/// Describes one enqueued operation. Pointers and spans are valid only during the on_op() call.
struct OpInfo {
    /// The kind of the operation.
    OpKind kind = OpKind::launch;
    OpMode mode = OpMode::run;  ///< whether the operation was enqueued or recorded
    /// For waits, records and host waits: the reason for the operation.
    WaitReason reason = WaitReason::user;
    /// Whether the operation may signal other work or the host in a way that heddle cannot see, for
    /// example by a flag in memory. Derived from the types of host functions and kernels, and from
    /// the contents of the kernel object.
    bool may_signal = false;
    /// For kernels: whether the kernel object or its arguments may hold pointers to memory that
    /// `accesses` does not list: addresses, references, views of addresses. For native work:
    /// whether no access is declared.
    bool holds_pointers = false;
    /// The first of those possible pointers.
    std::span<const void* const> pointers = {};
    /// For allocations: whether the memory is from heddle's own cache. heddle then has to order the
    /// new uses after those of the previous allocation.
    bool from_own_cache = false;
    /// The kernel's type or function; for copies "host to device" and the like.
    const char* name = "";
    StreamRef stream = {};  ///< the stream on which it was enqueued, if any
    /// Its position in the stream: unique there, and greater than those of operations described
    /// earlier.
    std::uint64_t position = 0;
    /// Identifies the operation uniquely in this process.
    std::uint64_t id = 0;
    /// When the call began. For a later operation of the same call: when the previous operation
    /// ended. In ns of std::chrono::steady_clock; 0 unless an observer requests times.
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;  ///< when the enqueuing, or the host wait, ended; same clock
    /// The stream's device; for synchronize_device() and allocations, the device of the call.
    Device device = detail::Access::device(DeviceKind::cpu, 0);
    std::size_t bytes = 0;  ///< bytes copied, filled, allocated or freed
    /// For waits and host waits: the stream waited for, if known.
    StreamRef other = {};
    std::uint64_t other_position = 0;  ///< the last position on `other` that the wait covers
    /// For records: the new record. For waits and queries: the record that is waited for or
    /// queried.
    EventPoint event = {};
    /// Identifies the capture or batch that recorded the operation. For a batch's `graph_launch`,
    /// and for `abandon`, identifies the batch. Otherwise 0.
    std::uint64_t recording = 0;
    /// The id of the host function that enqueued this operation, or of the graph launch that
    /// contains that function. 0 if there is none, or if no observer requests times or host
    /// functions.
    std::uint64_t parent = 0;
    /// For graph launches: the nodes launched, or null if unknown.
    const GraphShape* shape = nullptr;
    /// For a collective's operations: identifies the collective. Otherwise 0.
    std::uint64_t collective = 0;
    std::uint32_t share = 0;   ///< the rank whose share of the collective this operation is
    std::uint32_t shares = 0;  ///< the number of shares of the collective
    /// The memory that the operation uses, as declared by its arguments.
    std::span<const OpAccess> accesses = {};
    /// The user's call site.
    SourceLocation where = {};
};

/// The source of a CUDA device's times.
enum class DeviceClock : std::uint8_t {
    events,  ///< timing events: each device has its own clock
    cupti,   ///< CUPTI, NVIDIA's library for profilers: one clock for all devices
};

/// The result of running an operation.
enum class RunResult : std::uint8_t {
    done,     ///< the operation ran
    failed,   ///< the operation ran and threw: its stream has failed
    dropped,  ///< the operation did not run, because its stream had failed
};

/// Reports when an operation ran. If the operation consists of parts, each part may be reported, in
/// any order. The operation begins with the earliest start of a part and ends with the latest end.
struct OpRun {
    /// The value of `start_ns` if the start is unknown.
    static constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::min();
    /// OpInfo::id of the operation. The run may be reported before the operation is described.
    std::uint64_t id = 0;
    /// For graph launches: the index of the node in the launched graph; else -1. A node in a body
    /// of a conditional node runs once in each pass, or not at all.
    std::int64_t node = -1;
    /// When the operation began, in ns of `clock`, or `unknown`. With DeviceClock::events: when the
    /// work before it had completed.
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;  ///< when the operation ended, in ns of `clock`; always known
    /// The number of worker threads that could share the operation: 1, or all. 1 for an entire
    /// graph launch.
    std::uint32_t workers = 1;
    /// -1: std::chrono::steady_clock. Else the clock of the CUDA device with this index, which
    /// Observer::on_clock() relates to the host's.
    int clock = -1;
    /// How the CUDA device's times were measured: by events or by CUPTI.
    DeviceClock measured_by = DeviceClock::events;
    /// The result. The times are valid only if the result is `done`.
    RunResult result = RunResult::done;
};

/// A reading of a CUDA device's clock, and the host's times before and after it. All in ns.
struct ClockReading {
    int device = 0;                           ///< the device's index, or -1 for all devices
    std::int64_t before_ns = 0;               ///< before the reading, of std::chrono::steady_clock
    std::int64_t device_ns = 0;               ///< the reading, from an arbitrary origin
    std::int64_t after_ns = 0;                ///< after the reading, of std::chrono::steady_clock
    DeviceClock clock = DeviceClock::events;  ///< the clock that was read
};

/// Describes a public call of heddle that begins.
struct CallInfo {
    const char* name = "";      ///< the function
    SourceLocation where = {};  ///< the user's call site
};

/// Selects the information that an observer requests besides on_op(). Information that is not
/// requested costs nothing.
struct ObserverOptions {
    /// Sets OpInfo::begin_ns and end_ns, and calls on_run() and on_clock(). On CUDA devices this
    /// records a timing event behind each operation, unless CUPTI is in use (timeline::GpuTimes).
    bool times = false;
    /// Calls on_call_begin() and on_call_end().
    bool calls = false;
    /// Sets OpInfo::parent, and reports when a host function begins (OpKind::host_function_runs).
    /// Implied by `times`.
    bool host_functions = false;
};

/// Receives a call for each operation. Derive from it, and register the object by add_observer().
///
///     struct Log final : Observer {
///         void on_op(const OpInfo& op) noexcept override {
///             std::printf("%s on %s\n", to_string(op.kind), op.stream.name().c_str());
///         }
///     };
///
/// Lifetime: call remove_observer() before destroying it. Thread-safety: several threads may call
/// these functions at once.
class Observer {
public:
    /// Called on the enqueuing thread after the operation was enqueued. No function of an observer
    /// may throw, enqueue work or wait for work. Its functions may query names and ids of streams.
    virtual void on_op(const OpInfo& op) noexcept = 0;
    /// Called when an operation has run: for CPU devices on the thread that ran it, for CUDA
    /// devices soon after, on any thread.
    virtual void on_run(const OpRun&) noexcept {}
    /// Called once a second, on any thread, while operations of a CUDA device are timed.
    virtual void on_clock(const ClockReading&) noexcept {}
    /// Called on the calling thread when a public call begins. Calls can nest: on_call_end() is
    /// called when the innermost call returns or throws.
    virtual void on_call_begin(const CallInfo&) noexcept {}
    virtual void on_call_end() noexcept {}  ///< see on_call_begin()

protected:
    ~Observer() = default;
};

/// Registers an observer. Thread-safe.
void add_observer(Observer& observer, ObserverOptions options = {});
/// Unregisters an observer. Blocks until all other threads have left its functions; then it can be
/// destroyed. Thread-safe.
void remove_observer(Observer& observer);

namespace detail {
/// The requests of all observers, as bits of `observed`. 0 without observers.
namespace observe {
inline constexpr std::uint32_t ops = 1, times = 2, calls = 4, host_functions = 8;
/// Set while the watch notes operations (core/observe/flight.hpp), which need no full descriptions.
inline constexpr std::uint32_t flight = 16;
}  // namespace observe
inline constinit std::atomic<std::uint32_t> observed{0};
void notify(OpInfo op) noexcept;
/// Notifies observers of an operation just enqueued on `stream`, or recorded by its capture or
/// batch. Sets the op's stream, device, position and mode.
void notify_on(StreamState& stream, OpInfo op, bool is_recorded = false) noexcept;
/// Returns whether an observer receives operations.
inline bool is_observed() noexcept {
    return (observed.load(std::memory_order_relaxed) & ~observe::flight) != 0;
}
/// Returns whether an observer receives operations, or the watch notes them.
inline bool is_noted() noexcept { return observed.load(std::memory_order_relaxed) != 0; }
/// Returns whether the process is watched.
inline bool has_watch() noexcept {
    return (observed.load(std::memory_order_relaxed) & observe::flight) != 0;
}

/// Marks a public call from its construction to its destruction. Costs one load unless an observer
/// requests times or calls.
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
