// Reports bad indices that kernels with bounds checks have used (docs/adr/0073). "Checks" below are
// bounds checks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/failure/work_outcome.hpp"
#include "core/seam/records.hpp"
#include "cuda/device/gpu.hpp"
#include <heddle/detail/bounds_report.hpp>
#include <heddle/launch/detail/work.hpp>
#include <heddle/memory/detail/memory_argument.hpp>

namespace heddle::detail {
struct NodeData;
}

namespace heddle::detail::cu {

/// Describes a kernel with checks, for the text of its failure.
struct CheckedKernel {
    const BoundsSite* site = nullptr;  ///< null for a `__global__` function
    std::string name, node;            ///< `node` is empty outside of graphs
    const char* call = "launch";
    SourceLocation where = {};
    /// The memory of the kernel's views. Empty for a node, whose `closure` has the memory.
    std::vector<MemoryArgument> memory{};
    const WorkType* type = nullptr;
    SharedClosure closure{};
    std::uint64_t order = 0;  ///< grows with each launch

    /// Returns the argument with the view that begins at `data`, as BadIndex::argument does.
    int find_argument(const void* data) const;
    bool has_memory(const void* data) const { return find_argument(data) >= 0; }
};

/// Returns the site of a launch, and makes the stream fallible. Returns null if out of memory: a
/// report then names no kernel. Call only if WorkType::has_bounds is set.
const BoundsSite* site_of_launch(StreamRecord& stream, const LaunchCall& call) noexcept;

/// Reads the reports of `__global__` functions on the device, and fails the stream of the launch.
/// If that stream is unknown, fails `synchronized`, the stream that the host has waited for. If
/// `synchronized` is null, throws the failure. Costs one memory read if no file of the program has
/// checks.
void read_file_reports(Gpu& g, StreamRecord* synchronized, const SourceLocation& where);

/// The report of one instantiated graph, and the sites of its kernels. Must exist until the last
/// launch is done.
class GraphBounds {
public:
    explicit GraphBounds(Gpu& g);
    ~GraphBounds();
    GraphBounds(const GraphBounds&) = delete;
    GraphBounds& operator=(const GraphBounds&) = delete;

    /// While the object exists, site_of_node() makes sites in `*bounds`, and makes the GraphBounds
    /// for the first site. Has no effect if `bounds` is null.
    class Building {
    public:
        explicit Building(std::unique_ptr<GraphBounds>* bounds) noexcept;
        ~Building();
        Building(const Building&) = delete;
        Building& operator=(const Building&) = delete;

    private:
        std::unique_ptr<GraphBounds>* const before_;
    };

    void set_components(std::vector<std::uint32_t> components);
    /// Records a launch; call it before the launch is enqueued. `outcomes` has one outcome for each
    /// component, or is empty. Throws std::bad_alloc.
    void note_launch(StreamRecord& stream, std::span<const std::shared_ptr<WorkOutcome>> outcomes);

private:
    friend struct BoundsState;
    friend struct GlobalLaunch;
    friend const BoundsSite* site_of_node(const NodeData& node, bool is_body) noexcept;

    struct Kernel {
        CheckedKernel checked;
        std::size_t node;  ///< the node's index in the graph, or `in_body`
    };
    struct Launch {
        StreamRecord* stream;
        std::uint64_t id, at;
        std::string name;  ///< the stream's name
        std::vector<std::shared_ptr<WorkOutcome>> outcomes;
        bool is_done() const noexcept;
    };
    static constexpr std::size_t in_body = ~std::size_t{0};

    void read() noexcept;
    void fail(const Kernel* kernel, const BadIndex& bad) noexcept;
    CheckedKernel& kernel_of(std::size_t node);
    bool is_launched_on(const StreamRecord& stream) const noexcept;
    void forget_done_launches() noexcept;

    BoundsReport* report_ = nullptr;
    bool is_read_ = false;  ///< whether the report has been read, but not cleared
    std::vector<std::unique_ptr<Kernel>> kernels_;
    std::vector<Launch> launches_;
    std::vector<std::uint32_t> components_;
};

/// Returns the site of a kernel node of the graph that is being built, or changed. Returns null if
/// there is none.
const BoundsSite* site_of_node(const NodeData& node, bool is_body) noexcept;

}  // namespace heddle::detail::cu
