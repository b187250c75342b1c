#include "check/clock.hpp"

#include <algorithm>
#include <cstddef>
#include <new>

namespace heddle::detail {

void HostFloor::raise(Epoch to) {
    if (to.slot() >= reached_.size()) reached_.resize(to.slot() + 1);
    Position& reached = reached_[to.slot()];
    reached = std::max(reached, to.position());
}

Clock::Node* Clock::make(std::size_t size, std::uint32_t height) {
    void* const memory = ::operator new(sizeof(Node) + size * sizeof(std::uint64_t));
    return new (memory) Node{1, static_cast<std::uint32_t>(size), height, false};
}

void Clock::destroy(Node* node) noexcept {
    if (node->height != 0)
        for (std::uint32_t i = 0; i < node->size; ++i) release(child(*node, i));
    ::operator delete(node);
}

/// Returns a leaf with the greater position of each slot in `a`, `b` and the epoch. Any of the
/// three may be missing.
Clock::Node* Clock::make_leaf(const Node* a, const Node* b, Epoch epoch) {
    std::uint32_t size = epoch ? epoch.slot() + 1 : 0;
    for (const Node* const one : {a, b})
        if (one != nullptr) size = std::max(size, one->size);
    Node* const made = make(size, 0);
    std::uint64_t* const to = words(*made);
    std::fill_n(to, size, 0);
    for (const Node* const one : {a, b})
        for (Slot slot = 0; one != nullptr && slot < one->size; ++slot)
            to[slot] = std::max(to[slot], words(*one)[slot]);
    if (epoch) to[epoch.slot()] = std::max(to[epoch.slot()], epoch.position());
    return made;
}

bool Clock::leaf_covers(const Node* mine, const Node& other, Slot first, const HostFloor& floor) {
    const std::uint32_t common = mine != nullptr ? std::min(mine->size, other.size) : 0;
    const std::uint64_t* const others = words(other);
    Slot slot = common;
    if (common != 0) {
        // Usually `mine` covers the other leaf even without the floor. The loop below has no
        // branches, so it can compare several words at a time. A difference has its highest bit set
        // if the position in `others` is greater.
        const std::uint64_t* const known = words(*mine);
        std::uint64_t any_is_newer = 0;
        for (Slot i = 0; i < common; ++i) any_is_newer |= known[i] - others[i];
        if (any_is_newer >> 63 != 0)
            for (slot = 0; slot < common; ++slot)
                if (others[slot] > std::max(known[slot], floor.at(first + slot))) return false;
    }
    for (; slot < other.size; ++slot)
        if (others[slot] > floor.at(first + slot)) return false;
    if (common == 0) other.is_over = true;
    return true;
}

bool Clock::covers(Node* mine, Node* other, Slot first, const HostFloor& floor) {
    if (other == mine || other == nullptr || other->is_over) return true;
    while (mine != nullptr && mine->height > other->height) mine = child(*mine, 0);
    if (other->height == 0) return leaf_covers(mine, *other, first, floor);
    for (std::uint32_t i = 0; i < other->size; ++i)
        if (!covers(child_at(mine, other->height, i), child(*other, i),
                    first + i * slots_of_child(*other), floor))
            return false;
    if (mine == nullptr) other->is_over = true;
    return true;
}

/// Returns a node with the greater position of each slot. If one node covers the other, returns the
/// covering node itself.
Clock::Node* Clock::merged(Node* a, Node* b) {
    const auto share = [](Node* node) {
        acquire(node);
        return node;
    };
    if (a == b || b == nullptr || b->is_over) return share(a);
    if (a == nullptr || a->is_over) return share(b);
    const std::uint32_t height = std::max(a->height, b->height);
    if (height == 0) {
        const HostFloor nothing;
        if (leaf_covers(a, *b, 0, nothing)) return share(a);
        if (leaf_covers(b, *a, 0, nothing)) return share(b);
        return make_leaf(a, b, {});
    }
    const std::uint32_t count = std::max(children(a, height), children(b, height));
    bool is_a = a->height == height, is_b = b->height == height;
    Owned made(make(count, height));
    std::fill_n(words(*made), count, 0);
    for (std::uint32_t i = 0; i < count; ++i) {
        Node *const of_a = child_at(a, height, i), *const of_b = child_at(b, height, i);
        Node* const both = merged(of_a, of_b);
        is_a = is_a && both == of_a;
        is_b = is_b && both == of_b;
        words(*made)[i] = reinterpret_cast<std::uint64_t>(both);
    }
    if (!is_a && !is_b) return made.release();
    return share(is_a ? a : b);
}

/// Returns a node with the slot's position raised. Consumes the caller's reference to the old
/// node. If nothing else refers to that node, it is changed in place.
Clock::Node* Clock::with(Node* node, Slot slot, Position position) {
    std::uint32_t height = node != nullptr ? node->height : 0;
    while (slot >> (leaf_bits + height * child_bits) != 0) ++height;
    if (height == 0) {
        if (node != nullptr && node->uses == 1 && slot < node->size) {
            words(*node)[slot] = std::max(words(*node)[slot], position);
            node->is_over = false;
            return node;
        }
        Node* const made = make_leaf(node, nullptr, {slot, position});
        release(node);
        return made;
    }
    const unsigned shift = leaf_bits + (height - 1) * child_bits;
    const std::uint32_t index = slot >> shift;
    const bool is_own =
        node != nullptr && node->height == height && node->uses == 1 && index < node->size;
    Owned copy;
    if (!is_own) {
        const std::uint32_t count = std::max(children(node, height), index + 1);
        copy.reset(make(count, height));
        for (std::uint32_t i = 0; i < count; ++i) {
            Node* const one = child_at(node, height, i);
            acquire(one);
            words(*copy)[i] = reinterpret_cast<std::uint64_t>(one);
        }
    }
    Node& changed = is_own ? *node : *copy;
    words(changed)[index] = reinterpret_cast<std::uint64_t>(
        with(child(changed, index), slot & ((Slot{1} << shift) - 1), position));
    changed.is_over = false;
    if (is_own) return node;
    release(node);
    return copy.release();
}

bool Clock::join(const Clock& other, Epoch epoch, const HostFloor& floor) {
    if (!epoch || covers(epoch) || floor.covers(epoch)) epoch = {};
    const bool is_known = covers(other, floor);
    if (is_known && !epoch) return false;
    const auto is_leaf = [](const Node* node) { return node == nullptr || node->height == 0; };
    const bool is_small =
        is_leaf(root_) && is_leaf(other.root_) && epoch.slot() < leaf_slots && epoch;
    if (is_small) {  // a single node is enough
        Node* const made = make_leaf(root_, is_known ? nullptr : other.root_, epoch);
        release(std::exchange(root_, made));
        return true;
    }
    if (!is_known) release(std::exchange(root_, merged(root_, other.root_)));
    if (epoch) root_ = with(root_, epoch.slot(), epoch.position());
    return true;
}

}  // namespace heddle::detail
