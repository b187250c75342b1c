// Which memory a graph uses, and which belongs to it.
#include <algorithm>

#include "core/graph.hpp"

namespace heddle::detail {

namespace {

void collect(const GraphData& graph, std::vector<Block*>& used, std::vector<Block*>& owned) {
    for (const auto& node : graph.nodes) {
        used.insert(used.end(), node->work.blocks.begin(), node->work.blocks.end());
        for (const BlockOwner& owner : node->owned) owned.push_back(&owner.block());
        if (node->conditional == nullptr) continue;
        for (const auto& body : node->conditional->bodies) collect(*body, used, owned);
    }
}

void keep_each_once(std::vector<Block*>& blocks) {
    std::ranges::sort(blocks);
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
}

/// The node that uses the block, in the graph or in a body; null if none does.
const NodeData* user_of(const GraphData& graph, const Block* block) {
    for (const auto& node : graph.nodes) {
        if (node->conditional != nullptr)
            for (const auto& body : node->conditional->bodies)
                if (const NodeData* inner = user_of(*body, block)) return inner;
        if (std::ranges::count(node->work.blocks, block) != 0) return node.get();
    }
    return nullptr;
}

}  // namespace

void find_blocks(GraphData& graph) {
    graph.blocks.clear();
    graph.owned.clear();
    collect(graph, graph.blocks, graph.owned);
    graph.blocks.insert(graph.blocks.end(), graph.owned.begin(), graph.owned.end());
    keep_each_once(graph.blocks);
    keep_each_once(graph.owned);
    graph.blocks_known = true;
}

void throw_dead_array(const GraphData& graph, const Block* block, const SourceLocation& where) {
    const NodeData* user = user_of(graph, block);
    throw_error({.code = ErrorCode::usage,
                 .message = (user != nullptr ? label_of(*user) : std::string("a node")) +
                            " uses an array that is gone: arrays have to live as long as graphs "
                            "that use them are launched",
                 .call = "launch",
                 .where = where});
}

}  // namespace heddle::detail
