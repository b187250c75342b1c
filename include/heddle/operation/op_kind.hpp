// Kinds of operations, of waits and of accesses.
#pragma once

#include <cstddef>
#include <cstdint>

#include <heddle/detail/visible.hpp>

namespace heddle HEDDLE_VISIBLE {

/// Kinds of operations. A kind is named by a noun or by a verb, like the call. A report that
/// nothing was enqueued is a participle (`wait_elided`, `dropped`, `blocked`). A report that a call
/// or a function begins ends in `_begin`.
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
    wait_elided,          ///< a redundant wait that was not enqueued
    dropped,              ///< an operation on a poisoned stream
    synchronize,          ///< a host wait has ended
    synchronize_begin,    ///< a host wait begins; the same thread's `synchronize` follows
    query,                ///< a query that answered "complete"
    collective,           ///< one device's share of a collective that NCCL runs
    host_access,          ///< the host itself reads or writes memory, during the call
    host_function_begin,  ///< a host function begins, on the thread that runs it
    make_event,           ///< an event was made
    export_event,         ///< an event was exported to other processes
    import_event,         ///< an event of another process was imported
    expose,               ///< a stream's native handle was requested: heddle may not see later work
    wrap,                 ///< a native stream or event was wrapped
    /// The stream, or the host, is ordered after all earlier uses of this memory that heddle knows.
    /// Reported by a DataOrder, for uses on streams that it does not own. `other` is the first
    /// of its own streams.
    wait_for_users,
    used_on,  ///< Array::used_on(): the stream's work so far may have used this memory
    abandon,  ///< a batch ended with a failure: work recorded since its last flush will not run
    /// The calling thread was blocked within another call, or polled by repeating a query. This
    /// orders no work. Reported only if an observer requests times.
    blocked,
    /// Work that other code enqueued on a lent native handle: with_native(), borrow(). Any number
    /// of native operations, reported at the end of the loan.
    native,
    synchronize_begins [[deprecated("use synchronize_begin")]] = synchronize_begin,
    host_function_runs [[deprecated("use host_function_begin")]] = host_function_begin,
    hand_out [[deprecated("use expose")]] = expose,
    after_users [[deprecated("use wait_for_users")]] = wait_for_users,
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
    wait_reasons [[deprecated("use heddle::wait_reasons, a constant")]],
};
/// The number of reasons.
inline constexpr std::size_t wait_reasons = static_cast<std::size_t>(WaitReason::pipeline) + 1;

/// Returns the name of a reason, "scope_enter" for example.
const char* to_string(WaitReason reason) noexcept;

/// How an operation uses memory.
enum class AccessMode : std::uint8_t {
    read,
    write,       ///< overwrites the memory without reading it
    read_write,  ///< may do both: a kernel with a View<T>
    concurrent,  ///< synchronises its own accesses, with atomics for example
};

}  // namespace heddle
