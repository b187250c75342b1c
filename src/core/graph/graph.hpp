// A graph in core: its nodes, their edges, and derived data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/graph/exec.hpp"
#include "core/graph/node.hpp"

namespace heddle::detail {

class ShapeData;  // core/graph/shape.hpp

/// Returns the GPU's bit in GraphData::gpus, or 0 for a CPU device.
inline std::uint64_t gpu_bit(Device device) noexcept {
    static_assert(max_devices <= 64);
    return device.is_cuda() ? std::uint64_t{1} << device.index() : 0;
}

/// Finds a graph's nodes by name, in a table that is made on first use. Thread-safe.
class NodeNames {
public:
    enum : std::uint32_t { none = ~0u, several = none - 1 };
    /// Returns the index of the node with this name, `none`, or `several`.
    std::uint32_t find(const std::vector<std::shared_ptr<NodeData>>& nodes,
                       const std::string& name);
    /// Discards the table. Call it when a node's name has changed.
    void forget() noexcept;

private:
    std::mutex mutex_;
    bool known_ = false;
    std::unordered_map<std::string, std::uint32_t> all_;
};

struct GraphData {
    Device device = Access::device(DeviceKind::cpu, 0);
    std::uint64_t gpus = 0;                        ///< the GPUs of the nodes, as bits of gpu_bit()
    std::vector<std::shared_ptr<NodeData>> nodes;  ///< in topological order
    /// For each node: the indices of its dependencies.
    std::vector<std::vector<std::uint32_t>> dependencies;
    std::shared_ptr<GraphExec> exec;
    std::vector<std::uint32_t> changed;      ///< nodes whose changes `exec` does not have yet
    std::vector<Block*> blocks;              ///< memory that the nodes use, each allocation once
    std::vector<Block*> owned;               ///< memory that nodes own, each block once
    std::vector<std::uint64_t> serials;      ///< serials of `blocks` when the uses were noted
    std::vector<NodeData*> records;          ///< nodes that record events
    std::vector<NodeData*> events;           ///< nodes that record events or wait for them
    bool blocks_known = false;               ///< `blocks`, `owned` and `serials` are up to date
    std::shared_ptr<const ShapeData> shape;  ///< for observers; null if it has to be made again
    std::uint64_t uid = 0;                   ///< for observers; 0 before it has a shape
    mutable NodeNames names;

    GraphData() = default;
    GraphData(const GraphData&) = delete;
    GraphData& operator=(const GraphData&) = delete;
    ~GraphData();
    /// Reserves room for `count` calls of note_change(), which cannot fail then.
    void expect_changes(std::size_t count);
    void note_change(NodeData& node) noexcept;
};

}  // namespace heddle::detail
