// to_host(): the elements of an array as a std::vector.
#pragma once

#include <type_traits>
#include <vector>

#include <heddle/error.hpp>
#include <heddle/memory/copy.hpp>
#include <heddle/stream/stream.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {

/// Throws UsageError if the stream is in a capture, where to_host() would wait for ever.
void check_to_host(StreamRef stream, const SourceLocation& where);
/// Returns the current stream of the memory's device (of cpu:0 for host memory), ordered after
/// every stream that used the memory. Called by to_host(). Throws UsageError if `owner` has been
/// freed, and in a capture.
StreamRef home_stream(const Block* owner, const void* data, const SourceLocation& where);

}  // namespace detail

/// Returns the elements as a std::vector. Blocks until they have been copied. The copy runs on
/// `stream`. Without a stream, it runs on the current stream of the array's device. The copy is
/// then ordered after all work on the array that was enqueued on any stream. Throws the stream's
/// failure if its work failed.
template <detail::Source A>
[[nodiscard]] auto to_host(StreamRef stream, const A& array, Where where = {}) try {
    auto source = detail::as_source(array, "to_host", where);
    using T = typename decltype(source)::value_type;
    detail::check_to_host(stream, where);
    // std::vector<bool> stores bits, not bool objects.
    using Host =
        std::conditional_t<std::is_same_v<T, bool>, std::vector<unsigned char>, std::vector<T>>;
    Host host(source.size());
    copy(stream, View<T>(reinterpret_cast<T*>(host.data()), host.size()), source, where);
    stream.synchronize(where);
    if constexpr (std::is_same_v<T, bool>) return std::vector<T>(host.begin(), host.end());
    else return host;
} catch (...) {
    detail::rethrow_as_error("to_host", where);
}
template <detail::Source A> [[nodiscard]] auto to_host(const A& array, Where where = {}) {
    auto source = detail::as_source(array, "to_host", where);
    return to_host(detail::home_stream(detail::Access::block(source), source.data(), where), source,
                   where);
}
/// Deleted: to copy into existing memory, write copy(to, array).
template <class Why = mistake::to_host_returns_a_vector_and_copy_writes_to_one, detail::Source A,
          detail::Source To>
Why to_host(const A&, To&&, Where = {}) = delete;
template <class Why = mistake::to_host_returns_a_vector_and_copy_writes_to_one, detail::Source A,
          detail::Source To>
Why to_host(StreamRef, const A&, To&&, Where = {}) = delete;

}  // namespace heddle
