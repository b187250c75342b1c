// The data of a graph: its nodes, their edges, and data derived from them.
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

class ShapeData;  // see core/graph/shape.hpp

/// Returns the GPU's bit in GraphData::gpus, or 0 for a CPU device.
inline std::uint64_t gpu_bit(Device device) noexcept {
    static_assert(max_devices <= 64);
    return device.is_cuda() ? std::uint64_t{1} << device.index() : 0;
}

/// Finds nodes of a graph by name. The table is made when it is first needed. Thread-safe.
class NodeNames {
public:
    enum : std::uint32_t { none = ~0u, several = none - 1 };
    /// Returns the index of the node with this name: `none` if there is no such node, `several` if
    /// there is more than one.
    std::uint32_t find(const std::vector<std::shared_ptr<NodeData>>& nodes,
                       const std::string& name);
    /// Discards the table. Call it after the name of a node has changed.
    void forget() noexcept;

private:
    std::mutex mutex_;
    bool known_ = false;
    std::unordered_map<std::string, std::uint32_t> all_;
};

struct HEDDLE_HIDDEN GraphData {
    Device device = Access::device(DeviceKind::cpu, 0);
    /// One bit for each GPU that has nodes; see gpu_bit().
    std::uint64_t gpus = 0;
    std::vector<std::shared_ptr<NodeData>> nodes;  ///< in topological order
    /// By node: the indices of its dependencies.
    std::vector<std::vector<std::uint32_t>> dependencies;
    std::shared_ptr<GraphExec> exec;
    std::vector<std::uint32_t> changed;  ///< nodes whose changes are not in `exec` yet
    std::vector<Block*> blocks;          ///< blocks that nodes use, without duplicates
    std::vector<Block*> owned;           ///< blocks that nodes own, without duplicates
    std::vector<std::uint64_t> serials;  ///< serials of `blocks` at the time of the uses
    std::vector<NodeData*> records;      ///< nodes that record events
    std::vector<NodeData*> events;       ///< nodes that record events or wait for them
    /// Whether `blocks`, `owned` and `serials` are up to date.
    bool blocks_known = false;
    std::shared_ptr<const ShapeData> shape;  ///< for observers; null until it is made again
    std::uint64_t uid = 0;                   ///< for observers; 0 until there is a shape
    mutable NodeNames names;

    GraphData() = default;
    GraphData(const GraphData&) = delete;
    GraphData& operator=(const GraphData&) = delete;
    ~GraphData();
    /// Reserves capacity, so that the next `count` calls of note_change() cannot fail.
    void expect_changes(std::size_t count);
    /// `uses_other_memory`: whether the node may use other arrays than before.
    void note_change(NodeData& node, bool uses_other_memory = true) noexcept;
};

}  // namespace heddle::detail
