// Batches: scopes whose work is launched as one graph, which heddle makes and reuses.
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <utility>

#include <heddle/stream/scope.hpp>

namespace heddle {

namespace detail {
class BatchRun;
class BatchRecorder;
/// A callable without arguments, or one that takes the batch's stream.
template <class F>
concept BatchBody = std::invocable<F> || std::invocable<F, StreamRef>;
}  // namespace detail

/// What happened in a batch's last scope, as Batch::last() returns it.
struct BatchResult {
    /// How the work of a batch was enqueued.
    enum class How : std::uint8_t {
        nothing,       ///< nothing was recorded, or nothing has been flushed yet
        replayed,      ///< nothing had changed: a remembered graph was launched
        updated,       ///< same operations, other arguments: a remembered graph was patched
        instantiated,  ///< other operations: a new graph was made
        eager,         ///< not recorded, but enqueued directly; `why` has the reason. Also if all
                       ///< work of the scope was for streams that had not waited for the batch's
    };
    How how = How::nothing;      ///< of the last graph that was launched
    std::size_t operations = 0;  ///< recorded, in all graphs of the scope
    std::size_t changed = 0;     ///< those of them whose arguments were patched in a graph
    /// Launched by the scope: more than 1 if send() or an operation that cannot be deferred flushed
    /// the batch.
    std::size_t graphs = 0;
    std::string_view why = {};  ///< the reason for `how`, for people
};
/// Returns the name of a way, "replayed" for example.
const char* to_string(BatchResult::How how) noexcept;

/// Options of a Batch.
struct BatchOptions {
    /// Graphs that are kept, at least 1. The least recently used one is dropped first.
    std::size_t remembered = 8;
    /// Records on CPU devices too. Off by default: recording a launch costs about twice what
    /// the launch does there (docs/measurements.md).
    bool on_cpu = false;
};

/// Remembers the graphs of work that is enqueued again and again. What is recorded and when it is
/// flushed: see ScopedBatch.
///
///     Batch step;
///     for (int i = 0; i < n; ++i) {
///         ScopedBatch in(step);  // or step([&] { ... })
///         launch(Saxpy{}, dim(1000), 0.1f * i, x, y);
///         fill(w, 0.0f);
///     }
///
/// Lifetime: must not be moved or destroyed while a ScopedBatch uses it. Its graphs may still be
/// running when it is destroyed. Thread-safety: one thread at a time.
class Batch {
public:
    /// Makes a batch that remembers no graph yet.
    explicit Batch(BatchOptions options = {});
    Batch(Batch&&) noexcept;
    Batch& operator=(Batch&&) noexcept;
    ~Batch();

    /// Calls body() in a ScopedBatch, so that its work is launched on the current stream as one
    /// graph. If body() throws, the work recorded before is launched and the exception passed on.
    /// The body may take the stream as an argument.
    template <detail::BatchBody F> void operator()(F&& body, Where where = {});
    /// The same for work on `stream`, which is the current stream in body().
    template <detail::BatchBody F> void operator()(StreamRef stream, F&& body, Where where = {});

    /// Returns what happened in the last scope, or so far in the present one.
    BatchResult last() const noexcept;
    /// Returns the number of remembered graphs.
    std::size_t remembered() const noexcept;
    /// Drops all remembered graphs.
    void clear() noexcept;

private:
    friend detail::Access;
    detail::BatchRun* run_;  // owned (docs/adr/0039 says what a std::unique_ptr costs)
};

inline detail::BatchRun* detail::Access::run(const Batch& batch) noexcept { return batch.run_; }

/// Records the work enqueued on `stream` (default: the current one) and on streams that wait for
/// it. At the end of the scope, also by an exception, the work is launched as one graph.
///
/// Order: everything runs in the same order as without the scope. Work enqueued on a participant
/// after the scope is ordered after the whole graph. Work for streams that have not waited for
/// `stream` is enqueued at once. A Batch that has never recorded anything, though such work was
/// enqueued in its scopes, is reported to the report hook when it ends.
///
/// Operations that cannot be deferred flush the batch; recording then continues. They are:
/// - waiting for, or querying, a participant or an event recorded in the batch
/// - copies of pageable memory, and to_host()
/// - launches of graphs
/// - waits between a participant and a stream that has work of its own
///
/// Some streams are not recorded at all, as if the scope were not there: streams in a capture or in
/// another batch, streams whose native handle is out, and by default streams of CPU devices. If
/// `stream` is one of them, Batch::last() says `eager`.
///
/// Errors: UsageError if another ScopedBatch uses `batch`. An error of a flush is thrown by the
/// operation that caused it, by end(), and by Batch::operator(). The destructor passes it to the
/// report hook.
///
/// Work that fails poisons the streams that it would have poisoned without the scope. On CUDA
/// devices it poisons all streams whose work in the batch is connected with it by waits.
class ScopedBatch {
public:
    /// Begins to record. Errors: see the class.
    [[nodiscard]] explicit ScopedBatch(Batch& batch, StreamRef stream = current_stream(),
                                       Where where = {});
    /// Deleted for temporaries: the stream or lease would end before the scope.
    template <detail::StreamOwner Owner>
    ScopedBatch(Batch&, Owner&&, mistake::stream_ends_first = {}) = delete;
    ScopedBatch(const ScopedBatch&) = delete;
    ScopedBatch& operator=(const ScopedBatch&) = delete;
    ~ScopedBatch();

    /// Flushes the batch: launches what has been recorded so far. Recording then continues.
    void send(Where where = {});
    /// Flushes the batch and ends the scope early. Throws the errors of the flush.
    void end(Where where = {});

private:
    detail::BatchRun* run_;
    detail::BatchRecorder* recorder_ = nullptr;
    SourceLocation where_;
};

template <detail::BatchBody F> void Batch::operator()(F&& body, Where where) {
    ScopedBatch scope(*this, current_stream(), where);
    if constexpr (std::invocable<F>) std::forward<F>(body)();
    else std::forward<F>(body)(current_stream());
    scope.end(where);
}
template <detail::BatchBody F> void Batch::operator()(StreamRef stream, F&& body, Where where) {
    const ScopedStream in(stream, {.wait_on_enter = false}, where);
    (*this)(std::forward<F>(body), where);
}

}  // namespace heddle
