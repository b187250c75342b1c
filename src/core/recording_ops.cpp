// What recorded streams are given: operations, and memory.
#include <algorithm>

#include "core/graph.hpp"
#include "core/recording_lanes.hpp"
#include <heddle/memory_access.hpp>
#include <heddle/scope.hpp>

namespace heddle::detail {

void refuse_in_body(const Recording& r, StreamRecord& stream, const SourceLocation& where) {
    if (r.bodies == 0) return;
    refuse(stream,
           "the stream takes part in the capture around this condition, and what it is given would not be "
           "under the "
           "condition: in the body, use the condition's stream, or streams that wait for it there",
           "capture_if or capture_while", where);
}

void add_op(Recording& r, StreamRecord& stream, NodeKind kind, const SourceLocation& where) {
    refuse_in_body(r, stream, where);
    Recording::Lane& lane = r.lane_of(stream);
    collect(r, lane, where);
    const std::uint32_t op = r.tape->add(kind, stream.device, lane.tail, where);
    lane.tail.assign(1, op);
    lane.own = op;
    lane.primary = -1;
}

namespace {
/// The kernel before which's end the stream's next one may start; -1: none. On one stream it is the one before it, if the stream has waited for nothing
/// since: whoever waits relies on it.
std::int64_t primary_of(const Recording::Lane& lane, const LaunchOptions& options) {
    if (options.dependence == Dependence::on_event) return lane.primary;
    const bool alone = lane.tail.size() == 1 && lane.tail.front() == lane.own;
    return options.dependence == Dependence::on_stream && alone ? lane.own : -1;
}
}  // namespace

bool record_work(StreamState& state, const WorkType& type, void* self, std::size_t count,
                 Block* const* blocks, std::size_t block_count, const LaunchOptions& options,
                 const SourceLocation& where) {
    StreamRecord& stream = record_of(state);
    Recorded r(stream);
    if (!r) return false;
    if (r->batch != nullptr && !is_clean(*r, stream)) return really(r, stream, where);
    const std::int64_t primary = primary_of(r->lane_of(stream), options);
    add_op(*r, stream, type.form != nullptr ? NodeKind::kernel : NodeKind::host_function, where);
    LaunchOptions kept = options;
    kept.dependence = Dependence::none;  // the edge tells
    if (stream.priority != 0 && type.form != nullptr && kept.priority == LaunchOptions::inherit_priority)
        kept.priority =
            stream.priority;  // as CUDA's captures do: the graph may be launched on another stream
    r->tape->set_work(type, self, count, kept);
    if (primary >= 0) r->tape->set_primary(static_cast<std::uint32_t>(primary));
    for (std::size_t i = 0; i < block_count; ++i) r->tape->add_block(*blocks[i]);
    return true;
}

bool record_copy(StreamRecord& stream, const Piece& to, const Piece& from, Block* to_owner, Block* from_owner,
                 const SourceLocation& where) {
    Recorded r(stream);
    if (!r) return false;
    const bool host = to.place.kind == MemoryKind::pageable || from.place.kind == MemoryKind::pageable;
    if (host && r->batch == nullptr)
        refuse(stream,
               "pageable memory cannot be copied in a capture: nothing is done before the graph is launched, "
               "and nobody "
               "knows when it may change. Use pinned()",
               "copy", where);
    const bool peers =
        to.place.device.is_cuda() && from.place.device.is_cuda() && to.place.device != from.place.device;
    const bool apart = peers && !is_pool_access_enabled(to.place.device, from.place.device);
    if (r->batch != nullptr && (host || apart || !is_clean(*r, stream))) return really(r, stream, where);
    add_op(*r, stream, NodeKind::copy, where);
    r->tape->set_copy(to, from);
    for (Block* block : {to_owner, from_owner})
        if (block != nullptr) r->tape->add_block(*block);
    return true;
}

bool record_fill(StreamRecord& stream, const Piece& to, const void* value, std::size_t size, Block* owner,
                 const SourceLocation& where) {
    Recorded r(stream);
    if (!r) return false;
    const bool host = to.place.kind == MemoryKind::pageable;
    if (host && r->batch == nullptr)
        refuse(stream, "pageable memory cannot be filled in a capture: use pinned()", "fill", where);
    if (r->batch != nullptr && (host || !is_clean(*r, stream))) return really(r, stream, where);
    add_op(*r, stream, NodeKind::fill, where);
    r->tape->set_fill(to, value, size);
    if (owner != nullptr) r->tape->add_block(*owner);
    return true;
}

bool record_child(StreamRecord& stream, const GraphData& graph, const SourceLocation& where) {
    Recorded r(stream);
    if (!r) return false;
    if (r->batch != nullptr) return really(r, stream, where);
    add_op(*r, stream, NodeKind::child_graph, where);
    auto node = std::make_shared<NodeData>();
    node->child = clone_graph(graph);
    r->tape->set_node(std::move(node));
    return true;
}

void record_node(StreamRecord& stream, std::shared_ptr<NodeData> node, const SourceLocation& where) {
    Recorded r(stream);
    if (!r) return;
    add_op(*r, stream, node->kind, where);
    r->tape->set_node(std::move(node));
}

void record_foreign(StreamRecord& stream, Block* const* blocks, std::size_t count,
                    const SourceLocation& where) {
    Recorded r(stream);
    if (!r) return;
    const std::size_t before = r->tape->size();
    collect(*r, r->lane_of(stream), where);
    if (r->tape->size() == before) return;
    for (std::size_t i = 0; i < count; ++i) r->tape->add_block(*blocks[i]);
}

void record_wait_node(StreamRecord& stream, EventState& event, const SourceLocation& where) {
    Recorded r(stream);
    if (!r) return;
    add_op(*r, stream, NodeKind::wait_event, where);
    r->tape->set_event(r->lane_of(stream).tail.front(), &event);
}

// Memory --------------------------------------------------------------------------------------------------------------

Block* take_spare(StreamRecord& stream, std::size_t bytes) {
    Recorded r(stream);
    if (!r || r->spares.empty()) return nullptr;
    const std::vector<bool> before = reached_from(*r->tape, r->lane_of(stream).tail);
    for (auto spare = r->spares.begin(); spare != r->spares.end(); ++spare) {
        if (spare->block->device != stream.device || spare->block->bytes < bytes ||
            spare->block->bytes / 2 > bytes)
            continue;
        // Only where it comes after all use anyway: memory is cheaper than order that nobody asked for.
        if (!std::ranges::all_of(spare->after, [&](std::uint32_t one) { return before[one]; })) continue;
        Block* const block = spare->block;
        r->spares.erase(spare);
        block->owners.fetch_add(1, std::memory_order_relaxed);
        r->lane_of(stream).own = -1;  // a dependent kernel might write to it beside those that used it
        return block;
    }
    return nullptr;
}

void own_by_capture(StreamRecord& stream, Block& block, const SourceLocation& where) {
    Recorded r(stream);
    if (!r || r->batch != nullptr) return;
    auto node = std::make_shared<NodeData>();
    block.owners.fetch_add(1, std::memory_order_relaxed);
    node->owned.emplace_back(block);
    add_op(*r, stream, NodeKind::allocate, where);
    r->tape->set_node(std::move(node));
    r->owned.push_back(&block);
}

void give_spare(Block& block, StreamRecord* const* users, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        if (!users[i]->has(stream_flag::recording)) continue;
        Recorded r(*users[i]);
        if (!r || std::ranges::find(r->owned, &block) == r->owned.end()) continue;
        Recording::Spare spare{&block, {}};
        for (const Recording::Lane& lane : r->lanes)
            for (std::size_t u = 0; u < count; ++u)
                if (users[u]->id.load() == lane.stream_id) merge(spare.after, lane.tail);
        r->spares.push_back(std::move(spare));
        return;
    }
}

StreamRecord& allocating_stream(StreamRecord& stream, const SourceLocation& where) {
    Recorded r(stream);
    if (!r) return stream;
    if (r->batch == nullptr) return record_of(default_stream(stream.device).state());
    StreamRecord* const first = r->lanes[0].stream;
    if (first != nullptr && first->device == stream.device) return *first;
    really(r, stream, where);
    return stream;
}

bool give_up_later(Block& block, StreamRecord* const* users, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        if (!users[i]->has(stream_flag::recording)) continue;
        Recorded r(*users[i]);
        if (!r || r->batch == nullptr) continue;
        r->given_up.push_back(&block);
        return true;
    }
    return false;
}

}  // namespace heddle::detail
