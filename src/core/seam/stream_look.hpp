// A stream's pending work, as read without a lock (docs/adr/0051).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <heddle/detail/host_op.hpp>
#include <heddle/location.hpp>

namespace heddle::detail {

/// How far a stream has come.
struct StreamCounts {
    std::uint64_t pushed = 0;  ///< steps that it was given, signals among them
    std::uint64_t done = 0;    ///< of these
};

/// The state of a stream.
enum class StreamAt : std::uint8_t {
    idle,     ///< it has nothing to do
    ready,    ///< its next operation waits for a worker
    work,     ///< its next operation runs, or is about to
    between,  ///< it is at one of `pending` operations; which is not known. A GPU's
    wait,     ///< it waits for a completion
};

/// A stream's pending work. Completions are names here: they may be gone.
struct StreamLook {
    StreamCounts counts;
    StreamAt at = StreamAt::idle;
    const OpType* type = nullptr;   ///< of its next operation; null: a wait, or no work of anybody
    SourceLocation where = {};      ///< of its next operation
    const void* awaited = nullptr;  ///< the completion that it waits for
    /// The number of its next operation, as StreamState::submissions counts them.
    std::uint64_t next = 0;
    std::size_t pending = 0;  ///< operations and waits, the next one among them
    /// A completion that the stream, or what it waits for, will complete.
    struct Promise {
        const void* completion;
        std::size_t after;  ///< how many operations and waits come before
    };
    std::vector<Promise> promises = {};
    bool is_whole = true;  ///< false: there is more than was looked at

    /// The run of a graph that it waits for.
    struct Graph {
        bool is_there = false;
        std::size_t left = 0;                   ///< tasks
        bool has_shared = false;                ///< tasks are ready, for any worker
        std::vector<const void*> awaited = {};  ///< completions that its wait nodes wait for
    } graph = {};
};

/// A wait for a record of an event that processes share.
struct SharedWait {
    const void* completion = nullptr;  ///< which completes when the record is reached
    int process = 0;                   ///< that made the record
    bool is_gone = false;              ///< that process has ended
    /// FallibleStream::id of the stream, if it is one of this process; else 0.
    std::uint64_t stream_id = 0;
};

/// The result of a look.
enum class Looked : std::uint8_t {
    seen,
    moved,    ///< it went on meanwhile: it is not stuck
    refused,  ///< nothing can be seen
};

}  // namespace heddle::detail
