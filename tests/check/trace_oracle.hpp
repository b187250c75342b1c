// Finds races in the operations that the suite enqueues on the streams of one process. It works
// like the Oracle, but supports more operations, and stops at the first race.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "check/check_op.hpp"
#include "check/oracle.hpp"

namespace heddle_test {

/// Stores for each operation the set of all operations before it. Does not support collectives by
/// NCCL, graphs that record or wait for events, or events of other processes.
class TraceOracle {
public:
    using CheckOp = heddle::detail::CheckOp;
    using CheckAccess = heddle::detail::CheckAccess;

    /// Returns whether the oracle supports the operation.
    static bool knows(const CheckOp& op) {
        using heddle::OpKind;
        if (op.kind == OpKind::collective || op.kind == OpKind::export_event ||
            op.kind == OpKind::import_event)
            return false;
        if (op.kind == OpKind::graph_launch && op.recording == 0 && op.shape == nullptr)
            return false;
        return op.shape == nullptr ||
               std::ranges::none_of(op.shape->nodes, [](const auto& n) { return n.event != 0; });
    }

    /// Adds the next operation. Returns whether it conflicts with an earlier one that is not
    /// ordered before it.
    bool add(const CheckOp& op) {
        using heddle::OpKind;
        if (op.mode == heddle::OpMode::captured) {
            if (op.kind == OpKind::copy) copies_[op.thread].reset();
            return false;
        }
        switch (op.kind) {
        case OpKind::synchronize_begin: begun_[op.thread] = reached_by(op); return false;
        case OpKind::synchronize: {
            const auto begun = begun_.find(op.thread);
            host_.insert(begun != begun_.end() ? begun->second : reached_by(op));
            if (begun != begun_.end()) begun_.erase(begun);
            return false;
        }
        case OpKind::query: host_.insert(reached_by(op)); return false;
        case OpKind::abandon: abandon(op.recording); return false;
        case OpKind::host_function_begin: return false;
        default: return op.stream != 0 ? add_on_stream(op) : add_on_host(op);
        }
    }

private:
    struct Operation {
        OpSet before;
        std::uint64_t position = 0;
        std::uint64_t stream = 0;
    };
    struct Access {
        std::size_t index;
        CheckAccess access;
    };
    struct Stream {
        std::uint32_t device = 0;
        std::vector<std::size_t> ops;
        std::uint64_t by_data = 0;  ///< first stream of its DataOrder
    };

    std::size_t begin(const CheckOp& op) {
        Operation& made = ops_.emplace_back();
        made.before = host_;
        made.position = op.position;
        made.stream = op.stream;
        if (const auto found = functions_.find(op.parent); found != functions_.end())
            made.before.insert(found->second);
        return ops_.size() - 1;
    }
    void insert(OpSet& to, std::size_t index) const {
        to.insert(index);
        to.insert(ops_[index].before);
    }

    bool add_on_host(const CheckOp& op) {
        using heddle::OpKind;
        if (op.kind == OpKind::wait_for_users) {
            for (const CheckAccess& one : op.accesses) host_.insert(users_of(one, op.other));
            return false;
        }
        if (op.kind == OpKind::free) forget(op);
        if (op.kind != OpKind::host_access && op.kind != OpKind::allocate) return false;
        const std::size_t index = begin(op);
        if (op.kind == OpKind::allocate) remember(op);
        if (op.reason == heddle::WaitReason::copy) take_from_copy(op);
        const bool races = access(index, op.accesses);
        host_.insert(index);
        return races;
    }

    bool add_on_stream(const CheckOp& op) {
        using heddle::OpKind;
        const std::size_t index = begin(op);
        Stream& stream = streams_[op.stream];
        stream.device = op.device;
        if (!stream.ops.empty()) insert(ops_[index].before, stream.ops.back());
        stream.ops.push_back(index);
        OpSet& before = ops_[index].before;
        switch (op.kind) {
        case OpKind::wait:
        case OpKind::wait_elided:
            // Skips waits around a batch's graph: their order was reported when the batch recorded.
            if (op.reason != heddle::WaitReason::batch) before.insert(reached_by(op));
            return false;
        case OpKind::record: records_[{op.event.event, op.event.record}] = index; return false;
        case OpKind::wait_for_users:
            if (op.other != 0) stream.by_data = op.other;
            for (const CheckAccess& one : op.accesses) before.insert(users_of(one, op.other));
            return false;
        case OpKind::free: forget(op); return false;
        case OpKind::expose:
        case OpKind::wrap:
        case OpKind::dropped:
        case OpKind::used_on: return false;
        case OpKind::allocate: remember(op); return access(index, op.accesses);
        case OpKind::graph_launch: return launch(op, index);
        default: break;
        }
        if (op.kind == OpKind::copy) copies_[op.thread] = index;
        if (op.kind == OpKind::host_function) insert(functions_[op.id], index);
        return work(op, index, op.accesses);
    }

    bool work(const CheckOp& op, std::size_t index, const std::vector<CheckAccess>& accesses) {
        if (op.mode == heddle::OpMode::batched) batched_[op.recording].push_back(index);
        return access(index, accesses);
    }

    bool launch(const CheckOp& op, std::size_t index) {
        if (op.recording != 0 && op.mode == heddle::OpMode::run) {  // a batch is submitted
            for (const std::size_t one : batched_[op.recording]) insert(functions_[op.id], one);
            batched_.erase(op.recording);
            return false;
        }
        if (const auto last = graphs_.find(op.graph); last != graphs_.end())
            insert(ops_[index].before, last->second);
        graphs_[op.graph] = index;
        insert(functions_[op.id], index);
        std::vector<CheckAccess> all;
        for (const auto& node : op.shape->nodes)
            all.insert(all.end(), node.accesses.begin(), node.accesses.end());
        const bool races_inside = has_race(op.shape->nodes);
        return work(op, index, all) || races_inside;
    }

    using Nodes = std::vector<heddle::detail::CheckNode>;
    /// Returns the conditional nodes around a node, each with the index of the body that contains
    /// the node.
    static std::map<std::uint32_t, std::uint32_t> bodies_around(const Nodes& nodes,
                                                                std::uint32_t node) {
        std::map<std::uint32_t, std::uint32_t> bodies;
        for (; nodes[node].inside != heddle::detail::CheckNode::no_node; node = nodes[node].inside)
            bodies[nodes[node].inside] = nodes[node].alternative;
        return bodies;
    }
    /// Returns whether two nodes of one graph conflict and no path connects them.
    bool has_race(const Nodes& nodes) const {
        const auto count = static_cast<std::uint32_t>(nodes.size());
        std::vector<OpSet> before(count);
        std::vector<std::map<std::uint32_t, std::uint32_t>> around;
        for (std::uint32_t i = 0; i < count; ++i) {
            around.push_back(bodies_around(nodes, i));
            const auto add = [&](std::uint32_t other) {
                before[i].insert(other);
                before[i].insert(before[other]);
            };
            for (const std::uint32_t other : nodes[i].after) {
                add(other);
                for (std::uint32_t j = other + 1; j < i; ++j)
                    if (around[j].contains(other)) add(j);
            }
            if (nodes[i].inside != heddle::detail::CheckNode::no_node) add(nodes[i].inside);
            for (std::uint32_t j = 0; j < i; ++j) {
                const bool is_other_body = std::ranges::any_of(around[i], [&](const auto& body) {
                    const auto found = around[j].find(body.first);
                    return found != around[j].end() && found->second != body.second;
                });
                if (!is_other_body && !before[i].contains(j) && conflict(nodes[i], nodes[j]))
                    return true;
            }
        }
        return false;
    }
    template <class Node> bool conflict(const Node& a, const Node& b) const {
        for (const CheckAccess& one : a.accesses)
            for (const CheckAccess& two : b.accesses)
                if (key_of(one) == key_of(two) && do_conflict(one.mode, two.mode) &&
                    overlap(one, two))
                    return true;
        return false;
    }

    OpSet reached_by(const CheckOp& op) const {
        OpSet reached;
        const bool is_host = op.stream == 0 || (op.kind != heddle::OpKind::wait &&
                                                op.kind != heddle::OpKind::wait_elided);
        if (op.event.event == 0 && op.other == 0) {
            for (const auto& [id, stream] : streams_)
                if ((!is_host || stream.device == op.device) && !stream.ops.empty())
                    insert(reached, stream.ops.back());
            return reached;
        }
        if (op.event.event != 0) {
            if (op.event.record == 0) return reached;
            const auto found = records_.find({op.event.event, op.event.record});
            if (found != records_.end()) {
                insert(reached, found->second);
                return reached;
            }
        }
        const auto stream = streams_.find(op.other);
        if (stream == streams_.end()) return reached;
        for (auto at = stream->second.ops.rbegin(); at != stream->second.ops.rend(); ++at) {
            if (ops_[*at].position > op.other_position) continue;
            insert(reached, *at);
            break;
        }
        return reached;
    }

    /// Returns the memory's key. Returns 0 if heddle does not own the memory. A plain pointer may
    /// point into an array.
    std::uint64_t key_of(const CheckAccess& access) const {
        if (access.allocation != 0) return access.allocation;
        const auto next = allocations_.upper_bound(access.address());
        if (next == allocations_.begin()) return 0;
        const auto& [data, memory] = *std::prev(next);
        return access.address() < memory.second ? memory.first : 0;
    }
    void remember(const CheckOp& op) {
        for (const CheckAccess& one : op.accesses)
            if (one.bytes != 0) allocations_[one.address()] = {one.allocation, one.end()};
    }
    void forget(const CheckOp& op) {
        for (const CheckAccess& one : op.accesses) {
            const auto found = allocations_.find(one.address());
            if (found != allocations_.end() && found->second.first == one.allocation)
                allocations_.erase(found);
        }
    }

    /// Returns the memory's users, except the streams of the DataOrder whose first stream is
    /// `order`.
    OpSet users_of(const CheckAccess& memory, std::uint64_t order) const {
        const auto is_own = [&](std::size_t index) {
            const auto stream = streams_.find(ops_[index].stream);
            return order != 0 && stream != streams_.end() && stream->second.by_data == order;
        };
        OpSet users;
        const auto found = accesses_.find(key_of(memory));
        if (found == accesses_.end()) return users;
        for (const Access& one : found->second)
            if (one.access.allocation != 0 && !is_own(one.index)) insert(users, one.index);
        return users;
    }

    /// Removes the host's accesses of the thread's last copy, which are complete when the copy's
    /// call returns.
    void take_from_copy(const CheckOp& op) {
        const auto copy = copies_.find(op.thread);
        if (copy == copies_.end() || !copy->second) return;
        const std::size_t index = *copy->second;
        for (const CheckAccess& one : op.accesses) {
            std::erase_if(accesses_[key_of(one)], [&](const Access& former) {
                return former.index == index && overlap(former.access, one);
            });
            if (one.mode == heddle::AccessMode::read) continue;
            insert(host_, index);
            ops_.back().before = host_;
        }
    }

    void abandon(std::uint64_t recording) {
        for (const std::size_t index : batched_[recording])
            for (auto& [key, accesses] : accesses_)
                std::erase_if(accesses, [&](const Access& one) { return one.index == index; });
        batched_.erase(recording);
    }

    bool access(std::size_t index, const std::vector<CheckAccess>& accesses) {
        const OpSet& before = ops_[index].before;
        bool races = false;
        for (const CheckAccess& one : accesses) {
            if (one.bytes == 0) continue;
            for (const Access& former : accesses_[key_of(one)])
                races = races ||
                        (former.index != index && !before.contains(former.index) &&
                         do_conflict(former.access.mode, one.mode) && overlap(former.access, one));
        }
        for (const CheckAccess& one : accesses)
            if (one.bytes != 0) accesses_[key_of(one)].push_back({index, one});
        return races;
    }
    static bool do_conflict(heddle::AccessMode a, heddle::AccessMode b) {
        using heddle::AccessMode;
        if (a == AccessMode::read && b == AccessMode::read) return false;
        return !(a == AccessMode::concurrent && b == AccessMode::concurrent);
    }
    static bool overlap(const CheckAccess& a, const CheckAccess& b) {
        if (a.end() <= b.address() || b.end() <= a.address()) return false;
        if (!a.is_strided() && !b.is_strided()) return true;
        const auto rows = [](const CheckAccess& one) {
            return one.is_strided() ? one.rows : std::size_t{1};
        };
        const auto bytes = [](const CheckAccess& one) {
            return one.is_strided() ? one.bytes : one.end() - one.address();
        };
        for (std::size_t i = 0; i < rows(a); ++i)
            for (std::size_t j = 0; j < rows(b); ++j) {
                const std::uint64_t one = a.address() + i * a.pitch,
                                    other = b.address() + j * b.pitch;
                if (one < other + bytes(b) && other < one + bytes(a)) return true;
            }
        return false;
    }

    std::vector<Operation> ops_;
    std::map<std::uint64_t, Stream> streams_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> records_;
    std::map<std::uint64_t, std::vector<Access>> accesses_;  ///< indexed by allocation
    /// Maps the first address of each allocation to its key and its end address.
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> allocations_;
    std::map<std::uint64_t, OpSet> functions_;  ///< work before each host function, by its id
    std::map<std::uint64_t, std::size_t> graphs_;
    std::map<std::uint64_t, std::vector<std::size_t>> batched_;   ///< operations not submitted yet
    std::map<std::uint32_t, std::optional<std::size_t>> copies_;  ///< newest copy, by thread
    std::map<std::uint32_t, OpSet> begun_;                        ///< begun host waits, by thread
    OpSet host_;  ///< work that the host knows to be complete
};

/// Returns the index of the first operation with a race, or the length of the list.
inline std::size_t first_race_by_oracle(const std::vector<heddle::detail::CheckOp>& ops) {
    TraceOracle oracle;
    for (std::size_t i = 0; i < ops.size(); ++i)
        if (oracle.add(ops[i])) return i;
    return ops.size();
}

}  // namespace heddle_test
