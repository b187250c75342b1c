// The op seam: describes each enqueued operation to observers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

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
    wait_elided,  ///< a redundant wait that was left out
    dropped,      ///< an operation on a poisoned stream
    synchronize,
};

/// Returns the name of a kind, "wait_elided" for example.
const char* to_string(OpKind kind) noexcept;

/// Memory that an operation accesses; `writes` is false if it only reads.
struct OpAccess {
    /// Start of the memory.
    const void* data;
    /// Size of the memory.
    std::size_t bytes;
    /// Whether it is written; it may be read as well.
    bool writes;
};

/// Describes one enqueued operation. Pointers and spans are valid only during the on_op() call.
struct OpInfo {
    /// What was enqueued, elided or dropped.
    OpKind kind;
    const char* name;       ///< the kernel's type or function; for copies "host to device", ...
    StreamRef stream = {};  ///< the stream it was enqueued on, if there is one
    std::uint64_t sequence = 0;  ///< the stream's submissions, including this one
    std::size_t bytes = 0;       ///< copied, filled, allocated or freed
    StreamRef other = {};        ///< for waits: the stream waited for, if known
    /// The memory that it uses, as far as its arguments say.
    std::span<const OpAccess> accesses = {};
    /// The user's call site.
    SourceLocation where = {};
};

/// Receives a call for each operation. Derive from it, and register with add_observer().
///
///     struct Log final : Observer {
///         void on_op(const OpInfo& op) noexcept override {
///             std::printf("%s on %s\n", to_string(op.kind), op.stream.name().c_str());
///         }
///     };
///
/// Thread-safety: several threads may be in on_op() at once.
class Observer {
public:
    /// Called on the enqueuing thread after the operation was enqueued. Must not throw, enqueue
    /// work or wait for any. May query names and ids of streams.
    virtual void on_op(const OpInfo& op) noexcept = 0;

protected:
    ~Observer() = default;
};

/// Registers an observer. Thread-safe.
void add_observer(Observer& observer);
/// Unregisters an observer. Waits until all other threads that are in on_op() have left; the
/// observer can be destroyed then. Thread-safe.
void remove_observer(Observer& observer);

namespace detail {
inline constinit std::atomic<bool> observed{false};
void notify(const OpInfo& op) noexcept;
/// The same for what was just enqueued on `stream`, which sets the op's stream and sequence.
void notify_on(StreamState& stream, OpInfo op) noexcept;
inline bool is_observed() noexcept { return observed.load(std::memory_order_relaxed); }
}  // namespace detail

}  // namespace heddle
