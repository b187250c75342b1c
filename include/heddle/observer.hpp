// The op seam: everything enqueued can be described to observers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include <heddle/stream.hpp>

namespace heddle {

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
    wait_elided,
    dropped,
    synchronize,
};

const char* to_string(OpKind kind) noexcept;

/// Memory that an operation reads or writes.
struct Access {
    const void* data;
    std::size_t bytes;
    bool writes;
};

/// One enqueued operation. Pointers and spans live only as long as the call that passes it.
struct Op {
    OpKind kind;
    const char* name;            ///< kernel's type or function; for copies "host to device", ...
    StreamRef stream;            ///< where it was enqueued
    std::uint64_t sequence = 0;  ///< the stream's count of submissions, this one included
    std::size_t bytes = 0;       ///< moved, filled, allocated or freed
    StreamRef other = {};        ///< waits: the stream waited on, if known
    std::span<const Access> accesses = {};
    SourceLocation where = {};
};

/// Sees each operation on the thread that enqueues it, after it was enqueued. Must not throw, nor enqueue or
/// wait for anything; names and numbers of streams may be asked for.
class Observer {
public:
    virtual void on_op(const Op& op) noexcept = 0;

protected:
    ~Observer() = default;
};

/// Adds or removes an observer; thread-safe. After remove_observer() returns no thread is inside it any more: it waits for those that
/// were, and for none that came later.
void add_observer(Observer& observer);
void remove_observer(Observer& observer);

namespace detail {
inline constinit std::atomic<bool> observed{false};
void notify(const Op& op) noexcept;
inline bool is_observed() noexcept { return observed.load(std::memory_order_relaxed); }
}  // namespace detail

}  // namespace heddle
