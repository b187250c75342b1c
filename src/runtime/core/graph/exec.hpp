// The executable form of a graph, which a backend makes.
#pragma once

#include <span>

#include "core/graph/batch_part.hpp"
#include "core/graph/node.hpp"

namespace heddle::detail {

/// An instantiated graph, made by a backend. It may be destroyed while launches are pending: these
/// keep the objects that they need.
class GraphExec {
public:
    virtual ~GraphExec() = default;
    /// Enqueues the graph, and counts the submission. The backend records the events of the nodes.
    /// Afterwards, core calls note_record() for each of the events.
    virtual void launch(StreamRecord& stream, const SourceLocation& where) = 0;
    /// Enqueues a batch's graph on the stream of the first part. Further work of all parts is
    /// ordered after the graph. If a node fails, some parts fail, too: on CPUs, the parts whose
    /// last operations are ordered after the node; on CUDA, all parts connected with the node. If
    /// the call throws, nothing has been enqueued.
    virtual void launch_batch(std::span<StreamPart> parts, std::span<const PartBegin> begins,
                              std::span<PartMark> marks, const SourceLocation& where) = 0;
    /// Applies the node's current work and enabled flag to the executable, for later launches. If
    /// the call throws, nothing has changed. Returns true if the whole executable was rebuilt from
    /// the graph, which applies all other changes, too.
    virtual bool update(const NodeData& node, const SourceLocation& where) = 0;
    virtual void upload(StreamRecord& stream, const SourceLocation& where) = 0;
};

}  // namespace heddle::detail
