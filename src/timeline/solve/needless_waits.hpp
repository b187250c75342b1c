// Finds waits that seem needless: the operations that they order share no memory.
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

    /// The result for one wait.
    struct Conflict {
        /// False if the program did not request the wait, or if some operation's memory is unknown.
        /// Also false if the other stream had itself waited for a third one, or if the host or a
        /// third stream may rely on the wait.
        bool is_known = false;
        /// The last operation that the wait covers and that conflicts with an operation behind it.
        /// Operations that earlier waits cover do not count. Behind the wait, only operations up to
        /// the stream's next wait for the same stream count.
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

    /// The operations that only this wait covers, and those that only this wait orders.
    struct Window {
        std::uint64_t covered_before = 0;  ///< position on the other stream
        std::uint64_t next_wait = ~std::uint64_t{0};
    };

    /// Returns whether the host or a third stream waited for operations that the stream enqueued
    /// between the two positions. Such a waiter may rely on the wait.
    bool is_relied_on(TraceIndex stream, std::uint64_t after, std::uint64_t before,
                      TraceIndex known) const;
    void order_streams();
    void find_windows(std::span<const TraceIndex> ops);
    /// Returns the memory uses of the stream's operations after position `after`, up to and
    /// including `last`. Returns nullopt if some are unknown.
    std::optional<Uses> uses(TraceIndex stream, std::uint64_t after, std::uint64_t last) const;
    /// Returns whether the stream waited, within the same positions, for a stream other than
    /// `known`.
    bool waits_for_others(TraceIndex stream, std::uint64_t after, std::uint64_t last,
                          TraceIndex known) const;
    /// Returns the operations within the same positions.
    std::span<const TraceIndex> between(TraceIndex stream, std::uint64_t after,
                                        std::uint64_t last) const;
    bool add_uses(TraceIndex index, Uses& uses) const;
    bool add_uses(TraceIndex op, std::uint32_t first, std::uint32_t count, Uses& uses) const;

    const Trace& trace_;
    std::vector<std::vector<TraceIndex>> streams_;  ///< operations of each stream, by position
    std::unordered_map<TraceIndex, Window> windows_;
    /// For each stream, the positions up to which it was waited for, with the waiting stream. The
    /// stream is no_index for the host.
    struct Waiter {
        std::uint64_t covered;
        TraceIndex stream;
    };
    std::vector<std::vector<Waiter>> waiters_;
};

}  // namespace heddle::detail
