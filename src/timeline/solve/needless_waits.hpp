// Waits that seem needless: what they order uses no common memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Compares the memory that operations before and behind a wait use, as far as it was recorded.
class NeedlessWaits {
public:
    explicit NeedlessWaits(const Trace& trace) : trace_(trace) {}

    /// Returns whether no operation that the stream ran behind the wait, up to its next wait for
    /// the same stream, conflicts with one that the wait covers and earlier ones do not. False if
    /// that is not known: the program did not ask for the wait, an operation's memory was not
    /// recorded, or the other stream had itself waited for a third one.
    bool seems_needless(TraceIndex wait);

private:
    struct Use {
        std::uint64_t begin, end;
        bool is_write;
    };
    using Uses = std::vector<Use>;

    /// What a wait covers that earlier ones do not, and what it orders that later ones do not.
    struct Window {
        std::uint64_t covered_before = 0;  ///< position on the other stream
        std::uint64_t next_wait = ~std::uint64_t{0};
    };

    void order_streams();
    void find_windows(std::span<const TraceIndex> ops);
    /// Returns what the stream's operations between two positions use, without the first one and
    /// with the last; nothing if that is not known.
    std::optional<Uses> uses(TraceIndex stream, std::uint64_t after, std::uint64_t last) const;
    /// Returns whether it waited, between the same positions, for a stream other than `known`.
    bool waits_for_others(TraceIndex stream, std::uint64_t after, std::uint64_t last,
                          TraceIndex known) const;
    /// Returns the operations between the same positions.
    std::span<const TraceIndex> between(TraceIndex stream, std::uint64_t after,
                                        std::uint64_t last) const;
    bool add_uses(const TraceOp& op, Uses& uses) const;
    bool add_uses(std::uint32_t first, std::uint32_t count, Uses& uses) const;

    const Trace& trace_;
    std::vector<std::vector<TraceIndex>> streams_;  ///< operations of each one, by position
    std::unordered_map<TraceIndex, Window> windows_;
};

}  // namespace heddle::detail
