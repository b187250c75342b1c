// Checks of a collective's arguments, before anything is enqueued.
#include "collective/group.hpp"

#include <functional>
#include <string>

#include "collective/check.hpp"
#include "core/base/errors.hpp"
#include "core/memory/copy.hpp"
#include "core/stream/recorded_calls.hpp"
#include <heddle/error.hpp>

namespace heddle::detail {

const char* to_string(CollectiveKind kind) noexcept {
    switch (kind) {
    case CollectiveKind::barrier: return "DeviceGroup::barrier";
    case CollectiveKind::broadcast: return "DeviceGroup::broadcast";
    case CollectiveKind::scatter: return "DeviceGroup::scatter";
    case CollectiveKind::gather: return "DeviceGroup::gather";
    case CollectiveKind::all_gather: return "DeviceGroup::all_gather";
    case CollectiveKind::reduce: return "DeviceGroup::reduce";
    case CollectiveKind::reduce_scatter: return "DeviceGroup::reduce_scatter";
    case CollectiveKind::all_reduce: return "DeviceGroup::all_reduce";
    case CollectiveKind::exchange: break;
    }
    return "DeviceGroup";
}

Offsets offsets_of(const PerRank<Part>& parts) {
    Offsets offsets;
    offsets[0] = 0;
    for (std::size_t i = 0; i < parts.count; ++i) offsets[i + 1] = offsets[i] + parts[i].size;
    return offsets;
}

void check_memory(Part& part, std::size_t element, Device device, const std::string& what,
                  const char* call, const SourceLocation& where) {
    if (part.size == 0) return;
    const ErrorSite site{call, where};
    if (part.data == nullptr)
        usage_error(site, "{} is null, but not empty: pass an array's view, or an empty view",
                    what);
    if (part.owner != nullptr && !part.owner->alive.load(std::memory_order_relaxed))
        throw_dead_block(*part.owner, call, where);
    const Operand operand = located({{part.data, part.size * element}, part.owner}, call, where);
    part.owner = operand.owner;
    const MemorySpace& space = operand.space;
    if (space.kind != MemoryKind::device)
        usage_error(
            site, "{} is in host memory: copy its elements to an array on {}, and pass that array",
            what, device);
    if (space.device != device)
        usage_error(site,
                    "{} is in memory of {}, but the rank's device is {}: pass an array on the "
                    "rank's device",
                    what, space.device, device);
}

void throw_no_rank(const ErrorSite& site, std::size_t rank, std::size_t ranks) {
    usage_error(site, "rank {} does not exist: use 0 to {}", rank, ranks - 1);
}

void check_average(ReduceOp op, ElementType type, const char* call, const SourceLocation& where) {
    if (op == ReduceOp::average && type != ElementType::bytes && !is_floating(type))
        usage_error({call, where},
                    "average supports floating-point types only: use ReduceOp::sum, then divide");
}

namespace {

class Checks {
public:
    Checks(const std::vector<Device>& devices, CollectiveCall& call)
        : devices_(devices), call_(call), n_(devices.size()) {}

    void streams() {
        if (!call_.has_streams)
            for (const Device device : devices_)
                call_.streams.add(&Access::state(current_stream(device)));
        if (call_.streams.count != n_) one_each(call_.streams.count, "streams");
        for (std::size_t i = 0; i < n_; ++i) {
            const StreamRef stream = Access::stream(*call_.streams[i]);
            if (!stream)
                usage_error(site(),
                            "the StreamRef of rank {} refers to no stream, because it is empty or "
                            "its Stream was destroyed or moved from: pass an existing stream",
                            i);
            if (stream.device() != devices_[i])
                usage_error(
                    site(),
                    "the stream of rank {} belongs to {}: pass a stream of the rank's device, {}",
                    i, stream.device(), devices_[i]);
        }
    }

    void captures() const {
        std::uint64_t first = 0;
        for (std::size_t i = 0; i < n_; ++i) {
            StreamRecord& record = record_of(*call_.streams[i]);
            if (!is_captured(record)) continue;
            const std::uint64_t id = recorder_id(record);
            if (first == 0) first = id;
            if (id != first)
                usage_error(site(), "the streams are in different captures, which cannot wait for "
                                    "each other: use a single capture for all streams");
        }
    }

    void root() const {
        if (call_.root >= n_) throw_no_rank(site(), call_.root, n_);
    }

    /// Requires one view for each rank. The message names the views by the second argument, for
    /// example "views to send".
    void one_for_each(const PerRank<Part>& parts, const char* what) const {
        if (parts.count != n_) one_each(parts.count, what);
    }
    void memory(PerRank<Part>& parts) const {
        for (std::size_t i = 0; i < parts.count; ++i) memory(parts[i], i);
    }
    void memory(Part& part, std::size_t rank) const {
        if (part.size != 0)
            check_memory(part, call_.element, devices_[rank],
                         formatted("the view of rank {}", rank), to_string(call_.kind),
                         call_.where);
    }

    void same_size(const PerRank<Part>& parts, std::size_t size) const {
        for (std::size_t i = 0; i < parts.count; ++i)
            if (parts[i].size != size)
                usage_error(site(),
                            "the view of rank {} has {} elements, but another view has {}: pass "
                            "first() or subview() of the larger view",
                            i, parts[i].size, size);
    }
    /// Requires that the size of `whole` is the sum of the sizes of all parts.
    void holds(const Part& whole, std::size_t rank, std::size_t sum) const {
        if (whole.size != sum)
            usage_error(site(),
                        "the view of rank {} for the parts of all ranks has {} elements, but the "
                        "parts have {} in total: pass a view of the total size",
                        rank, whole.size, sum);
    }
    /// Checks two views of one rank. They must not overlap, except that `part` may be the elements
    /// of `whole` from `first` on.
    void in_place(const Part& whole, const Part& part, std::size_t first, std::size_t rank) const {
        if (whole.size == 0 || part.size == 0) return;
        const auto* const a = static_cast<const std::byte*>(whole.data);
        const auto* const b = static_cast<const std::byte*>(part.data);
        if (b == a + first * call_.element) return;
        if (std::less<>()(a, b + part.size * call_.element) &&
            std::less<>()(b, a + whole.size * call_.element))
            usage_error(site(),
                        "the two views of rank {} overlap: for an in-place call pass {}; otherwise "
                        "use separate memory",
                        rank,
                        whole.size == part.size
                            ? "the same view twice"
                            : formatted("subview({}, {}) of the larger view", first, part.size));
    }

    ErrorSite site() const { return {to_string(call_.kind), call_.where}; }

private:
    [[noreturn]] void one_each(std::size_t count, const char* what) const {
        usage_error(site(),
                    "the group has {} ranks, but {} {} are passed: pass one for each device, in "
                    "the group's order",
                    n_, count, what);
    }

    const std::vector<Device>& devices_;
    CollectiveCall& call_;
    const std::size_t n_;
};

/// Compares the parts of all ranks with the views that contain all parts. Without a root, each rank
/// has such a view; with a root, only the root has such a view.
void check_parts(const Checks& check, PerRank<Part>& parts, PerRank<Part>& wholes,
                 const std::size_t* root) {
    check.memory(parts);
    const Offsets at = offsets_of(parts);
    for (std::size_t i = 0; i < wholes.count; ++i) {
        const std::size_t rank = root != nullptr ? *root : i;
        check.holds(wholes[i], rank, at[parts.count]);
        check.memory(wholes[i], rank);
        check.in_place(wholes[i], parts[rank], at[rank], rank);
    }
}

}  // namespace

void check_call(const std::vector<Device>& devices, CollectiveCall& call) {
    Checks check(devices, call);
    check.streams();
    check.captures();
    check.root();
    if (call.op > ReduceOp::average)
        usage_error(check.site(), "ReduceOp {} does not exist: use an enumerator of ReduceOp",
                    static_cast<int>(call.op));
    check_average(call.op, call.type, to_string(call.kind), call.where);
    switch (call.kind) {
    case CollectiveKind::barrier:
    case CollectiveKind::exchange: break;
    case CollectiveKind::broadcast:
        check.one_for_each(call.receive, "views to send and receive");
        check.same_size(call.receive, call.receive[call.root].size);
        check.memory(call.receive);
        break;
    case CollectiveKind::scatter:
        check.one_for_each(call.receive, "views to receive");
        check_parts(check, call.receive, call.send, &call.root);
        break;
    case CollectiveKind::gather:
        check.one_for_each(call.send, "views to send");
        check_parts(check, call.send, call.receive, &call.root);
        break;
    case CollectiveKind::all_gather:
        check.one_for_each(call.send, "views to send");
        check.one_for_each(call.receive, "views to receive");
        check_parts(check, call.send, call.receive, nullptr);
        break;
    case CollectiveKind::reduce_scatter:
        check.one_for_each(call.send, "views to send");
        check.one_for_each(call.receive, "views to receive");
        check_parts(check, call.receive, call.send, nullptr);
        break;
    case CollectiveKind::reduce:
    case CollectiveKind::all_reduce:
        check.one_for_each(call.send, "views to send");
        if (call.kind == CollectiveKind::all_reduce)
            check.one_for_each(call.receive, "views to receive");
        check.same_size(call.send, call.send[0].size);
        check.same_size(call.receive, call.send[0].size);
        check.memory(call.send);
        for (std::size_t i = 0; i < call.receive.count; ++i) {
            const std::size_t rank = call.kind == CollectiveKind::reduce ? call.root : i;
            check.memory(call.receive[i], rank);
            check.in_place(call.receive[i], call.send[rank], 0, rank);
        }
        break;
    }
}

}  // namespace heddle::detail
