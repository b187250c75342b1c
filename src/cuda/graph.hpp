// A graph on CUDA devices: CUDA's own, made of heddle's nodes.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "core/graph.hpp"
#include "cuda/gpu.hpp"

namespace heddle::detail::cu {

class CudaGraphExec final : public GraphExec {
public:
    CudaGraphExec(const GraphData& graph, const SourceLocation& where);
    ~CudaGraphExec() override;
    void launch(StreamRecord& stream, const SourceLocation& where) override;
    bool update(const NodeData& node, const SourceLocation& where) override;
    void upload(StreamRecord& stream, const SourceLocation& where) override;

private:
    /// Equal nodes for a capture that others began on `captured`: not instantiated, and every run of a host function is the same.
    CudaGraphExec(const GraphData& graph, StreamRecord& captured, const SourceLocation& where);

    /// A host function's turn in one launch.
    struct Turn {
        SharedClosure closure;
        const OpType* type;
        std::size_t count;
        SourceLocation where;
        std::shared_ptr<const std::string> name;  ///< of the node, if it has one
        StreamRecord* stream = nullptr;
        std::uint64_t at = 0;  ///< the launch, as a submission of the stream
    };
    static Turn turn_of(const NodeData& node);
    /// A host node's place, which CUDA's graph owns (a user object) and what was launched keeps: launches put their turns in, and the node
    /// takes them out in the same order. So every launch has its own function and its own stream to blame.
    struct Host {
        std::mutex mutex;
        std::deque<Turn> turns;
        static void run(void* data);
        static void run_always(void* data);  ///< the one turn, at every launch of a graph that others own
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
    void order_after_last(StreamRecord& stream, const SourceLocation& where);
    void push_turns(StreamRecord& stream);
    void pop_turns(std::size_t count) noexcept;
    void change(const NodeData& node, const SourceLocation& where);
    void update_kernel(const NodeData& node, const SourceLocation& where);
    void update_other(const NodeData& node, const SourceLocation& where);
    void keep_event(const NodeData& node);
    void check_update(cudaError_t code, const char* call, const NodeData& node, const SourceLocation& where);
    void instantiate(bool with_priorities, const SourceLocation& where);
    void make_anew(const GraphData& graph, const SourceLocation& where);
    void destroy() noexcept;

    Gpu& gpu_;
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t exec_ = nullptr;
    std::vector<cudaGraphNode_t> nodes_;
    std::vector<HostNode> hosts_;
    std::vector<bool> staged_;  ///< nodes that are several of CUDA's
    std::vector<bool> disabled_;
    std::vector<CUfunction> functions_;  ///< of kernel nodes that were changed
    std::vector<const void*> symbols_;   ///< and whose they are
    KernelForm form_;                    ///< for changes
    std::weak_ptr<NodeData> first_;      ///< which knows the graph, while that is there
    StreamRecord* captured_ = nullptr;   ///< made for a capture on this stream
    StreamUse last_;                     ///< of the newest launch
    cudaEvent_t done_ = nullptr;  ///< behind the newest launch; for graphs with conditions or events only
    bool has_conditions_ = false;
    bool has_events_ = false;
    std::vector<EventOwner>
        events_;  ///< of the nodes: not another event's while they may record it or wait for it
    std::vector<EventOwner> replaced_;  ///< that launches under way may still have
    bool is_careful_ = false;           ///< a launch into a capture of others is not CUDA's alone
    bool is_new_ = false;               ///< made anew since: CUDA does not know the launches before
};

}  // namespace heddle::detail::cu
