// Runs collectives of one process with NCCL. Enqueues the shares of all ranks together.
#include <array>

#include "collective/group.hpp"
#include "core/seam/records.hpp"

namespace heddle::detail {

namespace {

bool are_equal(const PerRank<Part>& parts) {
    for (std::size_t i = 1; i < parts.count; ++i)
        if (parts[i].size != parts[0].size) return false;
    return true;
}

bool sends_from_root(CollectiveKind kind) {
    return kind == CollectiveKind::broadcast || kind == CollectiveKind::scatter;
}

/// Returns the rank's part, or an empty part if `has` is false.
Part share_of(const PerRank<Part>& parts, std::size_t rank, bool has) {
    if (!has) return {nullptr, 0, nullptr};
    return parts.count > 1 ? parts[rank] : parts[0];
}

/// Propagates failures between the ranks' streams, as waits would. Failures may be detected later
/// than the waits.
void inherit_failures(const CollectiveCall& call, std::size_t ranks) {
    for (std::size_t from = 0; from < ranks; ++from) {
        StreamRecord& sender = record_of(*call.streams[from]);
        if (!sender.has(stream_flag::fallible) || (sends_from_root(call.kind) && from != call.root))
            continue;
        const std::uint64_t submitted = sender.submissions.load(std::memory_order_acquire);
        for (std::size_t to = 0; to < ranks; ++to)
            if (to != from)
                record_of(*call.streams[to]).depend_on(sender, sender.id.load(), submitted);
    }
}

}  // namespace

bool can_use_nccl(const GroupState& group, const CollectiveCall& call) {
    if (group.nccl.empty() || call.kind == CollectiveKind::barrier) return false;
    // NCCL's manual says that captures over several GPUs of one process are likely to deadlock.
    for (std::size_t i = 0; i < group.devices.size(); ++i) {
        const StreamRef stream = Access::stream(*call.streams[i]);
        if (stream.is_capturing() || stream.is_poisoned() ||
            record_of(stream).has(stream_flag::recording))
            return false;
    }
    return are_equal(call.send) && are_equal(call.receive);
}

void run_with_nccl(GroupState& group, const CollectiveCall& call) {
    const std::size_t ranks = group.devices.size();
    std::array<NcclShare, max_ranks> shares;
    std::size_t elements = 0;
    for (std::size_t i = 0; i < ranks; ++i) {
        shares[i].rank = group.nccl[i].get();
        shares[i].rank->check(to_string(call.kind), call.where);
        shares[i].stream = Access::stream(*call.streams[i]);
        RankCall& share = shares[i].call;
        share.kind = call.kind;
        share.call = to_string(call.kind);
        share.where = call.where;
        share.element = call.element;
        share.type = call.type;
        share.op = call.op;
        share.root = call.root;
        const bool is_root = i == call.root;
        share.sends = is_root || !sends_from_root(call.kind);
        share.receives =
            is_root || (call.kind != CollectiveKind::gather && call.kind != CollectiveKind::reduce);
        share.send = share_of(call.send, i, share.sends);
        share.receive = share_of(call.receive, i, share.receives);
        shares[i].number = i;
        shares[i].ranks = ranks;
        elements += share.send.size + share.receive.size;
    }
    if (elements == 0) return;
    inherit_failures(call, ranks);
    nccl_enqueue(shares.data(), ranks);
}

}  // namespace heddle::detail
