// Batches: a scope whose work goes to the device as one graph, with nobody thinking of graphs.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include <heddle/scope.hpp>

namespace heddle {

namespace detail {
class BatchRun;
class BatchRecorder;
}  // namespace detail

/// What became of a batch.
struct BatchResult {
    enum class How : std::uint8_t {
        nothing,       ///< nothing was recorded, or it has not been left yet
        replayed,      ///< nothing had changed: a graph of an earlier time was launched
        updated,       ///< the same operations with other arguments: those were changed in it
        instantiated,  ///< other operations: a new graph was made
        eager,         ///< it was not recorded; `why` says why
    };
    How how = How::nothing;      ///< of the last graph that was sent
    std::size_t operations = 0;  ///< recorded, in all graphs of this time
    std::size_t changed = 0;     ///< of them, those whose arguments were changed in a graph
    std::size_t graphs = 0;      ///< sent; more than 1: something in the scope could not wait for its end
    std::string_view why = {};   ///< for people
};
std::string_view name_of(BatchResult::How how) noexcept;

struct BatchOptions {
    std::size_t remembered =
        8;  ///< graphs that are kept, at least 1; the one not used for longest goes first
    /// On CPU devices a launch costs less than recording it (some 40 ns for 90, on their processors), so that there batches are not recorded, unless this says so.
    bool on_cpu = false;
};

/// Remembers the graphs of work that comes again and again. Used by one thread at a time; moving or destroying it while a ScopedBatch uses it is
/// not allowed. Its graphs may still run when it is destroyed.
class Batch {
public:
    explicit Batch(BatchOptions options = {});
    Batch(Batch&&) noexcept;
    Batch& operator=(Batch&&) noexcept;
    ~Batch();

    /// What body() enqueues goes to the current stream as one graph; what it throws is thrown on, with what came before sent.
    template <std::invocable F> void operator()(F&& body, SourceLocation where = SourceLocation::current());

    /// What happened the last time.
    BatchResult last() const noexcept;
    /// How many graphs are remembered, and forgetting them.
    std::size_t remembered() const noexcept;
    void clear() noexcept;

private:
    friend class ScopedBatch;
    std::unique_ptr<detail::BatchRun> run_;
};

/// Records what `stream` (default: the current one) and those that wait for it are given, and sends it as one graph when the scope is left. Everything
/// runs in the order in which it would have run without the scope; streams that took part come after the whole graph with
/// what they are given later.
///
/// Whatever has to happen at once makes it send what has been recorded so far, and goes on recording: waiting for a stream or an event, or asking about
/// it; copies of pageable memory, to_host(); launches of graphs; waits for streams with work of their own. Work for streams that did not wait
/// for this one is not recorded, but done. An exception sends what was recorded before it.
///
/// Not recorded at all, but done as if the scope were not there: streams that are being captured or recorded by another batch, and streams whose native handle
/// others hold, and by default streams of CPU devices (Batch::last() says so). Errors while sending are thrown by Batch::operator(), and by whatever made it send;
/// leaving a ScopedBatch reports them.
class ScopedBatch {
public:
    [[nodiscard]] explicit ScopedBatch(Batch& batch, StreamRef stream = current_stream(),
                                       SourceLocation where = SourceLocation::current());
    /// A temporary stream is gone before it is used.
    template <class Owner>
        requires std::same_as<Owner, Stream> ScopedBatch(Batch&, Owner&&,
                                                         SourceLocation = SourceLocation::current())
    = delete;
    ScopedBatch(const ScopedBatch&) = delete;
    ScopedBatch& operator=(const ScopedBatch&) = delete;
    ~ScopedBatch();

    /// Sends what has been recorded until now, and goes on recording.
    void send(SourceLocation where = SourceLocation::current());
    /// Sends the rest and ends the scope early; errors are thrown.
    void end(SourceLocation where = SourceLocation::current());

private:
    detail::BatchRun* run_;
    detail::BatchRecorder* recorder_ = nullptr;
    SourceLocation where_;
};

template <std::invocable F> void Batch::operator()(F&& body, SourceLocation where) {
    ScopedBatch scope(*this, current_stream(), where);
    std::forward<F>(body)();
    scope.end(where);
}

}  // namespace heddle
