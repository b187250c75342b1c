// The streams that the ordering checker knows, and what each of them comes after.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "check/clock.hpp"
#include "check/finding.hpp"

namespace heddle::detail {

/// The newest wait of a stream for another one.
struct OrderNote {
    std::uint64_t other = 0;
    KnownOrder order;
};

/// A launch of a graph.
struct GraphLaunch {
    Position at = 0;  ///< the slot's
    std::uint64_t stream = 0, position = 0;
    std::shared_ptr<const CheckShape> shape;
};

struct StreamTrack {
    static constexpr std::size_t most_notes = 64, most_launches = 8;

    std::uint64_t id = 0;
    Slot slot = 0;
    Position base = 0;  ///< the slot's position is this plus the stream's
    Position last = 0;  ///< the slot's, of the newest operation
    Clock clock;        ///< of other slots: what the next operation comes after
    /// What only waits that a batch added by itself bring: a program must not rely on it.
    Clock by_batches;
    Position last_work = 0;  ///< the slot's, of the newest operation for which a wait is needed
    std::uint32_t device = 0;
    std::uint32_t open_collectives = 0;  ///< of which not all shares are known yet
    SiteId leak = 0;             ///< its handle was handed out here: it may do what cannot be seen
    SiteId poisoned = 0;         ///< an operation was dropped here
    bool in_collective = false;  ///< it took part in one
    std::uint64_t by_data = 0;   ///< the first stream of the order_by_data that it belongs to
    std::vector<OrderNote> notes;
    KnownOrder fork;                    ///< the newest fork that it is a branch of
    std::vector<GraphLaunch> launches;  ///< the newest ones, for reports, as a ring
    std::size_t launched = 0;           ///< how many there were

    Epoch epoch(std::uint64_t position) const noexcept { return {slot, base + position}; }
    Moment now() const { return {clock, {slot, last}}; }
    void note(std::uint64_t other, const KnownOrder& order);
    void note(GraphLaunch launch);
    /// Returns the launch at a position of the slot, or null.
    const GraphLaunch* launch_at(Position at) const noexcept;
    /// Returns the newest launch. There must be one.
    const GraphLaunch& newest_launch() const noexcept {
        return launches[(launched - 1) % most_launches];
    }
};

/// Gives each stream a slot, and takes it back when all that the stream did is known to be over:
/// such a stream can begin anew, whether or not it still exists.
class StreamTable {
public:
    /// Returns the stream's track, which may be new. Pointers to others stay valid until the next
    /// call of forget_covered().
    StreamTrack& at(std::uint64_t id);
    StreamTrack* find(std::uint64_t id) noexcept;
    StreamTrack* by_slot(Slot slot) const noexcept;
    /// Forgets streams that do nothing any more, if there are many.
    void forget_covered(const HostFloor& floor);
    /// Makes a number that no stream of the program has.
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
    std::vector<StreamTrack*> by_slot_{nullptr};  // 0 is the host's
    std::vector<Position> reached_{0};            // by slots that no stream has
    std::vector<Slot> free_;
    std::size_t many_ = 32;  // streams: then some may be forgotten
    std::uint64_t made_ids_ = 0;
    Slot shared_ = 0;
    StreamTrack* newest_ = nullptr;  // found last
};

}  // namespace heddle::detail
