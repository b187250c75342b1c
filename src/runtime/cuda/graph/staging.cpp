// Adds copies and fills that need several native nodes, including host functions, and pinned memory
// that the graph owns.
#include <functional>
#include <memory>
#include <utility>

#include "core/base/host_function_mark.hpp"
#include "core/seam/backend.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/user_object.hpp"
#include "cuda/graph/node_parameters.hpp"
#include "cuda/memory/copy_parts.hpp"
#include "cuda/memory/pinned_cache.hpp"

namespace heddle::detail::cu {

namespace {

/// Returns whether a GPU can access the memory. Memory of CPU devices is not reachable: the host
/// must read and write it in the graph's order.
bool is_reachable(const Operand& operand) noexcept {
    return operand.space.device.is_cuda() || operand.space.kind == MemoryKind::pinned;
}

/// Pinned memory owned by a graph.
struct PinnedPiece {
    void* data;
    explicit PinnedPiece(std::size_t bytes, const SourceLocation& where)
        : data(pinned_cache().take(bytes, where).data) {}
    /// Needs no pending uses, because the graph destroys this object only once no launch can use
    /// the piece.
    ~PinnedPiece() { pinned_cache().give(data, {}); }
    PinnedPiece(const PinnedPiece&) = delete;
    PinnedPiece& operator=(const PinnedPiece&) = delete;
};

/// Adds nodes, each ordered after the previous one.
class Chain {
public:
    /// `g`: the GPU whose memory the nodes use.
    Chain(const NodeAdder& adder, const Nodes& after, Gpu& g)
        : adder_(adder.about(g)), after_(after), g_(g) {}

    void* pinned(std::size_t bytes) {
        return give_to_graph(adder_.keeper(), std::make_unique<PinnedPiece>(bytes, adder_.where()),
                             g_.index, adder_.where())
            .data;
    }

    void run(std::function<void()> function) {
        using Function = std::function<void()>;
        Function& owned =
            give_to_graph(adder_.keeper(), std::make_unique<Function>(std::move(function)),
                          g_.index, adder_.where());
        const auto run = [](void* data) {
            const InHostFunction marked;
            const InCallback in;
            (*static_cast<Function*>(data))();
        };
        InContext in(g_);
        after_ = {adder_.add(after_, {run, &owned}, "cudaGraphAddNode (host)")};
    }

    void copy(const Operand& to, const Operand& from) {
        after_ = {add_copy_node(adder_, after_, to, from, g_)};
    }

    void repeat(const MemoryRange& to, std::size_t size) {
        RepeatKernel kernel;
        make_repeat(kernel, to, size, g_.limits.processors);
        InContext in(g_);
        after_ = {
            adder_.add(after_, NodeParameters(node_parameters(kernel)), "cudaGraphAddNode (fill)")};
    }

    cudaGraphNode_t last() const noexcept { return after_.front(); }

private:
    NodeAdder adder_;
    Nodes after_;
    Gpu& g_;
};

void add_copy(Chain& chain, Operand to, Operand from) {
    flatten(to, from);
    const Stores stores = stores_for(to.total());
    if (!to.space.device.is_cuda() && !from.space.device.is_cuda())
        return chain.run([to, from, stores] { copy_on_host(to, from, stores); });
    // One piece is enough, because its uses are ordered within a launch, and launches of one graph
    // do not overlap.
    const std::size_t bytes = std::min(to.total(), ordered_bytes);
    void* const piece = chain.pinned(bytes);
    cut(to, bytes, [&](const Part& part) {
        const Operand packed = part.packed(piece);
        if (to.space.device.is_cuda()) {
            chain.run(
                [packed, host = part.of(from), stores] { copy_on_host(packed, host, stores); });
            chain.copy(part.of(to), packed);
        } else {
            chain.copy(packed, part.of(from));
            chain.run([packed, host = part.of(to), stores] { copy_on_host(host, packed, stores); });
        }
    });
}

void add_fill(Chain& chain, const Operand& to, const std::vector<std::byte>& value) {
    if (!is_reachable(to)) return chain.run([to, value] { fill_on_host(to, value); });
    // Copies the first element, which a kernel then repeats.
    const std::size_t size = value.size();
    void* const element = chain.pinned(size);
    std::memcpy(element, value.data(), size);
    chain.copy({{to.data, size, 1, size}, to.space}, {{element, size, 1, size}, pinned_space});
    if (to.bytes != size || to.rows != 1) chain.repeat(to, size);
}

}  // namespace

bool needs_host(const NodeData& node) noexcept {
    if (node.has_no_work()) return false;
    if (node.kind == NodeKind::copy) return !is_reachable(node.to) || !is_reachable(node.from);
    return node.kind == NodeKind::fill && !is_reachable(node.to);
}

bool is_staged(const NodeData& node) noexcept {
    if (needs_host(node)) return true;
    if (node.kind != NodeKind::fill || node.has_no_work() || node.value.size() <= max_pattern)
        return false;
    return word_of(node.to, node.value.data(), node.value.size()) == 0;
}

cudaGraphNode_t add_staged_node(const NodeAdder& adder, const NodeData& node, const Nodes& after) {
    Chain chain(adder, after, gpu_of_memory(node, adder.gpu(), adder.where()));
    if (node.kind == NodeKind::copy) add_copy(chain, node.to, node.from);
    else add_fill(chain, node.to, node.value);
    return chain.last();
}

}  // namespace heddle::detail::cu
