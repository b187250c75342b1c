// A native graph with its executable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/graph/graph.hpp"
#include "cuda/device/gpu.hpp"
#include "cuda/graph/host_graphs.hpp"
#include "cuda/graph/host_node.hpp"
#include "cuda/graph/native_node.hpp"
#include "cuda/graph/node_calls.hpp"
#include "cuda/host_sync/bounds.hpp"
#include "cuda/timing/native_nodes.hpp"

namespace heddle::detail::cu {

/// Deleter of a native graph or executable. Destroying an executable may wait for the device: see
/// destroy_natively().
struct DestroyNatively {
    Gpu* gpu = nullptr;
    bool has_children = false;  ///< whether child graphs were added to the native graph
    void operator()(cudaGraph_t graph) const noexcept;
    void operator()(cudaGraphExec_t exec) const noexcept;
};

/// A native graph made of heddle's nodes, with its executable, events and turns. Movable and
/// swappable. The owner must pass it to destroy_when_done(), because launches may still be running.
struct NativeGraph {
    /// Adds all nodes, but makes no executable. `captured` is null, or the stream of a capture
    /// begun outside heddle that receives the nodes. In such a capture, all runs of a host function
    /// share one turn.
    void build(const GraphData& data, Gpu& of_graph, StreamRecord* captured,
               const SourceLocation& where);
    /// Makes the executable.
    void instantiate(const GraphData& data, const SourceLocation& where);

    /// Changes a node of the executable in place. Throws Unsupported if CUDA cannot do so.
    /// (update.cpp)
    void change(const NodeData& node, const SourceLocation& where);

    /// Adds a turn to each host node, for a launch on the stream. `outcomes` has one outcome for
    /// each component, or is empty.
    void push_turns(StreamRecord& stream, std::span<const std::shared_ptr<WorkOutcome>> outcomes);
    /// Removes the newest launch's turn from each of the first `count` host nodes, unless the node
    /// has used it.
    void pop_turns(std::size_t count) noexcept;

    bool has_staged_nodes() const noexcept;

    Gpu* gpu = nullptr;      ///< the graph's GPU
    std::uint64_t gpus = 0;  ///< the nodes' GPUs: bit i means cuda:i
    HostGraph host_graph;
    std::unique_ptr<CUgraph_st, DestroyNatively> graph;
    std::unique_ptr<CUgraphExec_st, DestroyNatively> exec;
    std::vector<NativeNode> nodes;
    std::vector<HostNode> hosts;
    std::size_t component_count = 0;
    std::size_t active = 0;                ///< number of nodes that are neither empty nor disabled
    std::unique_ptr<GraphBounds> bounds;   ///< set if a kernel checks indices
    std::unique_ptr<NativeNodes> natives;  ///< set if the graph was made while CUPTI records
    /// Recorded after the newest launch, on a stream of done_gpu. Used only by graphs with events.
    cudaEvent_t done = nullptr;
    Gpu* done_gpu = nullptr;
    /// Identifies the graphs that can reuse the executable of a graph with conditional nodes. 0 if
    /// no graph can.
    std::uint64_t shape = 0;
    bool has_conditions = false;
    /// Whether another graph may reuse the executable: it has no child graphs, none of its native
    /// nodes was ever disabled, and none of its launches failed.
    bool is_reusable = true;
    bool has_events = false;
    /// Whether a launch into a capture begun outside heddle needs more than cuGraphLaunch().
    bool is_careful = false;
    std::vector<EventOwner> replaced;  ///< replaced events that launches in progress may still use

private:
    void add(const NodeAdder& adder, const GraphData& data, const NodeData& node,
             StreamRecord* captured);
    cudaGraphNode_t add_host(const NodeAdder& adder, const NodeData& node, StreamRecord* captured,
                             const NodeAdder::Nodes& after);
    cudaGraphNode_t add_event(const NodeAdder& adder, const NodeData& node,
                              const NodeAdder::Nodes& after);
    void find_components(const GraphData& data);
    bool take_over(const SourceLocation& where);
    cudaGraphNodeType native_type(const NativeNode& node, const SourceLocation& where) const;
    // update.cpp
    bool is_memset(const NodeData& node, const SourceLocation& where) const;
    void update_kernel(const NodeData& node, const SourceLocation& where);
    void update_other(const NodeData& node, const SourceLocation& where);
    void keep_event(const NodeData& node);
    void set_enabled(const NodeData& node, bool on, const SourceLocation& where);
    void check_update(cudaError_t code, const char* call, const NodeData& node,
                      const SourceLocation& where);

    std::vector<void*> addresses_;  ///< reused by updates
};

}  // namespace heddle::detail::cu
