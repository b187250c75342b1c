// overlap(): runs an entire input through a pipeline.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include <heddle/concurrency/pipeline.hpp>

namespace heddle HEDDLE_VISIBLE {

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
