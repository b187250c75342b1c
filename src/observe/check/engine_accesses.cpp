// Accesses of operations, and the findings that follow from them.
#include "check/engine.hpp"

#include <algorithm>
#include <utility>

#include "check/kinds.hpp"

namespace heddle::detail {

namespace {

bool overwrites(AccessMode mode) noexcept {
    return mode == AccessMode::write || mode == AccessMode::read_write;
}
bool overwrites(const CheckAccess& access) noexcept { return overwrites(access.mode); }

Mark mark_of(const CheckOp& op, const CheckAccess& access, Epoch epoch) noexcept {
    return {.epoch = epoch,
            .site = op.site,
            .mode = access.mode,
            .argument = access.argument,
            .is_free = op.kind == OpKind::free,
            .by_allocation = op.kind == OpKind::allocate,
            .is_raw = access.allocation == 0,
            .is_guess = access.is_guess};
}

}  // namespace

void CheckEngine::access_all(const Step& step) {
    const Order order{&step.stream->clock, &floor_, step.stream->slot};
    // Adds writes first, so that a read of memory that the same operation writes adds no conflict.
    for (const bool writes : {true, false})
        for (const CheckAccess& one : step.op.accesses)
            if (overwrites(one) == writes)
                access(step.op, one, mark_of(step.op, one, step.epoch), order, step.stream);
}

void CheckEngine::access_by_host(const CheckOp& op) {
    const Past* const function = op.parent != 0 ? functions_.find(op.parent) : nullptr;
    Clock known;
    if (function != nullptr) known.join(function->moment.before, function->moment.at, floor_);
    else if (op.parent != 0) known = functions_.forgotten();
    const Epoch epoch{host_slot, ++host_position_};
    for (const CheckAccess& one : op.accesses) {
        if (op.reason == WaitReason::copy) become_host_access(op, one);
        access(op, one, mark_of(op, one, epoch), {&known, &floor_, host_slot}, nullptr);
    }
}

/// Stores the conflicts of the access in conflicts_.
void CheckEngine::find_by_host(const CheckOp& op, const CheckAccess& access) {
    conflicts_.clear();
    const AllocationTrack* const memory = memory_.find(access.allocation);
    if (memory == nullptr) return;
    const Clock nothing;
    const Epoch now{host_slot, host_position_ + 1};
    memory->history.look(access, mark_of(op, access, now), {&nothing, &floor_, host_slot},
                         conflicts_);
    std::erase_if(conflicts_, [&](const Conflict& one) {
        const bool is_lifetime = one.first.by_allocation || one.first.is_free;
        return abandoned_.contains(one.first.epoch.word()) ||
               (is_lifetime && op.reach == HostReach::takes_address);
    });
}

/// Returns true if there is no conflict to report. Compares the whole array first, so that one
/// comparison serves a loop over the array. Sets `answer` to the bytes around `use` without
/// conflicts.
bool CheckEngine::compare_by_host(const CheckOp& op, const CheckAccess& use, const CheckAccess& all,
                                  HostLook& answer) {
    find_by_host(op, all);
    answer = {all.address(), all.end()};
    for (const Conflict& one : conflicts_) {
        if (one.end <= use.address()) answer.begin = std::max(answer.begin, one.end);
        else if (one.begin >= use.end()) answer.end = std::min(answer.end, one.begin);
        else answer.is_race = true;
    }
    if (!answer.is_race) return true;
    answer = {use.address(), use.end()};
    find_by_host(op, use);  // the use may be between the rows of a strided access
    return conflicts_.empty();
}

void CheckEngine::tell_by_host(const CheckOp& op, const CheckAccess& use, HostLook& answer) {
    const AllocationTrack& memory = memory_.of(use);
    const std::size_t first_finding = findings_.size();
    const Clock nothing;
    tell({op,
          use,
          mark_of(op, use, {host_slot, host_position_ + 1}),
          {&nothing, &floor_, host_slot},
          nullptr},
         memory);
    answer.is_race = findings_.size() != first_finding;
    for (std::size_t i = first_finding; i < findings_.size(); ++i)
        answer.is_certain = answer.is_certain || findings_[i].is_certain;
}

/// Handles the host's half of this thread's newest copy, which copied pageable memory. The copy's
/// access to that memory is complete when the call returns. If the copy has written to it, the host
/// has waited for the whole copy.
void CheckEngine::become_host_access(const CheckOp& op, const CheckAccess& access) {
    const Copy* const copy = copies_.find(op.thread);
    if (copy == nullptr || !copy->moment.at) return;
    memory_.of(access).history.forget(access.address(), access.end(), copy->moment.at);
    if (access.mode == AccessMode::read) return;
    Clock reaches = copy->moment.before;
    reaches.join(copy->moment.at, floor_);
    raise_floor(reaches, op.site);
}

/// Orders an operation after the known users of its memory, because heddle has waited for them. For
/// a DataOrder, `op.other` is its first stream. Skips uses on the order's own streams, because
/// explicit waits order those uses.
void CheckEngine::come_after_users(const CheckOp& op, StreamTrack* stream) {
    if (stream != nullptr && op.other != 0) stream->by_data = op.other;
    Clock users;
    for (const CheckAccess& one : op.accesses) {
        // If the allocation is unknown, takes the previous allocation of this memory.
        const AllocationTrack* const memory =
            one.allocation != 0 ? &memory_.of(one) : memory_.at_address(one.address());
        if (memory == nullptr) continue;
        memory->history.for_each_mark([&](const Mark& mark) {
            const StreamTrack* const user = streams_.by_slot(mark.epoch.slot());
            if (user == nullptr || !memory->knows(mark)) return;
            if (op.other != 0 && user->by_data == op.other) return;
            users.join(user->clock_at(mark.epoch.position()), mark.epoch, floor_);
        });
    }
    if (stream == nullptr) return raise_floor(users, op.site);
    note_completed(users, *stream);  // either the users' work was complete, or heddle waited for it
    stream->clock.join(users, floor_);
}

/// Records that used_on() has declared the stream's uses of this memory so far.
void CheckEngine::become_known(const CheckOp& op, const StreamTrack& stream) {
    for (const CheckAccess& one : op.accesses) {
        std::vector<Epoch>& declared = memory_.of(one).declared;
        std::erase_if(declared, [&](Epoch until) { return until.slot() == stream.slot; });
        declared.push_back({stream.slot, stream.last});
    }
}

void CheckEngine::access(const CheckOp& op, const CheckAccess& access, const Mark& mark,
                         const Order& order, StreamTrack* stream) {
    if (access.bytes == 0) return;
    AllocationTrack& memory = memory_.of(access);
    conflicts_.clear();
    memory.history.add(access, mark, order, conflicts_);
    if (!conflicts_.empty()) [[unlikely]]
        tell({op, access, mark, order, stream}, memory);
}

void CheckEngine::allocate(const CheckOp& op, StreamTrack* stream, Epoch epoch) {
    for (const CheckAccess& one : op.accesses) {
        former_.clear();
        AllocationTrack& memory = memory_.allocate(one, op.site, former_);
        const Mark mark = mark_of(op, one, epoch);
        const Clock nothing;
        const Order order{stream != nullptr ? &stream->clock : &nothing, &floor_, epoch.slot()};
        for (const auto& old : former_) {
            // The driver orders reuse in its own pools.
            if (!op.from_own_cache || !old->is_freed) continue;
            conflicts_.clear();
            old->history.add(one, mark, order, conflicts_);
            if (!conflicts_.empty()) tell({op, one, mark, order, stream}, *old);
        }
        conflicts_.clear();
        memory.history.add(one, mark, order, conflicts_);
    }
}

void CheckEngine::free(const CheckOp& op, StreamTrack* stream, Epoch epoch) {
    for (const CheckAccess& one : op.accesses) {
        AllocationTrack& memory = memory_.of(one);
        if (memory.is_foreign) continue;
        memory_.free(memory, op.site, epoch);
        const Clock nothing;
        const Order order{stream != nullptr ? &stream->clock : &nothing, &floor_, epoch.slot()};
        access(op, one, mark_of(op, one, epoch), order, stream);
    }
}

/// Returns whether a conflict is harmless. Before heddle frees or reuses memory, it waits for all
/// known uses, so only an unknown use can conflict. Frees by the host are always harmless: heddle
/// waits first, although observers do not receive that wait.
bool CheckEngine::is_expected(const Access& second, const AllocationTrack& memory,
                              const Conflict& conflict) const {
    const Mark& first = conflict.first;
    if (abandoned_.contains(first.epoch.word())) return true;
    if (second.mark.is_free)
        return first.is_free || first.by_allocation || memory.knows(first) ||
               second.stream == nullptr;
    if (first.is_free && second.mark.by_allocation) return conflict.is_ordered;
    return false;
}

void CheckEngine::tell(const Access& second, const AllocationTrack& memory) {
    const std::size_t first_finding = findings_.size();
    for (const Conflict& one : conflicts_)
        if (!is_expected(second, memory, one)) tell_one(second, memory, one, first_finding);
}

void CheckEngine::tell_one(const Access& second, const AllocationTrack& memory,
                           const Conflict& conflict, std::size_t first_finding) {
    const FindingSide first = side_of(conflict.first);
    const OpKind first_kind = conflict.first.by_allocation ? OpKind::allocate : OpKind::launch;
    // If the use may be a read or a write, and each would conflict, reports a read, which is more
    // likely.
    const bool is_read = second.op.reach != HostReach::none && overwrites(conflict.first.mode);
    FindingKind kind = kind_of(conflict, first_kind, is_read ? AccessMode::read : second.mark.mode,
                               second.op.kind);
    for (std::size_t i = findings_.size(); i-- > first_finding;) {
        Finding& known = findings_[i];
        const bool is_same = known.first.stream == first.stream &&
                             known.first.position == first.position && known.kind == kind;
        if (!is_same || known.end != conflict.begin) continue;
        known.end = conflict.end;
        return;
    }
    Finding finding{.kind = kind, .first = first, .second = side_of(second.mark)};
    finding.second.reach = second.op.reach;
    finding.second.is_after_site = second.op.is_after_site;
    finding.begin = conflict.begin;
    finding.end = conflict.end;
    finding.rows = conflict.rows;
    finding.allocation = memory.id;
    finding.allocation_begin = memory.begin;
    finding.element = second.access.element;
    finding.made = memory.made;
    finding.freed = memory.freed;
    const StreamTrack* const track = streams_.by_slot(conflict.first.epoch.slot());
    const GraphLaunch* const launch =
        track != nullptr ? track->launch_at(conflict.first.epoch.position()) : nullptr;
    name_node(finding.first, launch != nullptr ? launch->shape.get() : nullptr, finding,
              second.mark.mode);
    name_node(finding.second, second.op.shape.get(), finding, conflict.first.mode);
    finding.order = order_between(finding.first, second.stream);
    finding.fork = fork_of(track, second.stream);
    const SiteId leak = leak_of(second, conflict.first.epoch);
    finding.doubt = doubt_of(second, memory, conflict, leak);
    finding.is_certain = finding.doubt == Doubt::none;
    finding.leak = finding.doubt == Doubt::leak ? leak : 0;
    findings_.push_back(std::move(finding));
}

/// Returns why the finding may be wrong. If there are several reasons, returns the most
/// informative.
Doubt CheckEngine::doubt_of(const Access& second, const AllocationTrack& memory,
                            const Conflict& conflict, SiteId leak) const {
    if (!conflict.is_certain) return Doubt::many_rows;
    if (second.mark.is_guess || conflict.first.is_guess) return Doubt::unknown_graph;
    if (leak != 0) return Doubt::leak;
    if (second.stream == nullptr && conflict.first.by_allocation) return Doubt::new_memory;
    if (second.op.reach == HostReach::takes_address) return Doubt::address;
    if (second.op.reach == HostReach::reads_or_writes && conflict.first.mode == AccessMode::read)
        return Doubt::may_only_read;
    // Before the host frees memory that CPU streams use, it must wait for them. Functions that free
    // GPU memory, in contrast, wait for its users.
    if (memory.is_foreign && (is_on_gpu(conflict.first.epoch) || is_on_gpu(second.mark.epoch)))
        return Doubt::foreign;
    return Doubt::none;
}

bool CheckEngine::is_on_gpu(Epoch epoch) const {
    const StreamTrack* const stream = streams_.by_slot(epoch.slot());
    return stream != nullptr && is_cuda(stream->device);
}

/// Finds the launched graph's node that conflicts with the finding's other side. Stores it in
/// `side`.
void CheckEngine::name_node(FindingSide& side, const CheckShape* shape, const Finding& finding,
                            AccessMode other) const {
    if (shape == nullptr) return;
    side.argument = -1;
    for (const CheckNode& node : shape->nodes)
        for (const CheckAccess& one : node.accesses) {
            const bool is_it = one.address() < finding.end && finding.begin < one.end() &&
                               conflicts(one.mode, other);
            if (!is_it) continue;
            side.in_node = node.site;
            side.mode = one.mode;
            side.argument = one.argument;
            return;
        }
}

SiteId CheckEngine::leak_of(const Access& second, Epoch first) const {
    if (const SiteId leak = leaks_.after(first)) return leak;
    if (const StreamTrack* const stream = streams_.by_slot(first.slot()))
        if (stream->poisoned != 0) return stream->poisoned;
    // While shares of a collective are missing, the order that the missing shares will add is
    // unknown.
    const bool is_open = second.op.kind != OpKind::collective && second.stream != nullptr &&
                         second.stream->open_collectives != 0;
    return is_open ? second.op.site : 0;
}

FindingSide CheckEngine::side_of(const Mark& mark) {
    FindingSide side{.site = mark.site, .mode = mark.mode, .argument = mark.argument};
    side.moment = mark.epoch;
    const StreamTrack* const stream = streams_.by_slot(mark.epoch.slot());
    if (stream == nullptr) return side;
    side.stream = stream->id;
    side.position = mark.epoch.position() - stream->base;
    // A part of a graph has a track of its own, but reports name the stream of the launch.
    if (!StreamTable::is_made_id(stream->id)) return side;
    const GraphLaunch* const launch = stream->launch_at(mark.epoch.position());
    const GraphLaunch& of = launch != nullptr ? *launch : stream->newest_launch();
    side.stream = of.stream;
    side.position = of.position;
    return side;
}

KnownOrder CheckEngine::order_between(const FindingSide& first, const StreamTrack* second) const {
    const StreamTrack* const track = streams_.by_slot(first.moment.slot());
    if (track == nullptr) return {};
    if (second != nullptr) {
        KnownOrder never;
        for (const OrderNote& note : second->notes) {
            if (note.other == first.stream) return note.order;
            if (note.other == 0) never = note.order;
        }
        if (never.kind != KnownOrder::Kind::none) return never;
    }
    const bool has_waited =
        track->slot < host_wait_sites_.size() && floor_.at(track->slot) > track->base;
    if (!has_waited) return {};
    return {.kind = KnownOrder::Kind::host_wait,
            .wait = host_wait_sites_[track->slot],
            .covered = floor_.at(track->slot) - track->base};
}

/// Returns the place of the fork with branches on both streams. Returns 0 if there is none.
SiteId CheckEngine::fork_of(const StreamTrack* first, const StreamTrack* second) const {
    if (first == nullptr || second == nullptr || first == second) return 0;
    const bool is_one = first->fork.event != 0 && first->fork.event == second->fork.event;
    return is_one ? second->fork.wait : 0;
}

}  // namespace heddle::detail
