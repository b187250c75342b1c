// What the ordering checker finds, as data.
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
    free_before_use,        ///< freed, while a use may not be done
    use_after_free,
    reuse,         ///< the memory's former user may not be done
    elision_fault  ///< heddle left out a wait that was needed
};
/// Returns the name of a kind, "write_after_read" for example.
const char* to_string(FindingKind kind) noexcept;

/// One of the two accesses.
struct FindingSide {
    std::uint64_t stream = 0;  ///< 0: the host
    std::uint64_t position = 0;
    SiteId site = 0;
    AccessMode mode = AccessMode::read;
    std::int8_t argument = -1;
    std::uint32_t node = CheckNode::no_node;  ///< in the graph
    SiteId in_node = 0;                       ///< graph launches: the node that accesses the memory
    /// In a graph: the node of the two sides' common graph that it is or belongs to, and the stream
    /// that it was captured on, if it was.
    SiteId edge_node = 0;
    std::uint32_t edge_index = CheckNode::no_node;
    std::string captured_on{};
    Epoch moment{};  ///< the engine's
    HostReach reach = HostReach::none;
    bool is_after_site = false;  ///< see CheckOp
};

/// Why a finding is possible only.
enum class Doubt : std::uint8_t {
    none,
    leak,     ///< an order may have left sight: see Finding::leak
    foreign,  ///< its owner may free the memory and get it again, with a wait that is not seen
    unknown_graph,  ///< what the graph does with the memory is not known
    new_memory,     ///< the host uses memory that a stream allocates
    many_rows,      ///< whether the accesses have common bytes was not looked at
    may_only_read,  ///< the host may do no more than read what is read
    address,        ///< the host may do no more than take the address
};

/// The newest order that the second side's stream had after the first side's, if there was one.
struct KnownOrder {
    enum class Kind : std::uint8_t {
        none,
        wait,            ///< a wait, but for an earlier moment
        never_recorded,  ///< a wait for an event that had not been recorded
        host_wait,       ///< the host waited, but for an earlier moment
    };
    Kind kind = Kind::none;
    WaitReason reason = WaitReason::user;
    SiteId record = 0;          ///< of the event that was waited for
    SiteId wait = 0;            ///< where it was waited for
    std::uint64_t covered = 0;  ///< position on the first side's stream
    std::uint64_t event = 0;
};

struct Finding {
    FindingKind kind = FindingKind::write_after_write;
    /// False if there may be an order that cannot be seen, through `leak`.
    bool is_certain = true;
    bool in_graph = false;  ///< both sides are nodes of one graph
    FindingSide first = {}, second = {};
    /// Address of the common bytes, and one past the last one.
    std::uint64_t begin = 0, end = 0;
    MemoryRange rows = no_rows;    ///< if they are not all bytes from `begin` to `end`
    std::uint64_t allocation = 0;  ///< 0 if heddle does not own the memory
    /// Where the allocation begins, if that is known, and the size of an element.
    std::uint64_t allocation_begin = 0;
    std::uint32_t element = 0;
    SiteId made = 0, freed = 0;  ///< where the memory was allocated, and freed
    KnownOrder order = {};
    Doubt doubt = Doubt::none;
    SiteId leak = 0;  ///< what may make an order that cannot be seen
    SiteId fork = 0;  ///< both sides are branches of the fork here
    /// For reports: the second side's place was reached before the first side was, too.
    bool is_again = false;
    std::uint64_t shape = 0;  ///< of the graph
    /// For reports: an event was recorded here, behind the first side, and the second side's stream
    /// has not waited for it.
    SiteId record_behind = 0;
    /// For reports: a wait before this place is missing, too, and would order these.
    SiteId same_wait = 0;
    /// For reports: here the second side's stream became current in place of the first one's, and
    /// was told not to wait for it.
    SiteId unwaited_scope = 0;
};

/// Counts findings of the same two sites instead of keeping each.
class FindingLog {
public:
    struct Entry {
        Finding finding;  ///< the first one
        std::uint64_t seen = 0;
    };
    /// Returns whether the finding is the first of its kind with these sites.
    bool add(const Finding& finding);
    const std::vector<Entry>& entries() const noexcept { return entries_; }

private:
    using Key = std::tuple<FindingKind, bool, SiteId, SiteId>;
    std::map<Key, std::size_t> by_sites_;
    std::vector<Entry> entries_;
};

}  // namespace heddle::detail
