// The executable that a backend makes of a graph.
#pragma once

#include <span>

#include "core/graph/batch_part.hpp"
#include "core/graph/node.hpp"

namespace heddle::detail {

/// An instantiated graph, made by a backend. May be destroyed while launches are pending: they keep
/// the objects that they need.
class GraphExec {
public:
    virtual ~GraphExec() = default;
    /// Enqueues the graph and counts the submission. The backend records the nodes' events; core
    /// then calls note_record() for them.
    virtual void launch(StreamRecord& stream, const SourceLocation& where) = 0;
    /// Enqueues a batch's graph on the stream of the first part, and orders further work of all
    /// parts after it. If a node fails, parts fail too: on CPUs only those whose tail is ordered
    /// after it, on CUDA all that are connected with it. If it throws, nothing has been enqueued.
    virtual void launch_batch(std::span<StreamPart> parts, std::span<const PartBegin> begins,
                              std::span<PartMark> marks, const SourceLocation& where) = 0;
    /// Updates the executable with the node's current work and enabled flag, for later launches. If
    /// it throws, nothing has changed. Returns true if the executable was rebuilt from the whole
    /// graph, which includes all other changes.
    virtual bool update(const NodeData& node, const SourceLocation& where) = 0;
    virtual void upload(StreamRecord& stream, const SourceLocation& where) = 0;
};

}  // namespace heddle::detail
