#include "cpu/launch/launch.hpp"

#include "core/operation/calls.hpp"
#include "core/stream/recorded_calls.hpp"
#include "cpu/device/backend.hpp"
#include "cpu/queue/queue.hpp"

namespace heddle::detail::cpu {

namespace {
void push_timed(TimeWish wish, StreamRecord& stream, const OpType& type, void* self,
                std::size_t count, const SourceLocation& where) {
    Queue& queue = queue_of(stream);
    while (!queue.push_timed_unless_joined(wish, type, self, count, where))
        if (!make_way(stream, where)) return queue.push(Step::work, type, self, count, where, true);
}

void push_untimed(StreamRecord& stream, const OpType& type, void* self, std::size_t count,
                  const SourceLocation& where) {
    Queue& queue = queue_of(stream);
    while (!queue.push_unless_joined(type, self, count, where)) [[unlikely]]
        if (!make_way(stream, where)) return queue.push(Step::work, type, self, count, where, true);
}
}  // namespace

void push_work(StreamRecord& stream, const OpType& type, void* self, std::size_t count,
               const SourceLocation& where) {
    if (const std::uint64_t id = function_id(); id != 0) [[unlikely]] {
        const bool is_timed = timed_id() != 0;
        if (is_timed || type.is_host_function())
            return push_timed({id, is_timed}, stream, type, self, count, where);
    }
    push_untimed(stream, type, self, count, where);
}

void CpuBackend::enqueue(StreamRecord& stream, const OpType& type, void* self, std::size_t count,
                         const SourceLocation& where) {
    push_work(stream, type, self, count, where);
}

void CpuBackend::launch(StreamRecord& stream, const LaunchCall& call) {
    push_untimed(stream, *call.type.op, call.closure, call.count, call.where);
}

void CpuBackend::launch_timed(StreamRecord& stream, const LaunchCall& call, std::uint64_t id) {
    push_timed({id, true}, stream, *call.type.op, call.closure, call.count, call.where);
}

}  // namespace heddle::detail::cpu
