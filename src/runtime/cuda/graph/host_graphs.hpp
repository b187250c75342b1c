// Limits the number of graphs with host functions that exist at the same time.
#pragma once

#include <cstddef>

#include "core/graph/graph.hpp"

namespace heddle::detail::cu {

/// One executable with host functions, counted while this object exists.
///
/// Driver 580 crashes in cuGraphLaunch if too many of them exist in a process and one of them runs
/// on several GPUs. The limit applies to branches: the chains that the nodes of a graph form, and
/// its conditional nodes. It crashed from 1998 branches on. (docs/adr/0042)
class HostGraph {
public:
    HostGraph() noexcept = default;
    /// Counts the graph. If the limit would be exceeded, first destroys executables that no Graph
    /// uses any more; destroying them may wait for devices. Throws Unsupported if the limit would
    /// still be exceeded.
    HostGraph(const GraphData& graph, const SourceLocation& where);
    ~HostGraph() { release(); }
    HostGraph(HostGraph&& other) noexcept;
    HostGraph& operator=(HostGraph&& other) noexcept;

private:
    void release() noexcept;
    std::size_t branches_ = 0;
    bool is_of_several_ = false;
};

}  // namespace heddle::detail::cu
