// Copies and fills of graphs that take several nodes: by way of host functions and of pinned memory that the graph owns.
#include <functional>
#include <memory>
#include <utility>

#include "core/registry.hpp"
#include "cuda/graph_parameters.hpp"
#include "cuda/parts.hpp"
#include "cuda/pinned_cache.hpp"
#include "cuda/user_object.hpp"

namespace heddle::detail::cu {

namespace {

using Nodes = std::vector<cudaGraphNode_t>;

/// Memory of CPU devices, which must be read and written in the graph's order, and by the host.
bool is_reachable(const Piece& piece) noexcept {
    return piece.place.device.is_cuda() || piece.place.kind == MemoryKind::pinned;
}

/// Pinned memory that a graph owns.
struct PinnedPiece {
    void* data;
    explicit PinnedPiece(std::size_t bytes, const SourceLocation& where)
        : data(pinned_cache().take(bytes, where)) {}
    ~PinnedPiece() { pinned_cache().give(data, {}); }  // nothing uses it any more, or the graph would have it
    PinnedPiece(const PinnedPiece&) = delete;
    PinnedPiece& operator=(const PinnedPiece&) = delete;
};

/// Adds one node after the other.
class Chain {
public:
    Chain(cudaGraph_t graph, cudaGraph_t keeper, const Nodes& after, Gpu& g, const SourceLocation& where)
        : graph_(graph), keeper_(keeper), after_(after), g_(g), where_(where) {}

    void* pinned(std::size_t bytes) {
        return give_to_graph(keeper_, std::make_unique<PinnedPiece>(bytes, where_), g_.index, where_).data;
    }

    void run(std::function<void()> function) {
        using Function = std::function<void()>;
        Function& given =
            give_to_graph(keeper_, std::make_unique<Function>(std::move(function)), g_.index, where_);
        const auto run = [](void* data) {
            const InHostFunction marked;
            const InCallback in;
            (*static_cast<Function*>(data))();
        };
        const cudaHostNodeParams p{run, &given};
        InContext in(g_);
        cudaGraphNode_t made = nullptr;
        check(api.cudaGraphAddHostNode(&made, graph_, after_.data(), after_.size(), &p),
              "cudaGraphAddHostNode", g_.index, where_);
        after_ = {made};
    }

    void copy(const Piece& to, const Piece& from) {
        after_ = {add_copy_node(graph_, after_, to, from, g_, where_)};
    }

    void repeat(const Rectangle& to, std::size_t size) {
        RepeatKernel kernel;
        make_repeat(kernel, to, size, g_.limits.processors);
        cudaKernelNodeParams p{};
        p.func = const_cast<void*>(kernel.function);
        p.gridDim = kernel.grid;
        p.blockDim = kernel.block;
        p.kernelParams = kernel.arguments;
        InContext in(g_);
        cudaGraphNode_t made = nullptr;
        check(api.cudaGraphAddKernelNode(&made, graph_, after_.data(), after_.size(), &p),
              "cudaGraphAddKernelNode (fill)", g_.index, where_);
        after_ = {made};
    }

    cudaGraphNode_t last() const noexcept { return after_.front(); }

private:
    cudaGraph_t graph_, keeper_;
    Nodes after_;
    Gpu& g_;
    const SourceLocation& where_;
};

void add_copy(Chain& chain, Piece to, Piece from) {
    flatten(to, from);
    const Stores stores = stores_for(size_of(to));
    if (!to.place.device.is_cuda() && !from.place.device.is_cuda())
        return chain.run(
            [to, from, stores] { copy_on_host(rows_of(to), rows_of(from), to.bytes, to.rows, stores); });
    // One piece is enough: all that uses it is in this order, and launches of one graph follow each other.
    const std::size_t bytes = std::min(size_of(to), ordered_bytes);
    void* const piece = chain.pinned(bytes);
    cut(to, bytes, [&](const Part& part) {
        const Rows packed = part.packed_rows(piece);
        if (to.place.device.is_cuda()) {
            chain.run([part, packed, host = part.rows_of(from), stores] {
                copy_on_host(packed, host, part.bytes, part.rows, stores);
            });
            chain.copy(part.of(to), part.packed(piece));
        } else {
            chain.copy(part.packed(piece), part.of(from));
            chain.run([part, packed, host = part.rows_of(to), stores] {
                copy_on_host(host, packed, part.bytes, part.rows, stores);
            });
        }
    });
}

void add_fill(Chain& chain, const Piece& to, const std::vector<std::byte>& value) {
    const Rectangle all{to.data, to.bytes, to.rows, to.pitch};
    if (!is_reachable(to)) return chain.run([all, value] { fill_on_host(all, value); });
    // The first element is copied there, and the kernel repeats it.
    const std::size_t size = value.size();
    void* const element = chain.pinned(size);
    std::memcpy(element, value.data(), size);
    chain.copy({to.data, size, 1, size, to.place}, {element, size, 1, size, pinned_place});
    if (to.bytes != size || to.rows != 1) chain.repeat(all, size);
}

}  // namespace

bool needs_host(const NodeData& node) noexcept {
    if (node.kind == NodeKind::copy) return !is_reachable(node.to) || !is_reachable(node.from);
    return node.kind == NodeKind::fill && !is_reachable(node.to);
}

bool is_staged(const NodeData& node) noexcept {
    if (needs_host(node)) return true;
    if (node.kind != NodeKind::fill || node.value.size() <= max_pattern) return false;
    return word_of({node.to.data, node.to.bytes, node.to.rows, node.to.pitch}, node.value.data(),
                   node.value.size()) == 0;
}

cudaGraphNode_t add_staged_node(cudaGraph_t graph, cudaGraph_t keeper, const NodeData& node,
                                const Nodes& after, Gpu& of_graph, const SourceLocation& where) {
    Chain chain(graph, keeper, after, gpu_of_memory(node, of_graph, where), where);
    if (node.kind == NodeKind::copy) add_copy(chain, node.to, node.from);
    else add_fill(chain, node.to, node.value);
    return chain.last();
}

}  // namespace heddle::detail::cu
