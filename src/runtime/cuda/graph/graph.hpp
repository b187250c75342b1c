// A graph on CUDA devices: a native graph made of heddle's nodes.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/graph/graph.hpp"
#include "cuda/device/gpu.hpp"
#include "cuda/graph/destroy.hpp"
#include "cuda/graph/native_graph.hpp"

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
    /// Makes only the nodes, for a capture that was begun outside heddle on `captured`. Makes no
    /// executable. All runs of a host function share one turn.
    CudaGraphExec(const GraphData& graph, StreamRecord& captured, const SourceLocation& where);

    void launch_into_capture(StreamRecord& stream, const SourceLocation& where);
    void take_done_event(Gpu& g, const SourceLocation& where);
    void order_after_last(StreamRecord& stream, const SourceLocation& where);
    void launch(StreamRecord& stream, std::span<const std::shared_ptr<WorkOutcome>> outcomes,
                const SourceLocation& where);
    std::vector<std::shared_ptr<WorkOutcome>> outcomes_of(std::span<const StreamPart> parts,
                                                          std::span<const PartBegin> begins) const;
    void note_failed_launch(StreamRecord& stream) noexcept;
    void make_anew(const GraphData& graph, const SourceLocation& where);
    void learn_natives(const SourceLocation& where) noexcept;
    void destroy() noexcept;

    NativeGraph native_;
    std::weak_ptr<NodeData> first_;  ///< the graph's first node, which leads to the graph
    std::unique_ptr<Doomed> doomed_ = std::make_unique<Doomed>();  ///< used by destroy()
    StreamUse last_;  ///< the stream of the newest launch
    /// True if the executable was replaced since the last launch. CUDA then does not order the next
    /// launch after earlier launches.
    bool is_new_ = false;
};

}  // namespace heddle::detail::cu
