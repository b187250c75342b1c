// The streams known to the ordering checker, and the work that each is ordered after.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "check/clock.hpp"
#include "check/finding.hpp"

namespace heddle::detail {

/// The newest wait of a stream for another stream.
struct OrderNote {
    std::uint64_t other = 0;
    KnownOrder order;
};

/// A launch of a graph.
struct GraphLaunch {
    Position at = 0;  ///< position on the slot
    std::uint64_t stream = 0, position = 0;
    std::shared_ptr<const CheckShape> shape;
};

/// A stream's clock from a position on.
struct ClockStage {
    Position from = 0;
    Clock clock;
};

struct StreamTrack {
    static constexpr std::size_t most_notes = 64, most_launches = 8, most_stages = 32;

    std::uint64_t id = 0;
    Slot slot = 0;
    Position base = 0;  ///< position on the slot = base + position on the stream
    Position last = 0;  ///< slot position of the newest operation
    Clock clock;        ///< work on other slots that the next operation is ordered after
    /// The newest clocks, in the order in which they were made. The first one also stands for older
    /// clocks that were dropped.
    std::vector<ClockStage> stages{1};
    /// Work that is ordered only by waits that a batch added by itself. A program must not rely on
    /// such waits.
    Clock by_batches;
    Position last_work = 0;  ///< slot position of the newest operation that later users of the
                             ///< stream must wait for
    std::uint32_t device = 0;
    std::uint32_t open_collectives = 0;  ///< collectives with missing shares
    /// The place where its handle was exposed: code outside heddle may have enqueued work since.
    SiteId leak = 0;
    SiteId poisoned = 0;         ///< the place where an operation was dropped
    bool in_collective = false;  ///< whether it has taken part in a collective
    std::uint64_t by_data = 0;   ///< id of the first stream of its DataOrder
    std::vector<OrderNote> notes;
    KnownOrder fork;                    ///< the place where it became a branch of the newest fork
    std::vector<GraphLaunch> launches;  ///< a ring of the newest launches, for reports
    std::size_t launched = 0;           ///< the number of launches so far

    Epoch epoch(std::uint64_t position) const noexcept { return {slot, base + position}; }
    Moment now() const { return {clock, {slot, last}}; }
    /// Remembers the clock as the one from this position on, if it has changed.
    void keep_stage(Position from, const HostFloor& floor);
    /// Returns work on other slots that the operation at a position of the slot is ordered after.
    /// If the position is older than all remembered clocks, the result may include work that the
    /// stream waited for later.
    const Clock& clock_at(Position at) const noexcept;
    void note(std::uint64_t other, const KnownOrder& order);
    void note(GraphLaunch launch);
    /// Returns the launch at a position of the slot. Returns null if it is unknown.
    const GraphLaunch* launch_at(Position at) const noexcept;
    /// Returns the newest launch. Requires that there is one.
    const GraphLaunch& newest_launch() const noexcept {
        return launches[(launched - 1) % most_launches];
    }
};

/// Assigns a slot to each stream. Once all work of a stream is known to be complete, the slot may
/// be assigned to another stream, even if the first still exists. A stream can get a slot again
/// later.
class StreamTable {
public:
    /// Returns the stream's track, and creates it if necessary. Pointers to tracks stay valid until
    /// the next call of forget_covered().
    StreamTrack& at(std::uint64_t id);
    StreamTrack* find(std::uint64_t id) noexcept;
    StreamTrack* by_slot(Slot slot) const noexcept;
    /// Forgets streams without pending work, if there are many.
    void forget_covered(const HostFloor& floor);
    /// Returns a new id that no stream of the program has.
    std::uint64_t make_id() noexcept { return ++made_ids_ | made_bit; }
    static bool is_made_id(std::uint64_t id) noexcept { return (id & made_bit) != 0; }
    std::size_t size() const noexcept { return by_id_.size(); }
    std::size_t slots() const noexcept { return by_slot_.size(); }
    template <class F> void for_each(F&& f) {
        for (auto& [id, track] : by_id_) f(*track);
    }

private:
    static constexpr std::uint64_t made_bit = std::uint64_t{1} << 63;

    Slot take_slot();
    Slot share_slot();

    std::unordered_map<std::uint64_t, std::unique_ptr<StreamTrack>> by_id_;
    std::vector<StreamTrack*> by_slot_{nullptr};  // the host's entry (slot 0) is null
    std::vector<Position> reached_{0};            // by slot: the last position of its former stream
    std::vector<Slot> free_;
    std::size_t many_ = 32;  // from this number of streams on, idle ones are forgotten
    std::uint64_t made_ids_ = 0;
    Slot shared_ = 0;
    StreamTrack* newest_ = nullptr;  // the stream that was found last
};

}  // namespace heddle::detail
