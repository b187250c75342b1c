#include "cuda/graph/host_graphs.hpp"

#include <bit>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/environment.hpp"
#include "core/base/errors.hpp"
#include "core/base/made_once.hpp"
#include "core/base/spin_lock.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/deferred.hpp"
#include "cuda/memory/kept_graphs.hpp"

namespace heddle::detail::cu {

namespace {

/// Counts executables with host functions.
struct Counts {
    std::size_t graphs = 0;
    std::size_t branches = 0;
    std::size_t of_several_gpus = 0;  ///< number of graphs that use several GPUs

    void add(std::size_t count, bool of_several) noexcept {
        ++graphs;
        branches += count;
        of_several_gpus += of_several;
    }
    void remove(std::size_t count, bool of_several) noexcept {
        --graphs;
        branches -= count;
        of_several_gpus -= of_several;
    }
};
struct Alive {
    SpinLock lock;
    Counts used, unused;
};
constinit Alive alive;

/// Returns the largest allowed number of branches: HEDDLE_HOST_GRAPH_BRANCHES, by default 1000. The
/// default is about half of the smallest number with which the driver crashed.
int most_branches() {
    static constinit MadeOnce<EnvironmentNumber> number;
    return number
        .get([] { return new EnvironmentNumber(Variable::host_graph_branches, 1, 1 << 30, 1000); })
        .get();
}

/// Returns the number of chains that cover the graph and its bodies. Each node continues at most
/// one chain.
std::size_t branches_of(const GraphData& graph) {
    std::vector<bool> is_continued(graph.nodes.size());
    std::size_t count = 0;
    for (const auto& node : graph.nodes) {
        bool continues = false;
        for (const std::uint32_t before : graph.dependencies[node->index]) {
            if (is_continued[before]) continue;
            is_continued[before] = continues = true;
            break;
        }
        if (!continues) ++count;
        if (node->conditional == nullptr) continue;
        for (const auto& body : node->conditional->bodies) count += branches_of(*body);
    }
    return count;
}

/// Returns whether the graph runs on several GPUs. A copy runs on the GPUs of its source and its
/// destination.
bool is_of_several_gpus(const GraphData& graph) noexcept {
    std::uint64_t gpus = graph.gpus;
    for (const auto& node : graph.nodes)
        if (node->kind == NodeKind::copy)
            gpus |= gpu_bit(node->to.space.device) | gpu_bit(node->from.space.device);
    return std::popcount(gpus) > 1;
}

/// Returns whether the graph may be added. There is no limit if no graph uses several GPUs.
bool fits(const Counts& others, std::size_t branches, bool of_several) noexcept {
    return (!of_several && others.of_several_gpus == 0) ||
           others.branches + branches <= static_cast<std::size_t>(most_branches());
}

/// Call with the lock held.
Counts all_counts() noexcept {
    return {alive.used.graphs + alive.unused.graphs, alive.used.branches + alive.unused.branches,
            alive.used.of_several_gpus + alive.unused.of_several_gpus};
}

bool try_to_count(std::size_t branches, bool of_several) noexcept {
    const std::lock_guard lock(alive.lock);
    if (!fits(all_counts(), branches, of_several)) return false;
    alive.used.add(branches, of_several);
    return true;
}

/// Returns whether the graph would fit without the executables that are not used.
bool fits_later(std::size_t branches, bool of_several) noexcept {
    const std::lock_guard lock(alive.lock);
    return fits(alive.used, branches, of_several);
}

void destroy_what_is_done() noexcept {
    for (int i = 0; i < max_devices; ++i)
        if (Gpu* const g = gpu_if_used(i)) {
            finish_cleanups(*g);
            destroy_kept_graphs(i);
        }
}

/// Counts the branches after waiting, if necessary, for executables that are not used any more.
/// Returns false if they would not fit without these executables either.
bool count_when_there_is_room(std::size_t branches, bool of_several) noexcept {
    if (try_to_count(branches, of_several)) return true;
    destroy_what_is_done();
    while (!try_to_count(branches, of_several)) {
        // Launches of destroyed graphs may still run. To refuse the new graph because of them would
        // make success depend on how fast the devices are.
        if (in_callback || !fits_later(branches, of_several)) return false;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        destroy_what_is_done();
    }
    return true;
}

}  // namespace

HostGraph::HostGraph(const GraphData& graph, const SourceLocation& where) {
    const std::size_t branches = branches_of(graph);
    const bool of_several = is_of_several_gpus(graph);
    if (!count_when_there_is_room(branches, of_several)) {
        Counts others;
        {
            const std::lock_guard lock(alive.lock);
            others = all_counts();
        }
        unsupported_error(
            {"instantiate", where, graph.device},
            "the {} instantiated graphs with host functions have {} branches, and this graph "
            "has {} more. The limit is {} while one of them uses several GPUs, because "
            "CUDA's driver crashes at about twice as many: destroy or reset() unneeded "
            "graphs, or raise HEDDLE_HOST_GRAPH_BRANCHES",
            others.graphs, others.branches, branches, most_branches());
    }
    branches_ = branches;
    is_of_several_ = of_several;
}

HostGraph::HostGraph(HostGraph&& other) noexcept
    : branches_(std::exchange(other.branches_, 0)),
      is_of_several_(std::exchange(other.is_of_several_, false)),
      is_used_(std::exchange(other.is_used_, true)) {}

HostGraph& HostGraph::operator=(HostGraph&& other) noexcept {
    if (this == &other) return *this;
    release();
    branches_ = std::exchange(other.branches_, 0);
    is_of_several_ = std::exchange(other.is_of_several_, false);
    is_used_ = std::exchange(other.is_used_, true);
    return *this;
}

void HostGraph::set_used(bool is_used) noexcept {
    if (branches_ == 0 || is_used == is_used_) return;
    const std::lock_guard lock(alive.lock);
    (is_used ? alive.unused : alive.used).remove(branches_, is_of_several_);
    (is_used ? alive.used : alive.unused).add(branches_, is_of_several_);
    is_used_ = is_used;
}

void HostGraph::release() noexcept {
    if (branches_ == 0) return;
    const std::lock_guard lock(alive.lock);
    (is_used_ ? alive.used : alive.unused).remove(branches_, is_of_several_);
    branches_ = 0;
}

}  // namespace heddle::detail::cu
