// Lends CPU streams, whose native handle is their queue. with_native() can only lend CUDA streams.
#pragma once

#include "core/stream/lend.hpp"
#include "cpu/device/backend.hpp"
#include "cpu/queue/queue.hpp"
#include "support.hpp"

#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace heddle_test {

/// Calls function() while the stream is lent. If the stream has failed, returns false and calls
/// nothing.
template <class F>
bool lend_with(StreamRef stream, F&& function, std::span<const detail::MemoryArgument> memory,
               const SourceLocation& where) {
    detail::OpenLoan loan{detail::record_of(stream), "lend", where};
    if (!detail::begin_lend(loan, memory)) return false;
    try {
        function();
    } catch (...) {
        detail::end_lend(loan, memory);
        throw;
    }
    detail::end_lend(loan, memory);
    return true;
}
template <class F> bool lend(StreamRef stream, F&& function, Where where = {}) {
    return lend_with(stream, function, {}, where);
}
template <class F, std::derived_from<DeclaredAccess>... A>
bool lend(StreamRef stream, F&& function, const DeclaredAccess& first, const A&... more) {
    const detail::DeclaredMemory memory(first, more...);
    return lend_with(stream, function, memory, first.where());
}

/// Enqueues a host function on a CPU stream as code outside heddle would, so heddle does not count
/// it.
template <class F> void enqueue_natively(StreamRef stream, F&& function) {
    using Operation = detail::HostFunction<std::decay_t<F>>;
    Operation operation{std::forward<F>(function)};
    detail::cpu::queue_of(detail::record_of(stream))
        .push(detail::cpu::Step::work, Operation::type, &operation, 1, {}, false);
}

inline void note_natively(StreamRef s, const OrderLog& seen, std::string what) {
    enqueue_natively(s, [seen, what = std::move(what)] { seen.add(what); });
}

inline Stream cpu_stream() { return Stream(cpu_device()); }

}  // namespace heddle_test
