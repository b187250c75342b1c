// to_host(): chooses the stream whose work it waits for.
#include "core/base/errors.hpp"
#include "core/memory/block_index.hpp"
#include "core/memory/copy.hpp"
#include "core/memory/memory.hpp"
#include "core/operation/activity.hpp"
#include "core/stream/usable.hpp"
#include <heddle/stream/current_stream.hpp>
#include <heddle/stream/scope.hpp>

namespace heddle::detail {

void check_to_host(StreamRef stream, const SourceLocation& where) try {
    if (has_watch()) ThreadActivity::name_call("to_host", where);
    check_usable(record_of(stream), "to_host", where);
    check_not_capturing(record_of(stream), "to_host", where);
} catch (...) {
    detail::rethrow_as_error("to_host", where);
}

StreamRef home_stream(const Block* owner, const void* data, const SourceLocation& where) try {
    if (owner != nullptr && !owner->alive.load(std::memory_order_relaxed))
        throw_dead_block(*owner, "to_host", where);
    if (owner == nullptr && data != nullptr) owner = find_block(data);
    const StreamRef stream = current_stream(space_of(owner, data).device);
    check_not_capturing(record_of(stream), "to_host", where);
    // Other streams that use the block may still be writing to it.
    if (owner != nullptr) wait_for_users(record_of(stream), *owner, WaitReason::copy, where);
    return stream;
} catch (...) {
    detail::rethrow_as_error("to_host", where);
}

}  // namespace heddle::detail
