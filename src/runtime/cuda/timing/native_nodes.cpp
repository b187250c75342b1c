#include "cuda/timing/native_nodes.hpp"

#include <deque>
#include <mutex>
#include <utility>

#include "core/base/made_once.hpp"
#include "cuda/device/errors.hpp"

namespace heddle::detail::cu {

namespace {

constinit thread_local NativeNodes* building = nullptr;

/// All known ids of native nodes, including those of recently destroyed graphs. Thread-safe.
class Known {
public:
    void add(std::uint64_t id, std::uint32_t node) {
        const std::lock_guard lock(mutex_);
        nodes_.insert_or_assign(id, node);
    }
    std::optional<std::uint32_t> find(std::uint64_t id) {
        const std::lock_guard lock(mutex_);
        const auto found = nodes_.find(id);
        return found != nodes_.end() ? std::optional(found->second) : std::nullopt;
    }
    void retire(std::vector<std::uint64_t> ids) noexcept {
        constexpr std::size_t most = 200'000;
        const std::lock_guard lock(mutex_);
        count_ += ids.size();
        try {
            retired_.push_back(std::move(ids));
        } catch (...) {  // out of memory: erases them immediately
            count_ -= ids.size();
            for (const std::uint64_t id : ids) nodes_.erase(id);
        }
        for (; count_ > most; retired_.pop_front()) {
            for (const std::uint64_t id : retired_.front()) nodes_.erase(id);
            count_ -= retired_.front().size();
        }
    }

private:
    std::mutex mutex_;
    std::unordered_map<std::uint64_t, std::uint32_t> nodes_;
    std::deque<std::vector<std::uint64_t>> retired_;  ///< ids of destroyed graphs, oldest first
    std::size_t count_ = 0;                           ///< number of ids in retired_
};

constinit MadeOnce<Known> known;

}  // namespace

NativeNodes::Building::Building(NativeNodes* nodes) noexcept
    : nodes_(nodes), before_(std::exchange(building, nodes)) {}

NativeNodes::Building::~Building() {
    building = before_;
    if (nodes_ != nullptr) nodes_->made_.clear();
}

NativeNodes::~NativeNodes() {
    if (!ids_.empty() && !is_forked()) known.get().retire(std::move(ids_));
}

bool NativeNodes::is_building() noexcept { return building != nullptr; }

void NativeNodes::note(const void* made, const void* original, std::uint64_t id) noexcept {
    if (building == nullptr) return;
    try {
        building->add(made, original, id);
    } catch (...) {
        // Out of memory: the node's records are attributed to the graph.
    }
}

void NativeNodes::add(const void* made, const void* original, std::uint64_t id) {
    std::uint32_t node = node_;
    if (node == none) {
        const auto found = made_.find(original);
        if (found == made_.end()) return;
        node = found->second;
    }
    made_.insert_or_assign(made, node);
    ids_.push_back(id);
    known.get().add(id, node);
}

std::optional<std::uint32_t> NativeNodes::find(std::uint64_t id) noexcept {
    Known* const all = known.if_made();
    return id != 0 && all != nullptr ? all->find(id) : std::nullopt;
}

}  // namespace heddle::detail::cu
