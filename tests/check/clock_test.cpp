// Clocks: what they know, dense and sorted.
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

/// Returns whether the clock and the floor together know what they should.
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
    for (const Slot slots : {8u, 120u, 140u, 2000u}) {
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
            REQUIRE(knows(clocks[to], known[to], floor, slots));
        }
    }
}
