// The memory that a graph uses and owns, and whether its arrays and events still exist.
#include <algorithm>

#include "core/base/errors.hpp"
#include "core/base/fork.hpp"
#include "core/graph/memory_use.hpp"
#include <heddle/graph/nodes.hpp>

namespace heddle::detail {

namespace {

void collect(const GraphData& graph, std::vector<BlockUse>& used, std::vector<Block*>& owned) {
    for (const auto& node : graph.nodes) {
        const Work& work = node->work;
        for (std::size_t i = 0; i < work.blocks.size(); ++i)
            used.push_back({work.blocks[i], work.serials[i]});
        used.insert(used.end(), node->declared.begin(), node->declared.end());
        for (const BlockOwner& owner : node->owned) owned.push_back(&owner.block());
        if (node->conditional == nullptr) continue;
        for (const auto& body : node->conditional->bodies) collect(*body, used, owned);
    }
}

template <class T> void keep_each_once(std::vector<T>& all) {
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
}

/// Returns a node that uses the block, or null if there is none. Searches the bodies of conditional
/// nodes, too.
const NodeData* user_of(const GraphData& graph, const Block* block) {
    for (const auto& node : graph.nodes) {
        if (node->conditional != nullptr)
            for (const auto& body : node->conditional->bodies)
                if (const NodeData* inner = user_of(*body, block)) return inner;
        if (std::ranges::count(node->work.blocks, block) != 0) return node.get();
        if (std::ranges::count(node->declared, block, &BlockUse::block) != 0) return node.get();
    }
    return nullptr;
}

}  // namespace

void note_serials(Work& work) {
    work.serials.clear();
    for (const Block* block : work.blocks)
        work.serials.push_back(block->serial.load(std::memory_order_relaxed));
}

void find_blocks(GraphData& graph) {
    std::vector<BlockUse> used;
    graph.owned.clear();
    collect(graph, used, graph.owned);
    keep_each_once(graph.owned);
    for (Block* block : graph.owned)
        used.push_back({block, block->serial.load(std::memory_order_relaxed)});
    keep_each_once(used);
    graph.blocks.clear();
    graph.serials.clear();
    for (const auto& [block, serial] : used) {
        graph.blocks.push_back(block);
        graph.serials.push_back(serial);
    }
    graph.blocks_known = true;
}

namespace {
constinit SpinLock memory_lock;
const ForkRegistration graph_memory_registered{ForkOrder::graph_memory, memory_lock};
}  // namespace
SpinLock& graph_memory_lock() { return memory_lock; }

namespace {
/// Throws because a node uses a thing that no longer exists. The other arguments are words of the
/// message: `uses` is for example "uses an array", `things` "arrays" and `use_them` "use them".
[[noreturn]] void throw_gone(const ErrorSite& site, const std::string& node, const char* uses,
                             const char* things, const char* use_them) {
    usage_error(site, "{} {} that was destroyed: keep {} alive while graphs that {} are launched",
                node, uses, things, use_them);
}
}  // namespace

void throw_dead_array(const GraphData& graph, const Block* block, const SourceLocation& where) {
    const NodeData* user = user_of(graph, block);
    throw_gone({"launch", where}, user != nullptr ? label_of(*user) : "a node", "uses an array",
               "arrays", "use them");
}

void check_arrays(const GraphNode& node, const SourceLocation& where) try {
    const NodeData& data = Access::data(node);
    for (std::size_t i = 0; i < data.work.blocks.size(); ++i) {
        const Block& block = *data.work.blocks[i];
        if (!block.alive.load(std::memory_order_relaxed) ||
            block.serial.load(std::memory_order_relaxed) != data.work.serials[i]) [[unlikely]]
            throw_gone({"launch", where, data.device}, label_of(data), "uses an array", "arrays",
                       "use them");
    }
} catch (...) {
    rethrow_as_error("launch", where);
}

void check_events(const GraphData& graph, const SourceLocation& where) {
    for (const NodeData* node : graph.events)
        if (!node->event->alive.load(std::memory_order_relaxed)) [[unlikely]]
            throw_gone({"launch", where, node->device}, label_of(*node), "uses an event", "events",
                       "record them or wait for them");
}

}  // namespace heddle::detail
