// The flight recorder stores the last operations of a stream. A thread reads them while others
// write.
#include "core/operation/flight.hpp"
#include "support.hpp"

using namespace heddle_test;
using heddle::detail::FlightEntry;
using heddle::detail::FlightRing;

TEST_CASE("a flight recorder has the last 64 operations, oldest first") {
    FlightRing ring;
    for (std::uint64_t i = 1; i <= 100; ++i)
        ring.put(i, i - 1, {.kind = OpKind::launch, .name = "k", .where = {"a.cpp", 7}});
    const std::vector<FlightEntry> all = ring.read(0);
    REQUIRE(all.size() == FlightRing::size);
    CHECK(all.front().position == 37);
    CHECK(all.back().position == 100);
    CHECK(all.back().submissions == 99);
    CHECK(all.back().where.line == 7);
}

TEST_CASE("a flight recorder keeps what a wait is for, and what a collective's share is") {
    FlightRing ring;
    ring.put(1, 5,
             {.kind = OpKind::wait,
              .name = "wait_event",
              .where = {"a.cpp", 70'000},
              .views = 300,
              .other = 0x1234567890,
              .event = {77, 3},
              .mode = OpMode::batched,
              .collective = 9,
              .share = 11});
    const std::vector<FlightEntry> all = ring.read(0);
    REQUIRE(all.size() == 1);
    CHECK(all[0].kind == OpKind::wait);
    CHECK(all[0].mode == OpMode::batched);
    CHECK(all[0].where.line == 70'000);
    CHECK(all[0].views == 255);  // the counter's maximum
    CHECK(all[0].other == 0x1234567890);
    CHECK(all[0].event == EventPoint{77, 3});
    CHECK(all[0].collective == 9);
    CHECK(all[0].share == 11);
}

TEST_CASE("entries of the stream that had the record before are left out") {
    FlightRing ring;
    for (std::uint64_t i = 1; i <= 10; ++i) ring.put(i, i, {});
    CHECK(ring.read(8).size() == 2);
    CHECK(ring.read(10).empty());
}

TEST_CASE("a flight recorder that is read while it is written shows whole entries") {
    FlightRing ring;
    std::atomic<bool> is_over{false};
    std::thread writer([&] {
        for (std::uint64_t i = 1; !is_over.load(); ++i)
            ring.put(i, i, {.where = {"a.cpp", static_cast<unsigned>(i % 1000)}, .other = i});
    });
    std::size_t seen = 0, wrong = 0;
    const bool is_enough = eventually([&] {
        for (const FlightEntry& one : ring.read(0)) {
            ++seen;
            if (one.other != one.position || one.submissions != one.position ||
                one.where.line != one.position % 1000)
                ++wrong;
        }
        return seen > 100'000;
    });
    is_over = true;
    writer.join();
    CHECK(is_enough);
    CHECK(wrong == 0);
}
