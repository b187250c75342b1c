// Pipelines: copy pieces of input to a device, process them and copy results back, overlapped.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <heddle/concurrency/detail/pieces.hpp>
#include <heddle/concurrency/pipeline_options.hpp>
#include <heddle/memory/array.hpp>

namespace heddle HEDDLE_VISIBLE {

/// Copies pieces of In to a device, processes them there, and returns pieces of Out, in order.
/// Copying in, work and copying out have a stream each, and overlap with each other and the host.
/// In is void if there is no input, and Out is void if there is no output. Elements must be
/// trivially copyable.
///
///     auto work = [](StreamRef s, View<const float> in) { launch(s, Sum{}, dim(in.size()), in); };
///     Pipeline<float> pipeline(current_device(), work);
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

}  // namespace heddle
