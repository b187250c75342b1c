// A graph on CUDA devices: CUDA's own, made of heddle's nodes.
#pragma once

#include <vector>

#include "core/graph.hpp"
#include "cuda/gpu.hpp"

namespace heddle::detail::cu {

class CudaGraphExec final : public GraphExec {
public:
    CudaGraphExec(const GraphData& graph, const SourceLocation& where);
    ~CudaGraphExec() override;
    void launch(StreamRecord& stream, const SourceLocation& where) override;
    void update(const NodeData& node, const SourceLocation& where) override;
    void upload(StreamRecord& stream, const SourceLocation& where) override;

private:
    struct Host;
    void add(const GraphData& graph, const NodeData& node, const SourceLocation& where);
    void add_host(const NodeData& node, const OpType& type, SharedClosure closure, std::size_t count,
                  const std::vector<cudaGraphNode_t>& after, const SourceLocation& where);
    void instantiate(bool with_priorities, const SourceLocation& where);
    void make_anew(const GraphData& graph, const SourceLocation& where);
    void destroy() noexcept;

    Gpu& gpu_;
    cudaGraph_t graph_ = nullptr;
    cudaGraphExec_t exec_ = nullptr;
    std::vector<cudaGraphNode_t> nodes_;
    std::shared_ptr<std::atomic<StreamRecord*>>
        stream_;  ///< of the newest launch: where failed host functions are told
    bool has_host_functions_ = false;
    StreamRecord* last_ = nullptr;  ///< of the newest launch
    bool is_new_ = false;           ///< made anew since: CUDA does not know the launches before
};

}  // namespace heddle::detail::cu
