// Which node of heddle's a native node of a CUDA graph belongs to, for records that name native
// nodes only. A node may become several native ones, and CUDA copies all when it instantiates.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace heddle::detail::cu {

/// The native nodes of one graph of heddle's, learnt while it is built. Records that come after its
/// destruction are still understood, unless many more graphs were destroyed since.
class NativeNodes {
public:
    NativeNodes() = default;
    ~NativeNodes();
    NativeNodes(const NativeNodes&) = delete;
    NativeNodes& operator=(const NativeNodes&) = delete;

    /// While it lives, `nodes` learns what this thread makes. `nodes` may be null.
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
    /// What is made from now on belongs to the node with this index.
    void begin_node(std::uint32_t index) noexcept { node_ = index; }
    /// What is made from now on are copies of what was made before.
    void begin_copies() noexcept { node_ = none; }

    /// Returns whether this thread is building a graph whose native nodes are learnt.
    static bool is_building() noexcept;
    /// This thread made the native node `made`, perhaps as a copy of `original`. Records will name
    /// it by `id`.
    static void note(const void* made, const void* original, std::uint64_t id) noexcept;
    /// Returns the index of the node that records with this id are of, if it is known.
    static std::optional<std::uint32_t> find(std::uint64_t id) noexcept;

private:
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    void add(const void* made, const void* original, std::uint64_t id);

    std::uint32_t node_ = none;
    std::unordered_map<const void*, std::uint32_t> made_;  ///< only while it is built
    std::vector<std::uint64_t> ids_;
};

}  // namespace heddle::detail::cu
