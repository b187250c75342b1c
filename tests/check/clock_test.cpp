// Vector clocks with few slots and with many: whether they contain the expected order.
#include "catch.hpp"
#include "check/clock.hpp"
#include "random.hpp"

#include <map>
#include <vector>

using heddle::detail::Clock;
using heddle::detail::Epoch;
using heddle::detail::HostFloor;
using heddle::detail::Position;
using heddle::detail::Slot;

namespace {

using Known = std::map<Slot, Position>;

void raise(Known& known, Epoch epoch) {
    Position& position = known[epoch.slot()];
    position = std::max(position, epoch.position());
}

/// Returns whether the clock and the floor together contain exactly the expected order.
bool knows(const Clock& clock, const Known& known, const HostFloor& floor, Slot slots) {
    for (Slot slot = 1; slot < slots; ++slot) {
        const auto found = known.find(slot);
        const Position expected = found != known.end() ? found->second : 0;
        if (clock.at(slot) > expected) return false;
        if (clock.at(slot) < expected && !floor.covers({slot, expected})) return false;
    }
    return true;
}

}  // namespace

TEST_CASE("an epoch is a slot and a position in one word", "[check]") {
    const Epoch epoch{1048575, (Position{1} << 44) - 1};
    CHECK(epoch.slot() == 1048575);
    CHECK(epoch.position() == (Position{1} << 44) - 1);
    CHECK_FALSE(Epoch{});
}

TEST_CASE("copies of a clock share it until one of them learns something", "[check]") {
    const HostFloor floor;
    Clock a;
    CHECK(a.join(Epoch{3, 7}, floor));
    Clock b = a;
    CHECK(b.is_same(a));
    CHECK_FALSE(b.join(Epoch{3, 5}, floor));
    CHECK(b.is_same(a));
    CHECK(b.join(Epoch{4, 1}, floor));
    CHECK_FALSE(b.is_same(a));
    CHECK(a.at(4) == 0);
    CHECK(b.at(3) == 7);
}

TEST_CASE("clocks know what they have joined, with few slots and with many", "[check]") {
    for (const Slot slots : {8u, 120u, 140u, 2000u, 6000u, 200000u}) {
        heddle_test::Random random(slots);
        HostFloor floor;
        std::vector<Clock> clocks(5);
        std::vector<Known> known(5);
        for (int i = 0; i < 2000; ++i) {
            const std::size_t to = random.below(5), from = random.below(5);
            const Epoch epoch{static_cast<Slot>(1 + random.below(slots - 1)),
                              1 + random.below(100)};
            if (random.below(20) == 0) floor.raise(epoch);
            const bool is_new = !clocks[to].covers(clocks[from], floor) ||
                                !(clocks[to].covers(epoch) || floor.covers(epoch));
            CHECK(clocks[to].join(clocks[from], epoch, floor) == is_new);
            for (const auto& [slot, position] : Known(known[from]))
                raise(known[to], {slot, position});
            raise(known[to], epoch);
            // It suffices to check samples: an error would persist, because clocks never forget.
            if (static_cast<Slot>(i) % (1 + slots / 1000) == 0)
                REQUIRE(knows(clocks[to], known[to], floor, slots));
        }
        for (std::size_t i = 0; i < clocks.size(); ++i)
            CHECK(knows(clocks[i], known[i], floor, slots));
    }
}

TEST_CASE("a clock that knows one thing more shares the rest", "[check]") {
    const HostFloor floor;
    Clock before;
    for (Slot slot = 1; slot <= 10000; ++slot) before.join(Epoch{slot, 1}, floor);
    Clock after = before;
    after.join(Epoch{5000, 2}, floor);
    std::size_t told = 0;
    after.for_each_not_shared(before, [&](Epoch) { ++told; });
    CHECK(told == Clock::leaf_slots);
    Clock other;
    other.join(before, floor);
    CHECK(other.is_same(before));
    other.join(after, floor);
    CHECK(other.is_same(after));
}

TEST_CASE("a clock raises the floor to what it knows, and costs nothing after that", "[check]") {
    HostFloor floor;
    Clock clock;
    for (Slot slot = 1; slot <= 1000; ++slot) clock.join(Epoch{slot, slot}, floor);
    std::size_t raised = 0;
    clock.raise(floor, [&](Slot) { ++raised; });
    CHECK(raised == 1000);
    CHECK(floor.covers({1000, 1000}));
    clock.join(Epoch{7, 8}, floor);
    clock.raise(floor, [&](Slot slot) {
        ++raised;
        CHECK(slot == 7);
    });
    CHECK(raised == 1001);
    CHECK(Clock().covers(clock, floor));
}
