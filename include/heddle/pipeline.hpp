// Pipelines: pieces of input copied in, worked on and copied out, all at the same time.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <heddle/array.hpp>

namespace heddle {

/// What a pipeline may be told; 0 means that it chooses.
struct PipelineOptions {
    std::size_t depth = 0;  ///< pieces under way at the same time, and buffers of each kind; at most 1024
    /// Elements of input a piece has at most (of output, where there is no input). Chosen: 8 MB on CUDA devices, where
    /// copies reach their full rate; what fits the caches on CPU devices.
    std::size_t piece = 0;
    std::size_t out_piece = 0;  ///< elements of output at most of a piece; 0: as many as it has of input
    int copy_priority = 0;      ///< of the streams that copy
    int work_priority = 0;      ///< of the stream that works
    /// CPU devices: work is given the host's buffers themselves, and nothing is copied. CUDA devices always copy.
    bool in_place = true;
    std::string name = "pipeline";  ///< of its streams: "pipeline: work"
    /// Called on the calling thread whenever a piece is done (with results: when they are taken), with the pieces and the
    /// elements of input (of output, where there is no input) that are done. What it throws stops the pipeline.
    std::function<void(std::uint64_t pieces, std::uint64_t elements)> progress = {};
};

namespace detail {

/// A piece's memory on the device, without its types.
struct PieceMemory {
    const void* in;
    std::size_t in_count;
    Block* in_owner;
    void* out;
    std::size_t out_count;  ///< at most
    Block* out_owner;
};

/// Gives the work on a piece to a stream; returns how many outputs there will be.
using EnqueueWork = std::size_t(void* work, StreamRef stream, const PieceMemory& memory);

/// A pipeline, without its types. See Pipeline.
class PipelineCore {
public:
    /// Element sizes in bytes; 0: no input, no output.
    PipelineCore(Device device, std::size_t in_size, std::size_t out_size, PipelineOptions options,
                 SourceLocation where);
    ~PipelineCore();
    PipelineCore(const PipelineCore&) = delete;
    PipelineCore& operator=(const PipelineCore&) = delete;

    struct Result {
        const void* data;
        std::size_t count;
    };
    void* acquire(SourceLocation where);
    /// Returns how many outputs the piece has.
    std::size_t submit(std::size_t count, EnqueueWork* enqueue, void* work, SourceLocation where);
    void submit_from(View<const std::byte> elements, EnqueueWork* enqueue, void* work, SourceLocation where);
    std::optional<Result> pop(SourceLocation where);
    void finish(SourceLocation where);
    void stop() noexcept;
    bool is_full() const noexcept;
    bool is_ready(SourceLocation where);
    std::size_t pending() const noexcept;
    std::size_t depth() const noexcept;
    std::size_t piece() const noexcept;
    StreamRef stream(int stage) const noexcept;  ///< 0 copies in, 1 works, 2 copies out

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// The element of a span where there may be none.
template <class T> using Element = std::conditional_t<std::is_void_v<T>, std::byte, T>;
template <class T> constexpr std::size_t element_size = std::is_void_v<T> ? 0 : sizeof(Element<T>);

/// How many outputs a call of `work` announces: what it returns, or as many as there is input.
template <class Work, class... A> std::size_t count_outputs(Work& work, std::size_t all, A... args) {
    if constexpr (std::is_void_v<std::invoke_result_t<Work&, A...>>) {
        work(args...);
        return all;
    } else {
        return static_cast<std::size_t>(work(args...));
    }
}

template <class In, class Out, class Work>
std::size_t enqueue_work(void* work, StreamRef stream, const PieceMemory& m) {
    Work& call = *static_cast<Work*>(work);
    const View<const Element<In>> in(static_cast<const Element<In>*>(m.in), m.in_count, m.in_owner);
    const View<Element<Out>> out(static_cast<Element<Out>*>(m.out), m.out_count, m.out_owner);
    if constexpr (std::is_void_v<Out>) {
        call(stream, in);
        return 0;
    } else if constexpr (std::is_void_v<In>) {
        return count_outputs(call, m.out_count, stream, out);
    } else {
        return count_outputs(call, std::min(m.in_count, m.out_count), stream, in, out);
    }
}

template <class W, class In, class Out> constexpr bool takes_pieces() {
    if constexpr (std::is_void_v<In>) return std::is_invocable_v<W&, StreamRef, View<Element<Out>>>;
    else if constexpr (std::is_void_v<Out>)
        return std::is_invocable_v<W&, StreamRef, View<const Element<In>>>;
    else return std::is_invocable_v<W&, StreamRef, View<const Element<In>>, View<Element<Out>>>;
}
template <class W, class In, class Out>
concept PieceWork = takes_pieces<W, In, Out>();
template <class R, class In>
concept PieceReader = !std::is_void_v<In> && std::invocable<R&, std::span<Element<In>>>;
template <class W, class Out>
concept PieceWriter = !std::is_void_v<Out> && std::invocable<W&, std::span<const Element<Out>>>;

}  // namespace detail

/// Pieces of In go to a device, are worked on there, and come back as pieces of Out, in order. Copying in, work and
/// copying out have a stream each, so that they run side by side, with the host filling the next piece. Void: no input,
/// or no output. Elements are trivially copyable.
///
/// A ring of `depth()` slots: a slot is in use from acquire() until its piece is done and, where there is output,
/// until its result was taken. Only a ring that is wholly in use holds the caller up.
///
/// The work is a function that is called in submit() and enqueues on the stream it is given, which is the current one
/// meanwhile and comes after what was current before: work(stream, in, out) with View<const In> and View<Out>, less the
/// one that is void. It returns how many outputs the piece has, or nothing: as many as there is input, at most `out_piece`.
///
/// What fails, be it called or enqueued, stops the pipeline: what was begun is waited for, and the first error is thrown, by this
/// call and all later ones. Only misuse (UsageError of a call's own) changes nothing. Destroying a pipeline drops what was
/// not submitted and results that were not taken, and waits for the rest.
/// Thread-safety: as a variable; two pipelines are independent.
template <class In, class Out = void> class Pipeline {
    using InElement = detail::Element<In>;
    using OutElement = detail::Element<Out>;
    static constexpr bool has_in = !std::is_void_v<In>, has_out = !std::is_void_v<Out>;
    static_assert(has_in || has_out, "heddle::Pipeline: neither input nor output");
    static_assert(std::is_trivially_copyable_v<InElement> && std::is_trivially_copyable_v<OutElement>,
                  "heddle::Pipeline: elements are copied as bytes, so they must be trivially copyable");

public:
    /// Allocates slots when they are first used. Throws UsageError for sizes that make no sense.
    template <detail::PieceWork<In, Out> Work>
    [[nodiscard]] Pipeline(Device device, Work work, PipelineOptions options = {},
                           SourceLocation where = SourceLocation::current()) try
        : work_(new Work(std::move(work)), [](void* w) { delete static_cast<Work*>(w); }),
          enqueue_(&detail::enqueue_work<In, Out, Work>),
          core_(device, detail::element_size<In>, detail::element_size<Out>, std::move(options), where) {
    } catch (...) {
        detail::rethrow_as_error("Pipeline", where);
    }

    /// The next slot's pinned memory, `piece()` elements, to be filled and submitted; the same again until then. Waits
    /// where all slots are in use; throws UsageError where only pop() could free one. Where another stream fills it, let
    /// copy_in_stream() wait for that before submit(), and let it be done before a pipeline without submit() is destroyed.
    std::span<InElement> acquire(SourceLocation where = SourceLocation::current()) requires has_in {
        return {static_cast<InElement*>(core_.acquire(where)), piece()};
    }
    /// Sends the first `count` elements of the acquired slot through; 0 gives the slot back.
    void submit(std::size_t count, SourceLocation where = SourceLocation::current()) requires has_in {
        core_.submit(count, enqueue_, work_.get(), where);
    }
    /// Sends elements through from where they are, at most `piece()`, without acquire(): pinned memory is copied from as it
    /// is, pageable memory by heddle's staging. They must stay as they are until the piece is done.
    void submit(View<const InElement> elements,
                SourceLocation where = SourceLocation::current()) requires has_in {
        core_.submit_from(
            {reinterpret_cast<const std::byte*>(elements.data()), elements.size_bytes(), elements.owner()},
            enqueue_, work_.get(), where);
    }
    /// Copies elements into slots and submits them, piece by piece. Returns how many were taken: all where there is no
    /// output, else as many as fit before results have to be taken.
    std::size_t push(std::span<const InElement> elements,
                     SourceLocation where = SourceLocation::current()) requires has_in {
        std::size_t taken = 0;
        while (taken < elements.size() && !(has_out && is_full())) {
            const std::span<InElement> slot = acquire(where);
            const std::span<const InElement> part =
                elements.subspan(taken, std::min(slot.size(), elements.size() - taken));
            std::memcpy(slot.data(), part.data(), part.size_bytes());
            submit(part.size(), where);
            taken += part.size();
        }
        return taken;
    }
    /// Without input: has the next piece made. Returns how many elements it has; of none, nothing is sent.
    std::size_t submit(SourceLocation where = SourceLocation::current()) requires(!has_in) {
        core_.acquire(where);
        return core_.submit(piece(), enqueue_, work_.get(), where);
    }

    /// The oldest result, after waiting for it; nothing where none is under way. Valid until the next call of acquire(),
    /// submit(), push() or pop().
    std::optional<std::span<const OutElement>> pop(
        SourceLocation where = SourceLocation::current()) requires has_out {
        const std::optional<detail::PipelineCore::Result> result = core_.pop(where);
        if (!result) return std::nullopt;
        return std::span<const OutElement>(static_cast<const OutElement*>(result->data), result->count);
    }
    /// Whether pop() has a result and need not wait for it.
    bool is_ready(SourceLocation where = SourceLocation::current()) requires has_out {
        return core_.is_ready(where);
    }

    /// Ends the input and waits for all pieces. Results can still be taken.
    void finish(SourceLocation where = SourceLocation::current()) { core_.finish(where); }
    /// Gives up: waits for what was submitted and drops it. Later calls throw UsageError, or what failed before.
    void stop() noexcept { core_.stop(); }

    bool is_full() const noexcept { return core_.is_full(); }  ///< all slots are in use, as far as was looked
    std::size_t pending() const noexcept { return core_.pending(); }  ///< pieces submitted and not taken
    std::size_t depth() const noexcept { return core_.depth(); }
    std::size_t piece() const noexcept { return core_.piece(); }
    StreamRef copy_in_stream() const noexcept { return core_.stream(0); }
    StreamRef work_stream() const noexcept { return core_.stream(1); }
    StreamRef copy_out_stream() const noexcept { return core_.stream(2); }

private:
    std::unique_ptr<void, void (*)(void*)> work_;
    detail::EnqueueWork* enqueue_;
    detail::PipelineCore core_;  // destroyed first: waits
};

/// Runs all of an input through a pipeline and returns when everything is done.
///   read(std::span<In>) -> number      fills pinned memory, returns how many elements; 0: the end
///   work(StreamRef, View<const In>, View<Out>)   enqueues, as for Pipeline
///   write(std::span<const Out>)        takes results, in order; not called for a piece without any
/// read and write are called on this thread, which reads ahead while there are free slots and no result is ready. What
/// one of the three or the enqueued work throws comes out when nothing is running any more; results not written yet are dropped.
template <class In, class Out, detail::PieceReader<In> Read, detail::PieceWork<In, Out> Work,
          detail::PieceWriter<Out> Write>
void overlap(Device device, Read&& read, Work&& work, Write&& write, PipelineOptions options = {},
             SourceLocation where = SourceLocation::current()) {
    Pipeline<In, Out> pipeline(
        device, [&work](StreamRef s, View<const In> in, View<Out> out) { return work(s, in, out); },
        std::move(options), where);
    for (bool more = true; more || pipeline.pending() > 0;) {
        if (more && !pipeline.is_full() && !pipeline.is_ready(where)) {
            const std::size_t count = static_cast<std::size_t>(read(pipeline.acquire(where)));
            pipeline.submit(count, where);
            more = count > 0;
        } else if (const std::span<const Out> result = *pipeline.pop(where); !result.empty()) {
            write(result);
        }
    }
    pipeline.finish(where);
}

/// The same without results: work(StreamRef, View<const In>).
template <class In, detail::PieceReader<In> Read, detail::PieceWork<In, void> Work>
void overlap(Device device, Read&& read, Work&& work, PipelineOptions options = {},
             SourceLocation where = SourceLocation::current()) {
    Pipeline<In> pipeline(
        device, [&work](StreamRef s, View<const In> in) { work(s, in); }, std::move(options), where);
    for (bool more = true; more;) {
        const std::size_t count = static_cast<std::size_t>(read(pipeline.acquire(where)));
        pipeline.submit(count, where);
        more = count > 0;
    }
    pipeline.finish(where);
}

/// The same without input, overlap<void, Out>: work(StreamRef, View<Out>) returns how many elements it makes; 0: the end.
template <class In, class Out, detail::PieceWork<void, Out> Work, detail::PieceWriter<Out> Write>
    requires(std::is_void_v<In>)
void overlap(Device device, Work&& work, Write&& write, PipelineOptions options = {},
             SourceLocation where = SourceLocation::current()) {
    Pipeline<void, Out> pipeline(
        device, [&work](StreamRef s, View<Out> out) { return static_cast<std::size_t>(work(s, out)); },
        std::move(options), where);
    for (bool more = true; more || pipeline.pending() > 0;) {
        if (more && !pipeline.is_full() && !pipeline.is_ready(where)) more = pipeline.submit(where) > 0;
        else if (pipeline.pending() > 0) write(*pipeline.pop(where));
    }
    pipeline.finish(where);
}

}  // namespace heddle
