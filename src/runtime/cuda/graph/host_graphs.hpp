// Limits the number of graphs with host functions that exist at the same time.
#pragma once

#include <cstddef>

#include "core/graph/graph.hpp"

namespace heddle::detail::cu {

/// Counts one executable with host functions while this object exists.
///
/// Driver 580 crashes in cuGraphLaunch if a process has too many such executables and one of them
/// runs on several GPUs. The limit is on the total number of branches: the chains that the nodes of
/// a graph form, and its conditional nodes. The driver crashed from 1998 branches on.
/// (docs/adr/0042)
class HostGraph {
public:
    HostGraph() noexcept = default;
    /// Counts the graph. If this would exceed the limit, first destroys executables that are not
    /// used any more, and blocks until enough of their launches have ended. Throws Unsupported if
    /// it would exceed the limit without them, too.
    HostGraph(const GraphData& graph, const SourceLocation& where);
    ~HostGraph() { release(); }
    HostGraph(HostGraph&& other) noexcept;
    HostGraph& operator=(HostGraph&& other) noexcept;

    /// Sets whether the executable stays for longer than its launches run, initially true: because
    /// a Graph uses it, or because its newest launch's stream is in a capture, which may end only
    /// after the next instantiation.
    void set_used(bool is_used) noexcept;

private:
    void release() noexcept;
    std::size_t branches_ = 0;
    bool is_of_several_ = false;
    bool is_used_ = true;
};

}  // namespace heddle::detail::cu
