// Moments of streams, and what is known to come before them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace heddle::detail {

/// A small number that stands for a stream, for the host (0), or for a part of a graph. A slot is
/// used again, and its positions go on counting: what old clocks say of it stays true.
using Slot = std::uint32_t;
inline constexpr Slot host_slot = 0;
/// A place among the operations of a slot, from 1.
using Position = std::uint64_t;

/// An operation of a slot, in one word. The empty one is none.
class Epoch {
public:
    static constexpr unsigned position_bits = 44;
    static constexpr Slot most_slots = Slot{1} << (64 - position_bits);

    constexpr Epoch() = default;
    constexpr Epoch(Slot slot, Position position)
        : word_(static_cast<std::uint64_t>(slot) << position_bits | position) {}
    constexpr Slot slot() const noexcept { return static_cast<Slot>(word_ >> position_bits); }
    constexpr Position position() const noexcept {
        return word_ & ((Position{1} << position_bits) - 1);
    }
    constexpr explicit operator bool() const noexcept { return word_ != 0; }
    constexpr bool operator==(const Epoch&) const = default;
    constexpr std::uint64_t word() const noexcept { return word_; }

private:
    std::uint64_t word_ = 0;
};

/// What the one logical host knows to be over: a position for each slot. It only grows.
class HostFloor {
public:
    bool covers(Epoch epoch) const noexcept {
        const Slot slot = epoch.slot();
        return slot == host_slot || epoch.position() <= at(slot);
    }
    Position at(Slot slot) const noexcept { return slot < reached_.size() ? reached_[slot] : 0; }
    /// Raises a slot's position, if the new one is greater.
    void raise(Epoch to);

private:
    std::vector<Position> reached_;
};

/// The newest position of each slot that something comes after. Immutable: copies share one object,
/// and a change makes another. Dense while all slots are below 128, sorted beyond. Not for use by
/// several threads at once.
class Clock {
public:
    static constexpr Slot most_dense = 128;

    Clock() = default;
    Clock(const Clock& from) noexcept : data_(from.data_) { acquire(); }
    Clock(Clock&& from) noexcept : data_(std::exchange(from.data_, nullptr)) {}
    Clock& operator=(Clock from) noexcept {
        std::swap(data_, from.data_);
        return *this;
    }
    ~Clock() { release(); }

    /// Returns the position of a slot; 0 if nothing of it is known.
    Position at(Slot slot) const noexcept {
        if (data_ == nullptr) return 0;
        if (data_->is_sorted) return find_sorted(slot);
        return slot < data_->size ? words(data_)[slot] : 0;
    }
    bool covers(Epoch epoch) const noexcept { return epoch.position() <= at(epoch.slot()); }
    /// Returns whether this clock knows all that the other one does, or the floor does.
    bool covers(const Clock& other, const HostFloor& floor) const;
    bool is_empty() const noexcept { return data_ == nullptr; }
    bool is_same(const Clock& other) const noexcept { return data_ == other.data_; }

    /// Learns all that the other clock knows, and of one operation more, with what it follows on
    /// its slot. What the floor covers may be left out. Returns whether anything was new.
    bool join(const Clock& other, Epoch epoch, const HostFloor& floor);
    bool join(const Clock& other, const HostFloor& floor) { return join(other, {}, floor); }
    bool join(Epoch epoch, const HostFloor& floor) { return join({}, epoch, floor); }

    /// Calls f(Epoch) for each slot of which something is known.
    template <class F> void for_each(F&& f) const {
        if (data_ == nullptr) return;
        for (std::uint32_t i = 0; i < data_->size; ++i) {
            const std::uint64_t word = words(data_)[i];
            if (!data_->is_sorted) {
                if (word != 0) f(Epoch(i, word));
            } else {
                f(epoch_of(word));
            }
        }
    }

private:
    /// Words follow: positions by slot, or the words of epochs in order.
    struct Data {
        std::uint32_t uses;
        std::uint32_t size;
        std::uint64_t is_sorted;  ///< 0 or 1; a word, so that words can follow
    };
    static std::uint64_t* words(Data* data) noexcept {
        return reinterpret_cast<std::uint64_t*>(data + 1);
    }
    static const std::uint64_t* words(const Data* data) noexcept {
        return reinterpret_cast<const std::uint64_t*>(data + 1);
    }
    static Epoch epoch_of(std::uint64_t word) noexcept {
        const Position mask = (Position{1} << Epoch::position_bits) - 1;
        return {static_cast<Slot>(word >> Epoch::position_bits), word & mask};
    }
    Position find_sorted(Slot slot) const noexcept;
    static Data* make(std::size_t size, bool is_sorted);
    static Data* make_sorted(const std::vector<Epoch>& epochs);
    bool fits_dense(Epoch epoch) const noexcept {
        return (data_ == nullptr || !data_->is_sorted) && epoch.slot() < most_dense;
    }
    void join_one(Epoch epoch, const HostFloor& floor);
    void join_dense(const Clock& other, Epoch epoch);
    void join_sorted(const Clock& other, Epoch epoch, const HostFloor& floor);
    void acquire() const noexcept {
        if (data_ != nullptr) ++data_->uses;
    }
    void release() noexcept;

    Data* data_ = nullptr;
};

/// An operation, with all that precedes it.
struct Moment {
    Clock before;
    Epoch at;
};

/// What precedes an operation: what its clock and the host know, and all of its own slot.
struct Order {
    const Clock* clock;
    const HostFloor* floor;
    Slot own = host_slot;

    bool covers(Epoch epoch) const noexcept {
        return epoch.slot() == own || floor->covers(epoch) || clock->covers(epoch);
    }
};

}  // namespace heddle::detail
