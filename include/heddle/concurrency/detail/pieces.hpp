// The part of a pipeline that does not depend on its types, and the pieces that it passes on.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

#include <heddle/concurrency/pipeline_options.hpp>
#include <heddle/memory/view.hpp>
#include <heddle/stream/stream.hpp>

namespace heddle HEDDLE_VISIBLE {

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

}  // namespace heddle
