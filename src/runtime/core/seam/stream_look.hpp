// A snapshot of a stream's pending work, read without a lock (docs/adr/0051).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <heddle/location.hpp>
#include <heddle/stream/detail/host_op.hpp>

namespace heddle::detail {

/// A stream's progress.
struct StreamCounts {
    std::uint64_t pushed = 0;  ///< steps enqueued so far, including signals
    std::uint64_t done = 0;    ///< number of these steps that are done
};

/// The state of a stream.
enum class StreamAt : std::uint8_t {
    idle,   ///< it has no pending work
    ready,  ///< its next operation waits for a worker
    work,   ///< its next operation runs, or is about to run
    /// A GPU stream is at one of its `pending` operations, but which one is unknown.
    between,
    wait,  ///< it waits for a completion
};

/// A stream's pending work. Completions are stored as addresses, because they may have been
/// destroyed.
struct StreamLook {
    StreamCounts counts;
    StreamAt at = StreamAt::idle;
    /// The type of its next operation. Null if that is a wait or unknown.
    const OpType* type = nullptr;
    SourceLocation where = {};      ///< the place of its next operation
    const void* awaited = nullptr;  ///< the completion that it waits for
    /// The number of its next operation, as counted by StreamState::submissions.
    std::uint64_t next = 0;
    std::size_t pending = 0;  ///< number of operations and waits, including the next one
    /// A completion that this stream, or the work that this stream waits for, will complete.
    struct Promise {
        const void* completion;
        std::size_t after;  ///< number of operations and waits before it
    };
    std::vector<Promise> promises = {};
    bool is_whole = true;  ///< false if the stream has more pending work than was read

    /// The run of a graph that the stream waits for.
    struct Graph {
        bool is_there = false;
        std::size_t left = 0;                   ///< number of tasks that have not completed
        bool has_shared = false;                ///< some ready tasks are for any worker
        std::vector<const void*> awaited = {};  ///< completions that its wait nodes wait for
    } graph = {};
};

/// A wait for a record of an event that processes share.
struct SharedWait {
    const void* completion = nullptr;  ///< completes when the record is reached
    int process = 0;                   ///< the process that made the record
    bool is_gone = false;              ///< the process has ended
    /// FallibleStream::id of the recording stream, if it belongs to this process; else 0.
    std::uint64_t stream_id = 0;
};

/// The result of reading a stream's pending work.
enum class Looked : std::uint8_t {
    seen,
    moved,    ///< the stream advanced while it was read, so it is not stuck
    refused,  ///< the stream's state cannot be read
};

}  // namespace heddle::detail
