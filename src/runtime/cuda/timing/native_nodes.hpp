// Maps native nodes of CUDA graphs to heddle's nodes, because CUPTI's records contain only native
// nodes. One node may become several native nodes, and CUDA copies all of these at instantiation.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace heddle::detail::cu {

/// The native nodes of one of heddle's graphs, collected while it is built. Records that arrive
/// after the graph's destruction can still be mapped, unless many other graphs were destroyed
/// since.
class NativeNodes {
public:
    NativeNodes() = default;
    ~NativeNodes();
    NativeNodes(const NativeNodes&) = delete;
    NativeNodes& operator=(const NativeNodes&) = delete;

    /// Adds the native nodes that this thread makes to `nodes` while the object exists. `nodes` may
    /// be null.
    class Building {
    public:
        explicit Building(NativeNodes* nodes) noexcept;
        ~Building();
        Building(const Building&) = delete;
        Building& operator=(const Building&) = delete;

    private:
        NativeNodes* const nodes_;
        NativeNodes* const before_;
    };
    /// Attributes native nodes made from now on to the node with this index.
    void begin_node(std::uint32_t index) noexcept { node_ = index; }
    /// Treats native nodes made from now on as copies of earlier ones.
    void begin_copies() noexcept { node_ = none; }

    /// Returns whether this thread is building a graph whose native nodes are collected.
    static bool is_building() noexcept;
    /// Records that this thread made the native node `made`, which is a copy of `original` unless
    /// that is null. CUPTI's records of `made` will contain `id`.
    static void note(const void* made, const void* original, std::uint64_t id) noexcept;
    /// Returns the index of the node that records with this id belong to, or nullopt if unknown.
    static std::optional<std::uint32_t> find(std::uint64_t id) noexcept;

private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    void add(const void* made, const void* original, std::uint64_t id);

    std::uint32_t node_ = none;
    std::unordered_map<const void*, std::uint32_t> made_;  ///< empty once the graph is built
    std::vector<std::uint64_t> ids_;
};

}  // namespace heddle::detail::cu
