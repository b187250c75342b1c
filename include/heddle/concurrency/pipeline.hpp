// Pipelines: copy pieces of input to a device, process them and copy results back, overlapped.
#pragma once

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

#include <heddle/memory/array.hpp>

namespace heddle {

/// Options of a Pipeline, and of overlap().
struct PipelineOptions {
    /// Pieces in flight at the same time, and buffers of each kind; at most 1024. 0 chooses 6, or 4
    /// if there is no input or no output.
    std::size_t depth = 0;
    /// Maximum input elements of a piece (output elements if there is no input), at least 1. By
    /// default 8 MB on CUDA devices, where copies reach their full rate. On CPU devices 512 KB to 8
    /// MB, to fit the caches.
    std::optional<std::size_t> piece = {};
    /// Maximum output elements of a piece, at least 1. By default the number of its input elements.
    std::optional<std::size_t> out_piece = {};
    int copy_priority = 0;  ///< priority of the streams that copy
    int work_priority = 0;  ///< priority of the stream that runs the work
    /// On CPU devices, lets the work use the host's buffers without copies. CUDA devices always
    /// copy, from and to pinned memory.
    bool in_place = true;
    std::string name = "pipeline";  ///< prefix of the streams' names: "pipeline: work"
    /// Called on the calling thread when a piece has completed (with output: when it is popped).
    /// Receives the numbers of pieces completed, and of their input elements (output elements if
    /// there is no input). Its exceptions stop the pipeline.
    std::function<void(std::uint64_t pieces, std::uint64_t elements)> progress = {};
};

namespace detail {

/// The memory that the work on a piece uses, untyped.
struct PieceMemory {
    const void* in;
    std::size_t in_count;
    Block* in_owner;
    void* out;
    std::size_t out_count;  ///< maximum number of outputs
    Block* out_owner;
};

/// Enqueues the work on a piece. Returns the number of outputs that it will have.
using EnqueueWork = std::size_t(void* work, StreamRef stream, const PieceMemory& memory);

/// The implementation of Pipeline, untyped.
class PipelineCore {
public:
    /// Makes a pipeline for element sizes in bytes; 0 means no input or no output.
    PipelineCore(Device device, std::size_t in_size, std::size_t out_size, PipelineOptions options,
                 Where where);
    ~PipelineCore();
    PipelineCore(const PipelineCore&) = delete;
    PipelineCore& operator=(const PipelineCore&) = delete;

    struct Result {
        const void* data;
        std::size_t count;
    };
    void* acquire(Where where);
    /// Returns the number of outputs of the piece.
    std::size_t submit(std::size_t count, EnqueueWork* enqueue, void* work, Where where);
    void submit_from(View<const std::byte> elements, EnqueueWork* enqueue, void* work, Where where);
    std::optional<Result> pop(Where where);
    void finish(Where where);
    void stop() noexcept;
    bool is_full() const noexcept;
    bool is_ready(Where where);
    std::size_t pending() const noexcept;
    std::size_t depth() const noexcept;
    std::size_t piece() const noexcept;
    StreamRef stream(int stage) const noexcept;  ///< 0: copy in, 1: work, 2: copy out

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// T, or std::byte in place of void, so that spans and views of it are valid types.
template <class T> using Element = std::conditional_t<std::is_void_v<T>, std::byte, T>;
template <class T> constexpr std::size_t element_size = std::is_void_v<T> ? 0 : sizeof(Element<T>);

/// Calls `work`. Returns the number of outputs: the result of `work`, or `all` if that returns
/// void.
template <class Work, class... A>
std::size_t count_outputs(Work& work, std::size_t all, A... args) {
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
    const auto in = Access::view(static_cast<const Element<In>*>(m.in), m.in_count, m.in_owner);
    const auto out = Access::view(static_cast<Element<Out>*>(m.out), m.out_count, m.out_owner);
    if constexpr (std::is_void_v<Out>) {
        call(stream, in);
        return 0;
    } else if constexpr (std::is_void_v<In>) {
        return count_outputs(call, m.out_count, stream, out);
    } else {
        const std::size_t most = m.in_count < m.out_count ? m.in_count : m.out_count;
        return count_outputs(call, most, stream, in, out);
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

/// Copies pieces of In to a device, processes them there, and returns pieces of Out, in order.
/// Copying in, work and copying out have a stream each, and overlap with each other and the host.
/// In is void if there is no input, and Out is void if there is no output. Elements must be
/// trivially copyable.
///
///     auto work = [](StreamRef s, View<const float> in) { launch(s, Sum{}, dim(in.size()), in); };
///     Pipeline<float> pipeline(Device{}, work);
///     const std::size_t count = read(pipeline.acquire());  // fills a span of host memory
///     pipeline.submit(count);
///     pipeline.finish();  // waits for all pieces
///
/// Slots form a ring of `depth()`. A slot is in use from acquire() until its piece has completed.
/// With output, it stays in use until its result has been popped. acquire() blocks only if all are
/// in use.
///
/// The work is a function work(stream, in, out) of a View<const In> and a View<Out>; a view of void
/// is omitted. submit() calls it to enqueue on `stream`. During the call `stream` is the current
/// stream, and is ordered after the previous current stream. The work returns the number of
/// outputs. If it returns void, a piece has as many outputs as inputs, at most `out_piece`.
///
/// Errors of a call or of enqueued work stop the pipeline: it waits for all pieces in flight and
/// throws the first error. Later calls throw the same error again. A UsageError for misuse of the
/// pipeline itself leaves it unchanged.
///
/// Lifetime: the destructor drops pieces not submitted and results not popped, and waits for the
/// rest. Failures that no call has thrown are passed to the report hook. Thread-safety: one thread
/// at a time; a call throws UsageError while another thread is in a call.
template <class In, class Out = void> class Pipeline {
    using InElement = detail::Element<In>;
    using OutElement = detail::Element<Out>;
    static constexpr bool has_in = !std::is_void_v<In>, has_out = !std::is_void_v<Out>;
    static_assert(has_in || has_out, "heddle::Pipeline: the input type and the output type are "
                                     "both void: use an element type for at least one of them");
    static_assert(
        detail::ArrayElement<InElement> && detail::ArrayElement<OutElement>,
        "heddle::Pipeline: elements are copied as bytes, so they must be trivially copyable");

public:
    /// Makes a pipeline; allocates slots at first use. Throws UsageError for a depth or a piece
    /// that is too large, for pieces of 0 elements, and if the device's current stream is
    /// capturing.
    template <detail::PieceWork<In, Out> Work>
    [[nodiscard]] Pipeline(Device device, Work work, PipelineOptions options = {},
                           Where where = {}) try
        : work_(new Work(std::move(work)), [](void* w) { delete static_cast<Work*>(w); }),
          enqueue_(&detail::enqueue_work<In, Out, Work>),
          core_(device, detail::element_size<In>, detail::element_size<Out>, std::move(options),
                where) {
    } catch (...) {
        detail::rethrow_as_error("Pipeline", where);
    }

    /// Deleted: the work must take (stream, in, out) with View<const In> and View<Out>.
    template <class Work>
        requires(!detail::PieceWork<Work, In, Out>)
    Pipeline(Device, Work, mistake::work_takes_stream_View_const_In_View_Out = {}) = delete;
    template <class Work>
        requires(!detail::PieceWork<Work, In, Out>)
    Pipeline(Device, Work, PipelineOptions, mistake::work_takes_stream_View_const_In_View_Out = {},
             Where = {}) = delete;

    /// Returns the next slot's host memory: `piece()` elements, to be filled and submitted. If all
    /// slots are in use, blocks, or throws UsageError if only pop() can free one. Throws UsageError
    /// if a slot is already acquired.
    ///
    /// If another stream fills the slot, make copy_in_stream() wait for it before submit(). Without
    /// a submit(), the fill must have completed before the pipeline is destroyed.
    std::span<InElement> acquire(Where where = {})
        requires has_in
    {
        return {static_cast<InElement*>(core_.acquire(where)), piece()};
    }
    /// Submits the first `count` elements of the acquired slot; 0 releases the slot. Throws
    /// UsageError if no slot is acquired or `count` exceeds piece().
    void submit(std::size_t count, Where where = {})
        requires has_in
    {
        core_.submit(count, enqueue_, work_.get(), where);
    }
    /// Submits at most `piece()` elements from their own memory, without acquire(). Releases a slot
    /// that was acquired. Reads pinned memory directly, pageable memory through staging. The
    /// elements must not change until the piece has completed. Blocks and throws as acquire().
    void submit(View<const InElement> elements, Where where = {})
        requires has_in
    {
        const auto* const data = reinterpret_cast<const std::byte*>(elements.data());
        core_.submit_from(
            detail::Access::view(data, elements.size_bytes(), detail::Access::block(elements)),
            enqueue_, work_.get(), where);
    }
    /// Copies elements into slots and submits them, piece by piece. Returns the number submitted:
    /// all if there is no output, else as many as fit before a result must be popped.
    std::size_t push(std::span<const InElement> elements, Where where = {})
        requires(has_in && !has_out)
    {
        return push_pieces(elements, where);
    }
    [[nodiscard]] std::size_t push(std::span<const InElement> elements, Where where = {})
        requires(has_in && has_out)
    {
        return push_pieces(elements, where);
    }
    /// Calls the work for the next piece of a pipeline without input. Returns the number of
    /// elements that the work made. If that is 0, submits no piece.
    std::size_t submit(Where where = {})
        requires(!has_in)
    {
        core_.acquire(where);
        return core_.submit(piece(), enqueue_, work_.get(), where);
    }

    /// Waits for the oldest result and returns it. Returns nullopt if no piece is in flight. The
    /// result is valid until the next call of acquire(), submit(), push() or pop(). Store it in a
    /// variable before looping over it.
    std::optional<std::span<const OutElement>> pop(Where where = {})
        requires has_out
    {
        const std::optional<detail::PipelineCore::Result> result = core_.pop(where);
        if (!result) return std::nullopt;
        return std::span<const OutElement>(static_cast<const OutElement*>(result->data),
                                           result->count);
    }
    /// Returns whether pop() would return a result without blocking.
    bool is_ready(Where where = {})
        requires has_out
    {
        return core_.is_ready(where);
    }

    /// Ends the input and waits for all pieces. Results can still be popped.
    void finish(Where where = {}) { core_.finish(where); }
    /// Waits for the pieces in flight and drops their results. Later calls throw UsageError, or an
    /// earlier failure.
    void stop() noexcept { core_.stop(); }

    /// Returns whether all slots were in use at the last call that checked them. Checks nothing
    /// itself.
    bool is_full() const noexcept { return core_.is_full(); }
    /// Returns the number of pieces submitted and not yet popped. Without output, returns the
    /// number of pieces not yet found complete.
    std::size_t pending() const noexcept { return core_.pending(); }
    /// Returns the number of slots.
    std::size_t depth() const noexcept { return core_.depth(); }
    /// Returns the number of elements of a slot.
    std::size_t piece() const noexcept { return core_.piece(); }
    /// Returns the stream that copies to the device. Before submit(), make it wait for other
    /// streams that fill a slot.
    StreamRef copy_in_stream() const noexcept { return core_.stream(0); }
    /// Returns the stream on which the work is enqueued.
    StreamRef work_stream() const noexcept { return core_.stream(1); }
    /// Returns the stream that copies results back.
    StreamRef copy_out_stream() const noexcept { return core_.stream(2); }

private:
    std::size_t push_pieces(std::span<const InElement> elements, const Where& where) {
        std::size_t taken = 0;
        while (taken < elements.size() && !(has_out && is_full())) {
            const std::span<InElement> slot = acquire(where);
            const std::size_t left = elements.size() - taken;
            const std::span<const InElement> part =
                elements.subspan(taken, left < slot.size() ? left : slot.size());
            std::memcpy(slot.data(), part.data(), part.size_bytes());
            submit(part.size(), where);
            taken += part.size();
        }
        return taken;
    }
    std::unique_ptr<void, void (*)(void*)> work_;
    detail::EnqueueWork* enqueue_;
    detail::PipelineCore core_;  // destroyed first; waits for the work
};

/// Runs an entire input through a Pipeline and blocks until all work has completed.
/// - read(std::span<In>) fills host memory and returns the number of elements; 0 ends the input.
/// - work(StreamRef, View<const In>, View<Out>) enqueues, as for Pipeline.
/// - write(std::span<const Out>) receives results, in order. It is not called for an empty result.
///
/// read and write are called on the calling thread, which reads ahead while a slot is free and no
/// result is ready. Errors: an error in one of the three functions, or in enqueued work, is thrown
/// when all work has completed. Results not yet written are then dropped.
template <class In, class Out, detail::PieceReader<In> Read, detail::PieceWork<In, Out> Work,
          detail::PieceWriter<Out> Write>
void overlap(Device device, Read&& read, Work&& work, Write&& write, PipelineOptions options = {},
             Where where = {}) {
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

/// Runs an input through a Pipeline without results: work(StreamRef, View<const In>).
template <class In, detail::PieceReader<In> Read, detail::PieceWork<In, void> Work>
void overlap(Device device, Read&& read, Work&& work, PipelineOptions options = {},
             Where where = {}) {
    Pipeline<In> pipeline(
        device, [&work](StreamRef s, View<const In> in) { work(s, in); }, std::move(options),
        where);
    for (bool more = true; more;) {
        const std::size_t count = static_cast<std::size_t>(read(pipeline.acquire(where)));
        pipeline.submit(count, where);
        more = count > 0;
    }
    pipeline.finish(where);
}

/// Runs a Pipeline without input, overlap<void, Out>: work(StreamRef, View<Out>) returns the number
/// of elements that it makes; 0 ends the run.
template <class In, class Out, detail::PieceWork<void, Out> Work, detail::PieceWriter<Out> Write>
    requires(std::is_void_v<In>)
void overlap(Device device, Work&& work, Write&& write, PipelineOptions options = {},
             Where where = {}) {
    Pipeline<void, Out> pipeline(
        device,
        [&work](StreamRef s, View<Out> out) { return static_cast<std::size_t>(work(s, out)); },
        std::move(options), where);
    for (bool more = true; more || pipeline.pending() > 0;) {
        if (more && !pipeline.is_full() && !pipeline.is_ready(where))
            more = pipeline.submit(where) > 0;
        else if (pipeline.pending() > 0) write(*pipeline.pop(where));
    }
    pipeline.finish(where);
}

}  // namespace heddle
