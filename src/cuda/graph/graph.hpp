// A graph on CUDA devices: a native graph made of heddle's nodes.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/graph/graph.hpp"
#include "cuda/device/gpu.hpp"
#include "cuda/graph/destroy.hpp"
#include "cuda/observe/native_nodes.hpp"

namespace heddle::detail::cu {

class CudaGraphExec final : public GraphExec {
public:
    CudaGraphExec(const GraphData& graph, const SourceLocation& where);
    ~CudaGraphExec() override;
    void launch(StreamRecord& stream, const SourceLocation& where) override;
    void launch_batch(std::span<StreamPart> parts, std::span<const PartBegin> begins,
                      std::span<PartMark> marks, const SourceLocation& where) override;
    bool update(const NodeData& node, const SourceLocation& where) override;
    void upload(StreamRecord& stream, const SourceLocation& where) override;

private:
    /// Makes equal nodes for a capture that was begun outside heddle on `captured`. They are not
    /// instantiated, and every run of a host function has the same turn.
    CudaGraphExec(const GraphData& graph, StreamRecord& captured, const SourceLocation& where);

    /// A host function's run in one launch.
    struct Turn {
        SharedClosure closure;
        const OpType* type;
        std::size_t count;
        SourceLocation where;
        bool enabled = true;
        std::shared_ptr<const std::string> name = {};  ///< the node's name, if it has one
        StreamRecord* stream = nullptr;
        std::uint64_t at = 0;  ///< submission number of the launch
        /// The fate of a batch's component. If null, the stream's fate applies.
        std::shared_ptr<Fate> fate = {};
    };
    static Turn turn_of(const NodeData& node);
    /// The state of a host node. The native graph owns it (as a user object), so that launches in
    /// progress keep it. Each launch adds a turn, and the node uses the turns in the same order. So
    /// each launch has its own function, and its failure poisons its own stream.
    struct Host {
        std::mutex mutex;
        std::deque<Turn> turns;
        static void run(void* data);
        /// Runs the only turn, at every launch of a graph that is owned outside heddle.
        static void run_always(void* data);
    };
    struct HostNode {
        std::size_t node;
        Host* host;
        Turn next;
    };
    void add_all(const GraphData& graph, const SourceLocation& where);
    void add(const GraphData& graph, const NodeData& node, const SourceLocation& where);
    void add_host(const NodeData& node, const std::vector<cudaGraphNode_t>& after,
                  const SourceLocation& where);
    void launch_into_capture(StreamRecord& stream, const SourceLocation& where);
    void take_done_event(Gpu& g, const SourceLocation& where);
    void order_after_last(StreamRecord& stream, const SourceLocation& where);
    void launch(StreamRecord& stream, std::span<const std::shared_ptr<Fate>> fates,
                const SourceLocation& where);
    void find_components(const GraphData& graph);
    std::vector<std::shared_ptr<Fate>> fates_of(std::span<const StreamPart> parts,
                                                std::span<const PartBegin> begins) const;
    void push_turns(StreamRecord& stream, std::span<const std::shared_ptr<Fate>> fates);
    void pop_turns(std::size_t count) noexcept;
    void note_failed_launch(StreamRecord& stream) noexcept;
    void change(const NodeData& node, const SourceLocation& where);
    void set_enabled(const NodeData& node, bool on, const SourceLocation& where);
    cudaGraphNodeType native_type(cudaGraphNode_t node, const SourceLocation& where) const;
    bool is_memset(const NodeData& node, const SourceLocation& where) const;
    void update_kernel(const NodeData& node, const SourceLocation& where);
    void update_other(const NodeData& node, const SourceLocation& where);
    void keep_event(const NodeData& node);
    void check_update(cudaError_t code, const char* call, const NodeData& node,
                      const SourceLocation& where);
    void instantiate(const GraphData& graph, const SourceLocation& where);
    bool take_over(const SourceLocation& where);
    bool has_host_functions() const noexcept;
    void make_anew(const GraphData& graph, const SourceLocation& where);
    void learn_natives(const SourceLocation& where) noexcept;
    void destroy() noexcept;

    Gpu& gpu_;
    std::uint64_t gpus_;  ///< of the nodes: bit i means cuda:i
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t exec_ = nullptr;
    std::vector<cudaGraphNode_t> nodes_;
    std::vector<HostNode> hosts_;
    /// For each node, the index of its connected component.
    std::vector<std::uint32_t> components_;
    std::size_t component_count_ = 0;
    std::size_t active_ = 0;    ///< nodes that are neither empty nor disabled
    std::vector<bool> staged_;  ///< nodes that consist of several native nodes
    std::vector<bool> disabled_;
    std::vector<CUfunction> functions_;     ///< of kernel nodes that were updated
    std::vector<const void*> symbols_;      ///< the symbols that functions_ belong to
    std::vector<void*> addresses_;          ///< reused by updates
    std::unique_ptr<NativeNodes> natives_;  ///< set if it was made while CUPTI records
    std::weak_ptr<NodeData> first_;         ///< leads to the graph while it exists
    StreamRecord* captured_ = nullptr;      ///< the stream of the capture that this was made for
    std::unique_ptr<Doomed> doomed_ = std::make_unique<Doomed>();  ///< used at its destruction
    StreamUse last_;  ///< the stream of the newest launch
    /// Recorded after the newest launch, on a stream of done_gpu_; only for graphs with events.
    cudaEvent_t done_ = nullptr;
    Gpu* done_gpu_ = nullptr;
    std::uint64_t shape_ = 0;  ///< of a graph with conditional nodes
    HostGraph host_graph_;
    bool has_conditions_ = false;
    /// Whether another graph may reuse the executable: no native node was ever disabled, and no
    /// launch failed.
    bool is_reusable_ = true;
    bool has_events_ = false;
    /// Events of the nodes, not reused while launches may record them or wait for them.
    std::vector<EventOwner> events_;
    std::vector<EventOwner> replaced_;  ///< replaced events that launches in progress may still use
    /// A launch into a capture outside heddle needs more than cuGraphLaunch.
    bool is_careful_ = false;
    /// Rebuilt since the last launch. CUDA then does not order it after earlier launches.
    bool is_new_ = false;
};

}  // namespace heddle::detail::cu
