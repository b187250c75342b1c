// Copies: checks them, and then records or enqueues them.
#include <heddle/memory/copy.hpp>
#include <heddle/memory/detail/regions.hpp>
#include <heddle/memory/fill.hpp>

#include <algorithm>
#include <optional>

#include <heddle/operation/observer.hpp>
#include <heddle/stream/current_stream.hpp>
#include <heddle/stream/scope.hpp>

#include "core/base/errors.hpp"
#include "core/memory/block_index.hpp"
#include "core/memory/copy.hpp"
#include "core/memory/memory.hpp"
#include "core/operation/host_access.hpp"
#include "core/stream/notify.hpp"
#include "core/stream/order.hpp"
#include "core/stream/recorded_calls.hpp"
#include "core/stream/submit.hpp"
#include "core/stream/usable.hpp"

namespace heddle::detail {

namespace {
/// Returns the array that contains the region, or null if there is none.
Block* owner_of(const Region& region, const char* call, const SourceLocation& where) {
    if (region.owner != nullptr || region.data == nullptr || region.total() == 0)
        return region.owner;
    Block* const block = find_block(region.data);
    if (block == nullptr) return nullptr;
    const std::size_t offset = region.address() - MemoryRange{block->data}.address();
    if (region.extent() > block->bytes - offset)
        usage_error({call, where},
                    "{} bytes from byte {} on exceed the array, which has {} bytes: pass a part of "
                    "the array",
                    region.extent(), offset, block->bytes);
    return block;
}
}  // namespace

MemorySpace space_of(const Block* owner, const void* data) {
    if (owner != nullptr) return {owner->device, owner->kind};
    MemorySpace space;
    if (cuda_backend().device_count() > 0 && cuda_backend().classify(data, space)) return space;
    return {Access::device(DeviceKind::cpu, 0), MemoryKind::pageable};
}

Operand located(const Region& region, const char* call, const SourceLocation& where) {
    Block* const owner = owner_of(region, call, where);
    return {region, space_of(owner, region.data), owner};
}

namespace {

[[noreturn]] void throw_null(const char* call, const char* side, const SourceLocation& where) {
    usage_error({call, where}, "the {} is null: pass an array or its view", side);
}
[[noreturn]] void throw_overlap(const char* call, const SourceLocation& where) {
    usage_error({call, where},
                "the destination and the source overlap: copy through another array");
}

std::string shape(const Region& r) {
    const std::size_t columns = r.bytes / r.element;
    return r.is_rectangle ? formatted("{} rows of {} elements", r.rows, columns)
                          : formatted("{} elements", columns);
}

const char* advice_on_sizes(const Region& to, const Region& from) noexcept {
    if (to.is_rectangle) return "pass rectangles with equal rows and columns";
    if (to.bytes == 0) return "resize the destination, or use the vector that to_host() returns";
    if (from.bytes == from.element) return "use fill() to repeat an element";
    return "pass first() or subview() of the larger view";
}

}  // namespace

bool check_regions(const Region& to, const Region& from, const SourceLocation& where) {
    const char* const call = to.is_rectangle ? "copy_2d" : "copy";
    for (const Region* side : {&to, &from})
        if (side->owner != nullptr && !side->owner->alive.load(std::memory_order_relaxed))
            throw_dead_block(*side->owner, call, where);
    if (to.bytes != from.bytes || to.rows != from.rows)
        usage_error({call, where}, "the destination has {}, but the source has {}: {}", shape(to),
                    shape(from), std::string_view(advice_on_sizes(to, from)));
    if (to.bytes == 0 || to.rows == 0) return false;
    if (to.data == nullptr || from.data == nullptr)
        throw_null(call, to.data == nullptr ? "destination" : "source", where);
    if (!to.overlaps(from)) return true;
    if (to.rows == 1) throw_overlap(call, where);
    // The rows of two rectangles may alternate without overlapping, if both are in one pitched
    // array.
    const auto [first, second] = std::minmax({to.address(), from.address()});
    const std::size_t pitch = to.pitch, offset = (second - first) % pitch;
    if (to.pitch != from.pitch || offset < to.bytes || pitch - offset < to.bytes)
        throw_overlap("copy_2d", where);
    return true;
}

namespace {

/// Reports that the host itself accesses pageable memory during the call.
void tell_host_side(const OpAccess& access, const SourceLocation& where) noexcept {
    tell_host_access(access.writes() ? "host writes" : "host reads", WaitReason::copy, {&access, 1},
                     access.total(), where);
}

const char* direction(const MemorySpace& to, const MemorySpace& from) {
    if (is_on_cuda(to))
        return is_on_cuda(from) ? (to.device == from.device ? "device to device" : "peer to peer")
                                : "host to device";
    return is_on_cuda(from) ? "device to host" : "host to host";
}

void check_can_copy(StreamRecord& stream, const MemorySpace& to, const MemorySpace& from,
                    const SourceLocation& where) {
    if (stream.device.is_cuda() || (!is_on_cuda(to) && !is_on_cuda(from))) return;
    check_not_lost(stream, "copy", where);
    const Device owner = is_on_cuda(to) ? to.device : from.device;
    usage_error({"copy", where, stream},
                "a stream of {} cannot copy memory of {}: pass a stream of {}, or no stream",
                stream.device, owner, owner);
}

enum class PageableUsers : bool { wait_for, are_done };

void copy_between(StreamRecord& stream, const Operand& to, const Operand& from,
                  const SourceLocation& where, PageableUsers users = PageableUsers::wait_for) {
    const bool to_host = to.space.kind == MemoryKind::pageable;
    const bool from_host = from.space.kind == MemoryKind::pageable;
    check_can_copy(stream, to.space, from.space, where);
    // A pageable side is free again when the call returns. Any other side is in use until the copy
    // completes.
    const ArrayUse uses[] = {{to_host ? nullptr : to.owner, true},
                             {from_host ? nullptr : from.owner, false}};
    const auto enqueue = [&] {
        // The host itself reads or writes pageable memory during the call, so it first waits for
        // the users of that memory.
        if (from_host && users == PageableUsers::wait_for) {
            block_until_unused(from.owner, where);
            if (from.owner != nullptr) throw_failure_of(*from.owner);
        }
        if (to_host && users == PageableUsers::wait_for) block_until_unused(to.owner, where);
        std::optional<BlockedSpan> blocked;
        if (to_host)
            blocked.emplace("copy", stream, BlockedSpan::For::own, WaitReason::copy, where);
        stream.backend->copy(stream, to, from, where);
    };
    submit(
        stream, Operation{OpKind::copy, "copy", direction(to.space, from.space), where}, uses,
        [&] { return record_copy(stream, to, from, where); }, enqueue,
        [&](OpInfo& op, auto&& tell) {
            const OpAccess accesses[] = {access_of(to, to.owner, AccessMode::write),
                                         access_of(from, from.owner, AccessMode::read)};
            op.bytes = to.total();
            op.accesses = accesses;
            tell();
            // Must follow the copy: only then does the backend know the copy's id and the time of
            // the call.
            if (to_host) tell_host_side(accesses[0], where);
            if (from_host) tell_host_side(accesses[1], where);
        });
    if (to_host) throw_known_failure(stream);  // the caller will read the memory next
}

}  // namespace

void copy_after_users(StreamRecord& stream, const Operand& to, const Operand& from,
                      const SourceLocation& where) {
    copy_between(stream, to, from, where, PageableUsers::are_done);
}

void copy_regions(StreamRef stream, const Region& to, const Region& from,
                  const SourceLocation& where) try {
    const CallMark mark("copy", where);
    check_usable(record_of(stream), "copy", where);
    if (!check_regions(to, from, where)) return;
    const Operand there = located(to, "copy", where), here = located(from, "copy", where);
    copy_between(record_of(stream), there, here, where);
} catch (...) {
    detail::rethrow_as_error("copy", where);
}

namespace {
/// Checks a copy without a stream argument. Throws UsageError if only one of its two streams is
/// captured: the copy waits for the other stream, and a capture cannot wait for work outside it.
/// Allowed if the copy's own stream is captured and the other stream has no pending work.
void check_copy_in_capture(StreamRecord& stream, StreamRecord& other, const SourceLocation& where) {
    const bool mine = is_captured(stream), theirs = is_captured(other);
    if (mine && !theirs &&
        !other.has(stream_flag::capturing | stream_flag::unseen | stream_flag::poisoned) &&
        is_idle(other, where))
        return;
    if (mine == theirs) return;
    const StreamRecord& outside = mine ? other : stream;
    usage_error({"copy", where, stream},
                "in a capture, a copy without a stream is ordered after the current streams of "
                "both devices, but '{}' of {} {}: call copy(stream, to, from), {}",
                outside, outside.device,
                mine ? "is not captured and has work pending" : "runs the copy and is not captured",
                mine ? "add that stream to the capture with wait_stream(), or wait for it before "
                       "the capture begins"
                     : "or add that stream to the capture with wait_stream()");
}
}  // namespace

void copy_regions(const Region& to_region, const Region& from_region,
                  const SourceLocation& where) try {
    const CallMark mark("copy", where);
    if (!check_regions(to_region, from_region, where)) return;
    const Operand to = located(to_region, "copy", where),
                  from = located(from_region, "copy", where);
    const Device device = is_on_cuda(to.space)                  ? to.space.device
                          : is_on_cuda(from.space)              ? from.space.device
                          : to.space.kind == MemoryKind::device ? to.space.device
                                                                : from.space.device;
    const StreamRef stream = current_stream(device);
    // The device of the other side has a current stream, too. The copy is ordered after the work
    // already enqueued on that stream, and before its later work.
    const bool at_destination = to.space.kind == MemoryKind::device && to.space.device == device;
    const Operand& far = at_destination ? from : to;
    // Pinned memory belongs to no device. So the current CPU stream matters only if CPU streams
    // have used the memory.
    const bool both = far.space.device != device &&
                      (far.space.kind == MemoryKind::device ||
                       (far.space.kind == MemoryKind::pinned && used_on_cpu(far.owner)));
    const StreamRef other = both ? current_stream(far.space.device) : stream;
    // The program did not request these waits, so they do not make a stream join a capture. If only
    // one stream is captured, the other is ordered by the launches of the graph.
    if (both) check_copy_in_capture(record_of(stream), record_of(other), where);
    if (both) order_after_stream(record_of(stream), record_of(other), where, WaitReason::peer);
    copy_between(record_of(stream), to, from, where);
    if (both && (!is_captured(record_of(stream)) || is_captured(record_of(other))))
        order_after_stream(record_of(other), record_of(stream), where, WaitReason::peer);
} catch (...) {
    detail::rethrow_as_error("copy", where);
}

}  // namespace heddle::detail
