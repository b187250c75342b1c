#include "cuda/graph/cached_graphs.hpp"

#include <mutex>
#include <utility>

#include "core/base/background.hpp"
#include "core/base/made_once.hpp"
#include "core/base/spin_lock.hpp"
#include "cuda/graph/node_parameters.hpp"
#include "cuda/host_sync/wait_gate.hpp"
#include "cuda/memory/kept_graphs.hpp"

namespace heddle::detail::cu {

namespace {

using List = std::unique_ptr<Doomed>;

struct CachedGraphs {
    static constexpr std::size_t most = 64;
    SpinLock lock;
    List newest;
    std::size_t count = 0;
    bool is_scheduled = false;  ///< whether a background thread will reduce the list to `most`
};
constinit NeverDestroyed<CachedGraphs> instance;
CachedGraphs& cached() noexcept { return instance.get(); }

/// Removes and returns the newest executable that the predicate accepts, or null. Call with the
/// lock held.
template <class Wanted> List take_if(CachedGraphs& all, Wanted wanted) noexcept {
    for (List* at = &all.newest; *at != nullptr; at = &(*at)->next) {
        if (!wanted(**at)) continue;
        List one = std::move(*at);
        *at = std::move(one->next);
        --all.count;
        return one;
    }
    return nullptr;
}

List take_oldest_excess() noexcept {
    const std::lock_guard lock(cached().lock);
    if (cached().count <= CachedGraphs::most) return nullptr;
    return take_if(cached(), [](const Doomed& one) { return one.next == nullptr; });
}

void give_up() noexcept {
    const std::lock_guard lock(cached().lock);
    cached().is_scheduled = false;
}

/// Destroys the oldest executables while there are too many. Runs on a background thread, because
/// each destruction waits for the executable's device. Pauses while a GPU waits for a CPU stream.
void destroy_excess() noexcept try {
    while (wait_gate.close()) {
        List one = take_oldest_excess();
        if (one != nullptr) destroy_natively(*one);
        wait_gate.open();
        if (one != nullptr) continue;
        const std::lock_guard lock(cached().lock);
        cached().is_scheduled = cached().count > CachedGraphs::most;
        if (!cached().is_scheduled) return;
    }
    poll_in_background([] {
        if (is_forked()) return true;
        if (wait_gate.is_held_open()) return false;
        try {
            in_background(destroy_excess);
        } catch (...) {
            give_up();
        }
        return true;
    });
} catch (...) {  // out of memory or no thread: the next cache_graph() tries again
    give_up();
}

/// Mixes a value into a hash.
void add(std::uint64_t& hash, std::uint64_t value) noexcept {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
}

void add(std::uint64_t& hash, const GraphData& graph) {
    add(hash, graph.nodes.size());
    for (const auto& one : graph.nodes) {
        const NodeData& node = *one;
        add(hash, static_cast<std::uint64_t>(node.kind) << 32 |
                      static_cast<std::uint64_t>(node.device.kind()) << 16 |
                      static_cast<std::uint64_t>(node.device.index()));
        add(hash, static_cast<std::uint64_t>(node.priority) << 4 | (node.enabled ? 1u : 0u) |
                      (node.was_disabled ? 2u : 0u) | (is_staged(node) ? 4u : 0u) |
                      (node.work.count == 0 ? 8u : 0u));
        const auto& before = graph.dependencies[node.index];
        add(hash, before.size());
        for (const std::uint32_t first : before) add(hash, first);
        if (node.conditional == nullptr) continue;
        add(hash, static_cast<std::uint64_t>(node.conditional->kind));
        add(hash, node.conditional->bodies.size());
        for (const auto& body : node.conditional->bodies) add(hash, *body);
    }
}

}  // namespace

std::uint64_t shape_of(const GraphData& graph) {
    std::uint64_t hash = 1;
    add(hash, graph);
    return hash != 0 ? hash : 1;
}

void cache_graph(List one) noexcept {
    {
        const std::lock_guard lock(cached().lock);
        one->next = std::move(cached().newest);
        cached().newest = std::move(one);
        if (++cached().count <= CachedGraphs::most || cached().is_scheduled) return;
        cached().is_scheduled = true;
    }
    try {
        static std::once_flag once;
        std::call_once(once, end_background_at_exit);
        in_background(destroy_excess);
    } catch (...) {
        give_up();
    }
}

List take_cached(std::uint64_t shape) noexcept {
    const std::lock_guard lock(cached().lock);
    return take_if(cached(), [&](const Doomed& one) { return one.native.shape == shape; });
}

bool destroy_kept_graphs(int device) noexcept {
    const auto is_there = [&](const Doomed& one) { return (one.native.gpus >> device & 1) != 0; };
    List destroyed;
    if (!wait_gate.close()) return false;
    while (true) {
        List one;
        {
            const std::lock_guard lock(cached().lock);
            one = take_if(cached(), is_there);
        }
        if (one == nullptr) break;
        destroy_natively(*one);
        one->next = std::move(destroyed);
        destroyed = std::move(one);
    }
    wait_gate.open();
    return destroyed != nullptr;
}

}  // namespace heddle::detail::cu
