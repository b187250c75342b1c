// Checks of a collective's arguments, before anything is enqueued.
#include "collective/group.hpp"
#include "core/stream/recorder.hpp"

#include <functional>
#include <string>

#include "collective/check.hpp"
#include "core/memory/copy.hpp"
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

void check_memory(const Part& part, std::size_t element, Device device, const std::string& what,
                  const char* call, const SourceLocation& where) {
    if (part.size == 0) return;
    const auto refuse = [&](std::string message) {
        throw_error({.code = ErrorCode::usage,
                     .message = std::move(message),
                     .call = call,
                     .where = where});
    };
    if (part.data == nullptr) refuse(what + " is null, but not empty");
    if (part.owner != nullptr && !part.owner->alive.load(std::memory_order_relaxed))
        throw_dead_block(*part.owner, call, where);
    const Place place = place_of({part.data, part.size * element, part.owner});
    if (place.kind != MemoryKind::device)
        refuse(what + " is host memory: copy() it into an array of " + device.name());
    if (place.device != device)
        refuse(what + " is memory of " + place.device.name() + ", and the rank's device is " +
               device.name() + ": give it an array of that one");
}

namespace {

class Checks {
public:
    Checks(const std::vector<Device>& devices, CollectiveCall& call)
        : devices_(devices), call_(call), n_(devices.size()) {}

    void streams() {
        if (!call_.streams_given)
            for (const Device device : devices_)
                call_.streams.add(&Access::state(current_stream(device)));
        if (call_.streams.count != n_)
            refuse("there are " + std::to_string(n_) + " ranks and " +
                   std::to_string(call_.streams.count) +
                   " streams: name one for each device of the group, in its order");
        for (std::size_t i = 0; i < n_; ++i) {
            const StreamRef stream = Access::stream(*call_.streams[i]);
            if (!stream)
                refuse("the stream of rank " + std::to_string(i) +
                       " was destroyed or moved from, or there never was one");
            if (stream.device() != devices_[i])
                refuse("the stream of rank " + std::to_string(i) + " is of " +
                       stream.device().name() + ": it has to be of the rank's device, " +
                       devices_[i].name());
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
                refuse("the streams are in different captures, which cannot wait for each other: "
                       "one capture "
                       "takes all "
                       "of them in, those that are in none too");
        }
    }

    void root() const {
        if (call_.root >= n_)
            refuse("there is no rank " + std::to_string(call_.root) +
                   " to be the root: there are " + std::to_string(n_) + ", from 0");
    }

    void one_for_each(const PerRank<Part>& parts, const char* what) const {
        if (parts.count != n_)
            refuse("there are " + std::to_string(n_) + " ranks and " + std::to_string(parts.count) +
                   " views to " + what + ": give one for each device of the group, in its order");
    }
    void memory(const PerRank<Part>& parts) const {
        for (std::size_t i = 0; i < parts.count; ++i) memory(parts[i], i);
    }
    void memory(const Part& part, std::size_t rank) const {
        if (part.size != 0)
            check_memory(part, call_.element, devices_[rank],
                         "the view of rank " + std::to_string(rank), to_string(call_.kind),
                         call_.where);
    }

    void same_size(const PerRank<Part>& parts, std::size_t size) const {
        for (std::size_t i = 0; i < parts.count; ++i)
            if (parts[i].size != size)
                refuse("the view of rank " + std::to_string(i) + " has " +
                       std::to_string(parts[i].size) + " elements, and another one " +
                       std::to_string(size) + ": take first() or subview() of the larger");
    }
    /// Requires `whole` to have exactly the size of all parts together.
    void holds(const Part& whole, std::size_t rank, std::size_t sum) const {
        if (whole.size != sum)
            refuse("the view of rank " + std::to_string(rank) +
                   " that holds the parts of all ranks has " + std::to_string(whole.size) +
                   " elements, and the parts have " + std::to_string(sum) + " together");
    }
    /// Requires one rank's two views not to overlap, or `part` to be the elements of `whole` from
    /// `first` on.
    void in_place(const Part& whole, const Part& part, std::size_t first, std::size_t rank) const {
        if (whole.size == 0 || part.size == 0) return;
        const auto* const a = static_cast<const std::byte*>(whole.data);
        const auto* const b = static_cast<const std::byte*>(part.data);
        if (b == a + first * call_.element) return;
        if (std::less<>()(a, b + part.size * call_.element) &&
            std::less<>()(b, a + whole.size * call_.element))
            refuse("the two views of rank " + std::to_string(rank) +
                   " overlap: in place, the one is the " +
                   (whole.size == part.size ? std::string("other")
                                            : "other's subview(" + std::to_string(first) + ", " +
                                                  std::to_string(part.size) + ")") +
                   "; otherwise they are apart");
    }

    [[noreturn]] void refuse(std::string message) const {
        throw_error({.code = ErrorCode::usage,
                     .message = std::move(message),
                     .call = to_string(call_.kind),
                     .where = call_.where});
    }

private:
    const std::vector<Device>& devices_;
    CollectiveCall& call_;
    const std::size_t n_;
};

/// Checks the parts of all ranks against the views that hold all parts: one for each rank, or the
/// root's alone.
void check_parts(const Checks& check, const PerRank<Part>& parts, const PerRank<Part>& wholes,
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
        check.refuse("there is no ReduceOp " + std::to_string(static_cast<int>(call.op)));
    if (call.op == ReduceOp::average && call.type != ElementType::bytes && !is_floating(call.type))
        check.refuse("averages are of floating-point numbers: take the sum, and divide as the "
                     "program needs it");
    switch (call.kind) {
    case CollectiveKind::barrier:
    case CollectiveKind::exchange: break;
    case CollectiveKind::broadcast:
        check.one_for_each(call.receive, "send and receive");
        check.same_size(call.receive, call.receive[call.root].size);
        check.memory(call.receive);
        break;
    case CollectiveKind::scatter:
        check.one_for_each(call.receive, "receive");
        check_parts(check, call.receive, call.send, &call.root);
        break;
    case CollectiveKind::gather:
        check.one_for_each(call.send, "send");
        check_parts(check, call.send, call.receive, &call.root);
        break;
    case CollectiveKind::all_gather:
        check.one_for_each(call.send, "send");
        check.one_for_each(call.receive, "receive");
        check_parts(check, call.send, call.receive, nullptr);
        break;
    case CollectiveKind::reduce_scatter:
        check.one_for_each(call.send, "send");
        check.one_for_each(call.receive, "receive");
        check_parts(check, call.receive, call.send, nullptr);
        break;
    case CollectiveKind::reduce:
    case CollectiveKind::all_reduce:
        check.one_for_each(call.send, "send");
        if (call.kind == CollectiveKind::all_reduce) check.one_for_each(call.receive, "receive");
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
