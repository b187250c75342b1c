// How many graphs with host functions are alive.
#pragma once

#include <cstddef>

#include "core/graph/graph.hpp"

namespace heddle::detail::cu {

/// One executable with host functions, counted while this exists.
///
/// Driver 580 crashes in cuGraphLaunch if too many of them are alive in a process and one of them
/// runs on several GPUs. What counts is branches: the chains that the nodes of a graph form, and
/// its conditional nodes. It crashed from 1998 branches on. (docs/adr/0042)
class HostGraph {
public:
    HostGraph() noexcept = default;
    /// Counts the graph. If there would be too many, it first destroys executables that no Graph
    /// has any more, which may wait for devices, and throws Unsupported if that does not help.
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
