// Observers: receive a description of each enqueued operation.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include <heddle/memory/range.hpp>
#include <heddle/operation/op_info.hpp>
#include <heddle/stream/stream.hpp>

namespace heddle HEDDLE_VISIBLE {

/// The source of a CUDA device's times.
enum class DeviceClock : std::uint8_t {
    events,  ///< timing events: each device has its own clock
    cupti,   ///< CUPTI, NVIDIA's library for profilers: one clock for all devices
};

/// The result of running an operation.
enum class RunResult : std::uint8_t {
    succeeded,  ///< the operation ran, and did not fail
    failed,     ///< the operation ran and threw: its stream has failed
    dropped,    ///< the operation did not run, because its stream had failed
    done [[deprecated("use succeeded")]] = succeeded,
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
    std::int64_t end_ns = 0;  ///< when the operation ended; 0 if this report has no times
    /// The number of worker threads that could share the operation: 1, or all. 1 for an entire
    /// graph launch.
    std::uint32_t workers = 1;
    /// -1: std::chrono::steady_clock. Else the clock of the CUDA device with this index, which
    /// Observer::on_clock() relates to the host's.
    int clock = -1;
    /// How the CUDA device's times were measured: by events or by CUPTI.
    DeviceClock measured_by = DeviceClock::events;
    /// The result. A graph launch has failed if one of its nodes has, and was dropped if none ran.
    RunResult result = RunResult::succeeded;
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
    /// Sets OpInfo::parent, and reports when a host function begins (OpKind::host_function_begin).
    /// Implied by `times`.
    bool host_functions = false;
};

/// Receives a call for each operation. Derive from it, and register the object by add_observer().
///
///     struct Log final : Observer {
///         void on_op(const OpInfo& op) noexcept override { std::puts(to_string(op.kind)); }
///     } log;
///     add_observer(log);
///     step();
///     remove_observer(log);
///
/// Order: on_op() follows the enqueuing of the operation. on_run() of an operation may precede its
/// on_op().
///
/// Lifetime: call remove_observer() before destroying it. Errors: the functions must not throw;
/// add_observer() throws OutOfMemory. Thread-safety: several threads may call these functions at
/// once.
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
/// Set while the watch notes operations (core/operation/flight.hpp), which need no full
/// descriptions.
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
