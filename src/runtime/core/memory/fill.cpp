// Fills: checks them, and then records or enqueues them.
#include "core/base/errors.hpp"
#include "core/memory/copy.hpp"
#include "core/memory/memory.hpp"
#include "core/operation/host_access.hpp"
#include "core/stream/recorded_calls.hpp"
#include "core/stream/submit.hpp"
#include "core/stream/usable.hpp"
#include <heddle/stream/current_stream.hpp>
#include <heddle/stream/scope.hpp>

namespace heddle::detail {

namespace {
void fill_on(StreamRecord& stream, const Operand& to, const void* value, std::size_t size,
             const SourceLocation& where) {
    // A stream of any device can fill host memory. To fill device memory, the stream's kernels must
    // be able to access it.
    if (to.owner != nullptr && is_on_cuda(to.space)) check_reach(to.owner, stream, where);
    else if (is_on_cuda(to.space) && !stream.device.is_cuda())
        usage_error({"fill", where, stream},
                    "work on {} cannot access memory of {}: pass a stream of {}, or no stream",
                    stream.device, to.space.device, to.space.device);
    const ArrayUse uses[] = {{to.owner, true}};
    submit(
        stream, Operation{OpKind::fill, "fill", "fill", where}, uses,
        [&] { return record_fill(stream, to, value, size, where); },
        [&] { stream.backend->fill(stream, to, value, size, where); },
        [&](OpInfo& op, auto&& tell) {
            const OpAccess access = access_of(to, to.owner, AccessMode::write);
            op.bytes = to.total();
            op.accesses = {&access, 1};
            tell();
        });
}
}  // namespace

bool check_fill(const Region& to, const SourceLocation& where) {
    if (to.owner != nullptr && !to.owner->alive.load(std::memory_order_relaxed))
        throw_dead_block(*to.owner, "fill", where);
    if (to.bytes == 0 || to.rows == 0) return false;
    if (to.data == nullptr)
        usage_error({"fill", where}, "the destination is null: pass an array or its view");
    return true;
}

void fill_region(StreamRef stream, const Region& to, const void* value, std::size_t size,
                 const SourceLocation& where) try {
    const CallMark mark("fill", where);
    check_usable(record_of(stream), "fill", where);
    if (!check_fill(to, where)) return;
    fill_on(record_of(stream), located(to, "fill", where), value, size, where);
} catch (...) {
    detail::rethrow_as_error("fill", where);
}

void fill_region(const Region& to, const void* value, std::size_t size,
                 const SourceLocation& where) try {
    const CallMark mark("fill", where);
    if (!check_fill(to, where)) return;
    const Operand operand = located(to, "fill", where);
    fill_on(record_of(current_stream(operand.space.device)), operand, value, size, where);
} catch (...) {
    detail::rethrow_as_error("fill", where);
}

}  // namespace heddle::detail
