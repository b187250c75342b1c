// Vector clocks: positions of streams, and the operations ordered before them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace heddle::detail {

/// A small number for a stream, for the host (0), or for a part of a graph. When a slot is reused,
/// its positions continue to count up, so old clocks stay valid.
using Slot = std::uint32_t;
inline constexpr Slot host_slot = 0;
/// The index of an operation in its slot, from 1.
using Position = std::uint64_t;

/// An operation, as slot and position in one word. A default-constructed epoch is empty.
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

/// The operations that the host knows to be complete: a position for each slot. All host threads
/// count as one host. Positions only increase.
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

/// A vector clock: for each slot, the newest position that an operation is ordered after. Copies
/// share one tree, and a change copies only the changed nodes. So two clocks that differ little
/// cost little more than one. Each leaf has 128 slots. Pass the same floor to all calls. Not
/// thread-safe.
class Clock {
public:
    static constexpr Slot leaf_slots = 128;

    Clock() = default;
    Clock(const Clock& from) noexcept : root_(from.root_) { acquire(root_); }
    Clock(Clock&& from) noexcept : root_(std::exchange(from.root_, nullptr)) {}
    Clock& operator=(Clock from) noexcept {
        std::swap(root_, from.root_);
        return *this;
    }
    ~Clock() { release(root_); }

    /// Returns the position of a slot, or 0 if the clock has none.
    Position at(Slot slot) const noexcept {
        const Node* node = root_;
        while (node != nullptr && node->height != 0) {
            const std::uint32_t index = slot >> shift_of(*node);
            slot &= slots_of_child(*node) - 1;
            node = index < node->size ? child(*node, index) : nullptr;
        }
        return node != nullptr && slot < node->size ? words(*node)[slot] : 0;
    }
    bool covers(Epoch epoch) const noexcept { return epoch.position() <= at(epoch.slot()); }
    /// Returns whether this clock, or the floor, covers every position of the other clock.
    bool covers(const Clock& other, const HostFloor& floor) const {
        return covers(root_, other.root_, 0, floor);
    }
    bool is_empty() const noexcept { return root_ == nullptr; }
    bool is_same(const Clock& other) const noexcept { return root_ == other.root_; }

    /// Raises this clock to cover `epoch`, everything before `epoch` on its slot, and the other
    /// clock. May omit positions that the floor covers. Returns whether this clock changed.
    bool join(const Clock& other, Epoch epoch, const HostFloor& floor);
    bool join(const Clock& other, const HostFloor& floor) { return join(other, {}, floor); }
    bool join(Epoch epoch, const HostFloor& floor) { return join({}, epoch, floor); }

    /// Calls f(Epoch) for each slot that has a position.
    template <class F> void for_each(F&& f) const { for_each(root_, nullptr, 0, f); }
    /// Same as for_each(), but skips the parts that this clock shares with `other`.
    template <class F> void for_each_not_shared(const Clock& other, F&& f) const {
        for_each(root_, other.root_, 0, f);
    }
    /// Raises the floor to cover this clock. Calls f(Slot) for each slot that it raises.
    template <class F> void raise(HostFloor& floor, F&& f) const { raise(root_, 0, floor, f); }

private:
    /// In memory, a node is followed by its words. The words of a leaf are the positions of its
    /// slots. The words of another node are pointers to its children, which may be null. A sparse
    /// child may be shorter than its siblings.
    struct Node {
        std::uint32_t uses;
        std::uint32_t size;    ///< number of words
        std::uint32_t height;  ///< 0 for a leaf
        /// True once the floor was found to cover the whole node. The floor never falls, so this
        /// stays true until the node changes.
        mutable bool is_over;
    };
    static constexpr unsigned leaf_bits = 7, child_bits = 5;
    static_assert(Slot{1} << leaf_bits == leaf_slots);

    static std::uint64_t* words(Node& node) noexcept {
        return reinterpret_cast<std::uint64_t*>(&node + 1);
    }
    static const std::uint64_t* words(const Node& node) noexcept {
        return reinterpret_cast<const std::uint64_t*>(&node + 1);
    }
    static Node* child(const Node& node, std::uint32_t index) noexcept {
        return reinterpret_cast<Node*>(words(node)[index]);
    }
    /// Returns the shift that converts a slot's number to the index of the child for that slot.
    static unsigned shift_of(const Node& node) noexcept {
        return leaf_bits + (node.height - 1) * child_bits;
    }
    static Slot slots_of_child(const Node& node) noexcept { return Slot{1} << shift_of(node); }
    /// Returns child `index` of a node, as seen from this height. A node below this height is
    /// treated as its own first child. Returns null if there is no such child.
    static Node* child_at(Node* node, std::uint32_t height, std::uint32_t index) noexcept {
        if (node == nullptr) return nullptr;
        if (node->height < height) return index == 0 ? node : nullptr;
        return index < node->size ? child(*node, index) : nullptr;
    }
    static std::uint32_t children(const Node* node, std::uint32_t height) noexcept {
        if (node == nullptr) return 0;
        return node->height < height ? 1 : node->size;
    }

    struct Release {
        void operator()(Node* node) const noexcept { release(node); }
    };
    using Owned = std::unique_ptr<Node, Release>;

    static Node* make(std::size_t size, std::uint32_t height);
    static Node* make_leaf(const Node* a, const Node* b, Epoch epoch);
    static bool covers(Node* mine, Node* other, Slot first, const HostFloor& floor);
    static bool leaf_covers(const Node* mine, const Node& other, Slot first,
                            const HostFloor& floor);
    static Node* merged(Node* a, Node* b);
    static Node* with(Node* node, Slot slot, Position position);
    static void acquire(Node* node) noexcept {
        if (node != nullptr) ++node->uses;
    }
    static void release(Node* node) noexcept {
        if (node != nullptr && --node->uses == 0) destroy(node);
    }
    static void destroy(Node* node) noexcept;

    template <class F> static void for_each(Node* node, Node* without, Slot first, F& f) {
        if (node == nullptr || node == without) return;
        if (node->height == 0) {
            for (std::uint32_t i = 0; i < node->size; ++i)
                if (const Position at = words(*node)[i]; at != 0) f(Epoch(first + i, at));
            return;
        }
        for (std::uint32_t i = 0; i < node->size; ++i)
            for_each(child(*node, i), lower(without, node->height, i),
                     first + i * slots_of_child(*node), f);
    }
    template <class F> static void raise(Node* node, Slot first, HostFloor& floor, F& f) {
        if (node == nullptr || node->is_over) return;
        for (std::uint32_t i = 0; i < node->size; ++i) {
            if (node->height != 0) {
                raise(child(*node, i), first + i * slots_of_child(*node), floor, f);
            } else if (const Epoch epoch(first + i, words(*node)[i]); !floor.covers(epoch)) {
                floor.raise(epoch);
                f(epoch.slot());
            }
        }
        node->is_over = true;
    }
    /// Returns the node within the other clock's tree `node` that covers the slots of child `index`
    /// of a node at `height`, or null if there is none.
    static Node* lower(Node* node, std::uint32_t height, std::uint32_t index) noexcept {
        while (node != nullptr && node->height > height) node = child(*node, 0);
        return child_at(node, height, index);
    }

    Node* root_ = nullptr;
};

/// An operation, with everything ordered before it.
struct Moment {
    Clock before;
    Epoch at;
};

/// The operations ordered before an operation: all that its clock or the floor covers, and all
/// earlier operations on its own slot.
struct Order {
    const Clock* clock;
    const HostFloor* floor;
    Slot own = host_slot;

    bool covers(Epoch epoch) const noexcept {
        return epoch.slot() == own || floor->covers(epoch) || clock->covers(epoch);
    }
};

}  // namespace heddle::detail
