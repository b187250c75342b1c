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

    /// What a wait is for.
    struct Conflict {
        /// False if the program did not ask for the wait, if an operation's memory is not all
        /// known, if the other stream had itself waited for a third one, or if others may rely on
        /// the wait.
        bool is_known = false;
        /// The last operation that the wait covers, and earlier waits do not, with which an
        /// operation behind the wait conflicts, up to the stream's next wait for the same stream.
        TraceIndex last = no_index;

        bool is_needed() const noexcept { return is_known && last != no_index; }
        bool is_needless() const noexcept { return is_known && last == no_index; }
    };
    Conflict find_conflict(TraceIndex wait);

private:
    struct Use {
        std::uint64_t begin, end;
        bool is_write;
        TraceIndex op;
    };
    using Uses = std::vector<Use>;

    /// What a wait covers that earlier ones do not, and what it orders that later ones do not.
    struct Window {
        std::uint64_t covered_before = 0;  ///< position on the other stream
        std::uint64_t next_wait = ~std::uint64_t{0};
    };

    /// Returns whether the host or a third stream waited for what the stream enqueued between the
    /// two positions: then it may rely on the wait.
    bool is_relied_on(TraceIndex stream, std::uint64_t after, std::uint64_t before,
                      TraceIndex known) const;
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
    bool add_uses(TraceIndex index, Uses& uses) const;
    bool add_uses(TraceIndex op, std::uint32_t first, std::uint32_t count, Uses& uses) const;

    const Trace& trace_;
    std::vector<std::vector<TraceIndex>> streams_;  ///< operations of each one, by position
    std::unordered_map<TraceIndex, Window> windows_;
    /// Of each stream: the positions up to which it was waited for, and by which stream or, without
    /// one, the host.
    struct Waiter {
        std::uint64_t covered;
        TraceIndex stream;
    };
    std::vector<std::vector<Waiter>> waiters_;
};

}  // namespace heddle::detail
