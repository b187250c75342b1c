// The input of the ordering checker: operations as plain data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <heddle/memory/range.hpp>
#include <heddle/operation/observer.hpp>

namespace heddle::detail {

/// Identifies an operation's name, kind and place in the source; see SiteTable. 0 means none.
using SiteId = std::uint32_t;

/// Returns the memory [begin, end).
inline MemoryRange between(std::uint64_t begin, std::uint64_t end) noexcept {
    return {reinterpret_cast<const void*>(begin), end - begin};
}

/// Memory that an operation accesses. `allocation` is also 0 for an access through a plain pointer.
struct CheckAccess : OpAccess {
    /// True if the access belongs to a graph that was built before the check began. Then the access
    /// covers the whole array, because the part and the mode are unknown.
    bool is_guess = false;
};

/// Marks a range as contiguous: all of its bytes are accessed, not only the bytes in rows.
inline constexpr MemoryRange no_rows{.rows = 0};

/// A node of a launched graph. The nodes in the bodies of a conditional node are listed after the
/// conditional node. Successors of the conditional node are ordered after the nodes in its bodies,
/// too.
struct CheckNode {
    static constexpr std::uint32_t no_node = ~std::uint32_t{0};

    OpKind kind = OpKind::launch;
    SiteId site = 0;
    std::vector<std::uint32_t> after;  ///< indices of the direct predecessors
    std::vector<CheckAccess> accesses;
    bool accesses_known = true;
    bool may_signal = false;         ///< see CheckOp
    std::uint64_t event = 0;         ///< for a record or wait node: the event
    std::uint32_t inside = no_node;  ///< the conditional node with the body that contains this node
    std::uint32_t alternative = 0;   ///< index of the body in `inside`; only one of the bodies runs
    std::uint32_t child = no_node;   ///< the child graph's node that contains this node
    std::string captured_on{};       ///< name of the captured stream; empty if it was not captured
};

/// The nodes that a graph launch runs. Immutable.
struct CheckShape {
    std::uint64_t id = 0;  ///< unique among all shapes
    std::vector<CheckNode> nodes;
};

/// Returns whether a device number, as in CheckOp::device, denotes a GPU.
inline bool is_cuda(std::uint32_t device) noexcept { return (device & 1) != 0; }

/// How the host may use an array's elements through a member of Array.
enum class HostReach : std::uint8_t {
    none,  ///< not through a member
    reads,
    reads_or_writes,
    takes_address,  ///< takes the address, and may do nothing more
};

/// An operation, with the fields of OpInfo. Streams are identified by id; 0 is the host.
struct CheckOp {
    OpKind kind = OpKind::launch;
    OpMode mode = OpMode::run;
    WaitReason reason = WaitReason::user;
    /// The operation may signal other work in a way that heddle cannot observe. Examples are a host
    /// function, and a kernel that writes a flag.
    bool may_signal = false;
    /// For an allocation: heddle's own cache supplied the memory. So the memory's former users must
    /// be ordered before the allocation.
    bool from_own_cache = false;
    /// For a wait: the awaited work was already complete, so heddle enqueued no wait.
    bool had_completed = false;
    SiteId site = 0;
    std::uint32_t thread = 0;  ///< the thread that made the call
    std::uint32_t device = 0;  ///< the stream's device, or the argument of synchronize_device()
    std::uint64_t id = 0;
    std::uint64_t stream = 0;
    std::uint64_t position = 0;
    std::uint64_t other = 0;  ///< waits: the stream waited for
    std::uint64_t other_position = 0;
    EventPoint event = {};
    std::uint64_t recording = 0;
    std::uint64_t parent = 0;  ///< the id of the host function that made the call; 0 for none
    /// For a graph launch: the id of the graph. Launches of one graph never overlap.
    std::uint64_t graph = 0;
    std::shared_ptr<const CheckShape> shape;
    std::uint64_t collective = 0;
    std::uint32_t share = 0, shares = 0;
    HostReach reach = HostReach::none;
    bool is_after_site = false;  ///< the exact place is unknown: somewhere after `site`
    std::vector<CheckAccess> accesses;
};

}  // namespace heddle::detail
