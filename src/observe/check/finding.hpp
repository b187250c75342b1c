// The findings of the ordering checker, as plain data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "check/check_op.hpp"
#include "check/clock.hpp"

namespace heddle::detail {

enum class FindingKind : std::uint8_t {
    write_after_write,
    write_after_read,
    read_after_write,
    host_write_after_write,
    host_write_after_read,
    host_read_after_write,
    use_before_allocation,  ///< not ordered after the allocation
    free_before_use,        ///< freed while a use may be pending
    use_after_free,
    reuse,         ///< a use by the memory's former owner may be pending
    elision_fault  ///< heddle elided a wait that was needed
};
/// Returns the name of a kind, for example "write_after_read".
const char* to_string(FindingKind kind) noexcept;

/// One of the two accesses.
struct FindingSide {
    std::uint64_t stream = 0;  ///< 0 for the host
    std::uint64_t position = 0;
    SiteId site = 0;
    AccessMode mode = AccessMode::read;
    std::int8_t argument = -1;
    std::uint32_t node = CheckNode::no_node;  ///< index in the graph
    /// For a graph launch: the node that accesses the memory.
    SiteId in_node = 0;
    /// For a race within a graph: the node that represents this side in the innermost graph that
    /// contains both sides. If the node was captured, `captured_on` is the name of its stream.
    SiteId edge_node = 0;
    std::uint32_t edge_index = CheckNode::no_node;
    std::string captured_on{};
    Epoch moment{};  ///< the operation, for the engine
    HostReach reach = HostReach::none;
    bool is_after_site = false;  ///< see CheckOp
};

/// The reason why a finding is only possible, not certain.
enum class Doubt : std::uint8_t {
    none,
    leak,  ///< an order may exist that heddle cannot observe: see Finding::leak
    /// The memory may have been freed and reused after a wait that heddle cannot observe.
    foreign,
    unknown_graph,  ///< the graph's accesses to the memory are unknown
    new_memory,     ///< the host uses memory that a stream allocates
    many_rows,      ///< too many rows to compare, so the accesses may have no common bytes
    may_only_read,  ///< the host may only read, and the other side reads
    address,        ///< the host may only take the address
};

/// The newest known order between the sides: the second side's stream waited for the first side's.
struct KnownOrder {
    enum class Kind : std::uint8_t {
        none,
        wait,            ///< the wait covers only the work up to an earlier position
        never_recorded,  ///< a wait for an event that was never recorded
        host_wait,       ///< the host waited, but only for an earlier position
    };
    Kind kind = Kind::none;
    WaitReason reason = WaitReason::user;
    SiteId record = 0;          ///< where the event of the wait was recorded
    SiteId wait = 0;            ///< where the wait was enqueued
    std::uint64_t covered = 0;  ///< the position on the first side's stream that the wait covers
    std::uint64_t event = 0;
};

struct Finding {
    FindingKind kind = FindingKind::write_after_write;
    /// False if the race is only possible; `doubt` is the reason.
    bool is_certain = true;
    bool in_graph = false;  ///< both sides are nodes of one graph
    FindingSide first = {}, second = {};
    /// The accesses have bytes of [begin, end) in common.
    std::uint64_t begin = 0, end = 0;
    /// The rows of the common bytes, if not all of [begin, end) is common.
    MemoryRange rows = no_rows;
    std::uint64_t allocation = 0;  ///< 0 if heddle does not own the memory
    /// The address of the allocation, if known, and the size of an element.
    std::uint64_t allocation_begin = 0;
    std::uint32_t element = 0;
    SiteId made = 0, freed = 0;  ///< where the memory was allocated, and freed
    KnownOrder order = {};
    Doubt doubt = Doubt::none;
    /// An operation that may create an order that heddle cannot observe; 0 for none.
    SiteId leak = 0;
    SiteId fork = 0;  ///< the fork of which both sides are branches
    /// For reports: the call site of the second access had already been reached before that access,
    /// as in a loop. In a graph: a node from the second side's place is listed before the first
    /// side's node, or is that node.
    bool is_again = false;
    std::uint64_t shape = 0;  ///< id of the graph's shape
    /// For reports: the place of an event record at or after the first side. The second side's
    /// stream could wait for this record, but has not done so.
    SiteId record_behind = 0;
    /// For reports: the place of a missing wait that was reported earlier. That wait would order
    /// this finding, too.
    SiteId same_wait = 0;
    /// For reports: the place where the second side's stream became the current stream without a
    /// wait for the first side's stream.
    SiteId unwaited_scope = 0;
};

/// Keeps the first finding of each kind and pair of sites, and counts further findings.
class FindingLog {
public:
    struct Entry {
        Finding finding;  ///< the first finding of its kind and sites
        std::uint64_t seen = 0;
    };
    /// Adds a finding. Returns whether it is the first of its kind with these sites.
    bool add(const Finding& finding);
    const std::vector<Entry>& entries() const noexcept { return entries_; }

private:
    using Key = std::tuple<FindingKind, bool, SiteId, SiteId>;
    std::map<Key, std::size_t> by_sites_;
    std::vector<Entry> entries_;
};

}  // namespace heddle::detail
