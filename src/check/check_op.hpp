// What the ordering checker reads: a list of operations, as plain data.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <heddle/memory/range.hpp>
#include <heddle/observe/observer.hpp>

namespace heddle::detail {

/// Stands for an operation's name, kind and place in the source; see SiteTable. 0 is none.
using SiteId = std::uint32_t;

/// Returns the memory between two addresses.
inline MemoryRange between(std::uint64_t begin, std::uint64_t end) noexcept {
    return {reinterpret_cast<const void*>(begin), end - begin};
}

/// Memory that an operation accesses. Its allocation is 0 also if it was reached by a plain
/// pointer.
struct CheckAccess : OpAccess {
    /// Of a graph that was built before the check began: all of an array that it uses somehow.
    bool is_guess = false;
};

/// Stands for all bytes between two addresses, where others are in rows.
inline constexpr MemoryRange no_rows{.rows = 0};

/// A node of a launched graph. A node that belongs to a body of a conditional node comes after that
/// one, next to the others of its body, and precedes what the conditional node precedes.
struct CheckNode {
    static constexpr std::uint32_t no_node = ~std::uint32_t{0};

    OpKind kind = OpKind::launch;
    SiteId site = 0;
    std::vector<std::uint32_t> after;  ///< nodes that precede it directly, by their index
    std::vector<CheckAccess> accesses;
    bool accesses_known = true;
    bool may_signal = false;         ///< see CheckOp
    std::uint64_t event = 0;         ///< that it records or waits for
    std::uint32_t inside = no_node;  ///< the conditional node in whose body it is
    std::uint32_t alternative = 0;   ///< which body: only one of them runs
    std::uint32_t child = no_node;   ///< the node that stands for the child graph that it is of
    std::string captured_on{};       ///< the stream whose work it was; empty if it was not captured
};

/// What a graph launch runs. Immutable.
struct CheckShape {
    std::uint64_t id = 0;  ///< never that of another shape
    std::vector<CheckNode> nodes;
};

/// Returns whether the number of a device, as operations have it, is that of a GPU.
inline bool is_cuda(std::uint32_t device) noexcept { return (device & 1) != 0; }

/// How the host uses an array's elements by a member of Array.
enum class HostReach : std::uint8_t {
    none,  ///< by none
    reads,
    reads_or_writes,
    takes_address,  ///< and may do nothing else
};

/// An operation, in the words of OpInfo. Streams are known by their ids; 0 is the host.
struct CheckOp {
    OpKind kind = OpKind::launch;
    OpMode mode = OpMode::run;
    WaitReason reason = WaitReason::user;
    /// It may tell somebody, in a way that cannot be seen, that it ran: a host function, a kernel
    /// that writes a flag.
    bool may_signal = false;
    /// Allocations: the memory comes from a cache of heddle's own, so whoever had it before has to
    /// be ordered before.
    bool from_own_cache = false;
    /// Waits: what it covers had completed, so that nothing was enqueued.
    bool had_completed = false;
    SiteId site = 0;
    std::uint32_t thread = 0;  ///< that enqueued it
    std::uint32_t device = 0;  ///< of the stream, or of synchronize_device()
    std::uint64_t id = 0;
    std::uint64_t stream = 0;
    std::uint64_t position = 0;
    std::uint64_t other = 0;  ///< of waits: the stream waited for
    std::uint64_t other_position = 0;
    EventPoint event = {};
    std::uint64_t recording = 0;
    std::uint64_t parent = 0;  ///< the id of the host function that enqueued it
    std::uint64_t graph = 0;   ///< graph launches: which graph, whose launches run one by one
    std::shared_ptr<const CheckShape> shape;
    std::uint64_t collective = 0;
    std::uint32_t share = 0, shares = 0;
    HostReach reach = HostReach::none;
    bool is_after_site = false;  ///< where it is is not known, but that it comes after `site`
    std::vector<CheckAccess> accesses;
};

}  // namespace heddle::detail
