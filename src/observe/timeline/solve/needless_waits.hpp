// Finds waits that seem needless: the operations that they order share no memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Compares the memory used by operations before and after a wait, as far as it was recorded.
class NeedlessWaits {
public:
    explicit NeedlessWaits(const Trace& trace) : trace_(trace) {}

    /// The result for one wait.
    struct Conflict {
        /// False if the program did not request the wait itself, or if the memory of some operation
        /// is unknown. Also false if the wait may order more work: the other stream had waited for
        /// a third stream, or the host or a third stream may rely on the wait.
        bool is_known = false;
        /// The last operation that the wait covers and that shares memory with an operation after
        /// the wait. Does not consider operations that earlier waits cover, nor operations after
        /// the waiting stream's next wait for the same stream.
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

    /// The operations that only this wait covers, and the operations that only this wait delays.
    struct Window {
        /// On the other stream: the last position that earlier waits cover.
        std::uint64_t covered_before = 0;
        std::uint64_t next_wait = ~std::uint64_t{0};
    };

    /// Returns whether the host or a third stream waited for operations that the stream enqueued
    /// between the two positions. If so, the host or the third stream may rely on the wait.
    bool is_relied_on(TraceIndex stream, std::uint64_t after, std::uint64_t before,
                      TraceIndex known) const;
    void order_streams();
    void find_windows(std::span<const TraceIndex> ops);
    /// Returns the memory used by the stream's operations after position `after`, up to and
    /// including position `last`. Returns nullopt if some of it is unknown.
    std::optional<Uses> uses(TraceIndex stream, std::uint64_t after, std::uint64_t last) const;
    /// Returns whether the stream waited for a stream other than `known`, at positions after
    /// `after` up to `last`.
    bool waits_for_others(TraceIndex stream, std::uint64_t after, std::uint64_t last,
                          TraceIndex known) const;
    /// Returns the operations at positions after `after` up to `last`.
    std::span<const TraceIndex> between(TraceIndex stream, std::uint64_t after,
                                        std::uint64_t last) const;
    bool add_uses(TraceIndex index, Uses& uses) const;
    bool add_uses(TraceIndex op, std::uint32_t first, std::uint32_t count, Uses& uses) const;

    const Trace& trace_;
    /// By stream: its operations, ordered by position.
    std::vector<std::vector<TraceIndex>> streams_;
    std::unordered_map<TraceIndex, Window> windows_;
    /// A wait for a stream, with the last position that it covers. `stream` is the waiting stream,
    /// or no_index for the host.
    struct Waiter {
        std::uint64_t covered;
        TraceIndex stream;
    };
    std::vector<std::vector<Waiter>> waiters_;
};

}  // namespace heddle::detail
