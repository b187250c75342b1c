// Batches: scopes whose work is launched as graphs, which heddle builds and reuses.
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <utility>

#include <heddle/stream/scope.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
class BatchRun;
class BatchRecorder;
/// A callable that takes either no arguments or the batch's stream.
template <class F>
concept BatchBody = std::invocable<F> || std::invocable<F, StreamRef>;
}  // namespace detail

/// How the work of a batch was enqueued.
enum class BatchOutcome : std::uint8_t {
    nothing,       ///< no work was recorded, or it has not been flushed yet
    replayed,      ///< same operations and arguments: a cached graph was launched
    updated,       ///< same operations, other arguments: a cached graph was patched
    instantiated,  ///< no cached graph has these operations: a new graph was built
    /// The work was enqueued directly instead of recorded; `why` has the reason. Also the
    /// result if all work was enqueued on streams that had not waited for the batch's stream.
    eager,
};

/// Describes a batch's last scope. Returned by Batch::last().
struct BatchResult {
    /// The old name of BatchOutcome.
    using How [[deprecated("use BatchOutcome")]] = BatchOutcome;

    union {
        /// How the last launched graph was obtained.
        BatchOutcome outcome = BatchOutcome::nothing;
        /// The old name of `outcome`.
        [[deprecated("use outcome")]] BatchOutcome how;
    };
    std::size_t operations = 0;  ///< number of operations recorded in all graphs of the scope
    std::size_t changed = 0;     ///< operations whose arguments were patched in a graph
    /// Graphs that the scope launched: more than 1 if flush(), an operation that cannot be
    /// deferred, or BatchOptions::flush_after flushed the batch.
    std::size_t graphs = 0;
    std::string_view why = {};  ///< the reason for `outcome`, in words
};
/// Returns the name of a BatchOutcome, "replayed" for example.
const char* to_string(BatchOutcome outcome) noexcept;

/// Options of a Batch.
struct BatchOptions {
    /// The maximum number of cached graphs, at least 1. The least recently used is dropped first.
    /// The parts of a scope (`flush_after`) count as one graph.
    std::size_t remembered = 8;
    /// Records on CPU devices too. Off by default: there, recording a launch costs about twice as
    /// much as the launch (docs/measurements.md).
    bool on_cpu = false;
    /// While a scope records one stream only, it is flushed after this number of operations, and
    /// then after 4 and 16 times as many. So the device begins to work while the rest is recorded.
    /// 0: only flush() and operations that cannot be deferred flush the batch.
    std::size_t flush_after = 64;
};

/// Caches the graphs of work that is enqueued repeatedly. ScopedBatch describes which work is
/// recorded, and when recorded work is launched (flushed).
///
///     Batch step;
///     for (int i = 0; i < n; ++i) {
///         ScopedBatch in(step);  // or step.run([&] { ... })
///         launch(Saxpy{}, dim(1000), 0.1f * i, x, y);
///         fill(w, 0.0f);
///     }
///
/// Lifetime: a Batch must not be moved or destroyed while a ScopedBatch uses it. It may be
/// destroyed while its graphs are running. Errors: see ScopedBatch. Thread-safety: one thread at a
/// time.
class Batch {
public:
    /// Makes a batch without cached graphs.
    explicit Batch(BatchOptions options = {});
    Batch(Batch&&) noexcept;
    Batch& operator=(Batch&&) noexcept;
    ~Batch();

    /// Calls body() in a ScopedBatch, so that its work is launched on the current stream as a
    /// graph. If body() throws, launches the work recorded before that, and rethrows the exception.
    /// The body may take the batch's stream as an argument.
    template <detail::BatchBody F> void run(F&& body, Where where = {});
    /// Does the same for work on `stream`, which is the current stream in body().
    template <detail::BatchBody F> void run(StreamRef stream, F&& body, Where where = {});
    /// The old name of run().
    template <detail::BatchBody F>
    [[deprecated("write run(body)")]] void operator()(F&& body, Where where = {}) {
        run(std::forward<F>(body), where);
    }
    template <detail::BatchBody F>
    [[deprecated("write run(stream, body)")]] void operator()(StreamRef stream, F&& body,
                                                              Where where = {}) {
        run(stream, std::forward<F>(body), where);
    }

    /// Returns the result of the last scope, or the result so far if a scope is open.
    BatchResult last() const noexcept;
    /// Returns the number of cached graphs.
    std::size_t remembered() const noexcept;
    /// Drops all cached graphs.
    void clear() noexcept;

private:
    friend detail::Access;
    detail::BatchRun* run_;  // owned (docs/adr/0039 has the cost of a std::unique_ptr)
};

inline detail::BatchRun* detail::Access::run(const Batch& batch) noexcept { return batch.run_; }

/// Records the work enqueued on `stream` (default: the current one) and on streams that wait for
/// it. At the end of the scope, also by an exception, the work is launched as one graph. Long
/// scopes are launched in parts (BatchOptions::flush_after).
///
///     {
///         ScopedBatch in(step, side);  // step: a Batch
///         launch(side, Saxpy{}, dim(1000), 2.0f, x, y);
///         fill(side, x, 0.0f);
///     }  // launches a graph of both
///
/// Order: everything runs in the same order as without the scope. Work enqueued after the scope on
/// a participant (a stream that was recorded) is ordered after all of the scope's work. Work for
/// streams that have not waited for `stream` is enqueued at once. If a Batch has recorded no work
/// although its scopes enqueued such work, its destructor passes an error to the report hook.
///
/// Operations that cannot be deferred flush the batch; recording then continues. They are:
/// - waits for, and queries of, a participant or an event recorded in the batch
/// - copies of pageable memory, and to_host()
/// - launches of graphs
/// - waits between a participant and a stream that has work of its own
///
/// Some streams are never recorded: streams in a capture or in another batch, streams whose native
/// handle is known outside heddle, and by default streams of CPU devices. If `stream` is one of
/// them, the scope has no effect, and Batch::last().outcome is `eager`.
///
/// Errors: the constructor throws UsageError if another ScopedBatch uses `batch`. An error of a
/// flush is thrown by the operation that caused it, by end(), and by Batch::run(). The
/// destructor passes it to the report hook.
///
/// Failed work poisons the streams that it would have poisoned without the scope. On CUDA devices,
/// failed work in a batch also poisons all other streams whose work in the batch is connected to
/// the failed work by waits.
///
/// Lifetime: keep the Batch until the scope ends. Thread-safety: one thread at a time uses the
/// scope. Other threads may enqueue on the participants, wait for them and query them.
class ScopedBatch {
public:
    /// Begins to record. Throws as the class comment describes.
    [[nodiscard]] explicit ScopedBatch(Batch& batch, StreamRef stream = current_stream(),
                                       Where where = {});
    /// Deleted for temporaries: the stream or lease would end before the scope.
    template <detail::StreamOwner Owner>
    ScopedBatch(Batch&, Owner&&, mistake::stream_ends_first = {}) = delete;
    ScopedBatch(const ScopedBatch&) = delete;
    ScopedBatch& operator=(const ScopedBatch&) = delete;
    ~ScopedBatch();

    /// Flushes the batch: launches the work recorded so far. Recording then continues.
    void flush(Where where = {});
    /// The old name of flush().
    [[deprecated("write flush()")]] void send(Where where = {}) { flush(where); }
    /// Flushes the batch and ends the scope. Throws the errors of the flush.
    void end(Where where = {});

private:
    detail::BatchRun* run_;
    detail::BatchRecorder* recorder_ = nullptr;
    SourceLocation where_;
};

template <detail::BatchBody F> void Batch::run(F&& body, Where where) {
    ScopedBatch scope(*this, current_stream(), where);
    if constexpr (std::invocable<F>) std::forward<F>(body)();
    else std::forward<F>(body)(current_stream());
    scope.end(where);
}
template <detail::BatchBody F> void Batch::run(StreamRef stream, F&& body, Where where) {
    const ScopedStream in(stream, {.wait_on_enter = false}, where);
    run(std::forward<F>(body), where);
}

}  // namespace heddle
