// Maps times by the clocks of devices to the host's clock.
#include "timeline/clock/clocks.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "catch.hpp"

using namespace heddle::detail;

namespace {

constexpr std::int64_t us = 1000, ms = 1000 * us, second = 1000 * ms;

/// A device's clock. It does not run at the same rate as the host's clock.
struct DeviceClock {
    std::int64_t offset = 0;
    double drift = 0;
    std::int64_t resolution = 1;
    std::int64_t set_at = 0, set_by = 0;  ///< when the clock was set, and by how much

    std::int64_t at(std::int64_t host) const {
        const auto drifted =
            static_cast<std::int64_t>(std::llround(drift * static_cast<double>(host)));
        const std::int64_t shown = host + offset + drifted + (host >= set_at ? set_by : 0);
        return shown - shown % resolution;
    }
};

/// When an operation was called, started, ended, and was seen by the host to have ended (0: never).
struct Operation {
    std::int64_t called, started, ended, seen;
};

struct Program {
    std::vector<Operation> operations;
    /// The host's times before and after each clock reading.
    std::vector<std::pair<std::int64_t, std::int64_t>> brackets;
};

/// Makes a program with one operation every `every` ns. Each starts a few us after its call. The
/// host observes the end of one in ten operations. There is one clock reading per second, bracketed
/// by two host times 6 us apart.
Program make_program(std::int64_t length, std::int64_t every, unsigned seed) {
    std::mt19937 random(seed);
    const auto up_to = [&](std::int64_t most) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
    };
    Program program;
    for (std::int64_t now = 0; now < length; now += every) {
        const std::int64_t called = now + up_to(every / 2);
        const std::int64_t started = called + 2 * us + up_to(30 * us);
        const std::int64_t ended = started + 5 * us + up_to(10 * us);
        const bool is_seen = random() % 10 == 0;
        program.operations.push_back(
            {called, started, ended, is_seen ? ended + 3 * us + up_to(20 * us) : 0});
    }
    for (std::int64_t now = 0; now <= length; now += second)
        program.brackets.emplace_back(now, now + 6 * us);
    return program;
}

void add_operations(ClockMap& map, const Program& program, const DeviceClock& clock) {
    for (const Operation& one : program.operations) {
        map.not_before(clock.at(one.started), one.called);
        if (one.seen != 0) map.not_after(clock.at(one.ended), one.seen);
    }
}

void add_brackets(ClockMap& map, const Program& program, const DeviceClock& clock) {
    std::mt19937 random(1);
    for (const auto& [before, after] : program.brackets) {
        const auto width = static_cast<std::uint64_t>(after - before);
        map.add_bracket(before, clock.at(before + static_cast<std::int64_t>(random() % width)),
                        after);
    }
}

/// Returns by how much the true error of a mapped time exceeds the map's error bound.
std::int64_t beyond_error(const ClockMap& map, const DeviceClock& clock, std::int64_t host) {
    const MappedMoment mapped = map.at(clock.at(host));
    return std::abs(mapped.host - host) - mapped.error;
}

struct Worst {
    std::int64_t beyond = -second;  ///< largest excess of an error over its bound
    std::int64_t error = 0;
    std::uint64_t violated = 0;  ///< number of violated bounds
};

Worst worst_of(const ClockMap& map, const Program& program, const DeviceClock& clock) {
    Worst worst;
    for (const Operation& one : program.operations) {
        for (const std::int64_t moment : {one.started, one.ended}) {
            worst.beyond = std::max(worst.beyond, beyond_error(map, clock, moment));
            worst.error = std::max(worst.error, map.at(clock.at(moment)).error);
        }
        worst.violated += map.at(clock.at(one.started)).host < one.called;
        if (one.seen != 0) worst.violated += map.at(clock.at(one.ended)).host > one.seen;
    }
    return worst;
}

}  // namespace

TEST_CASE("a bracket alone gives the offset of a clock, to half its width") {
    ClockMap map;
    map.add_bracket(1000, 501'003, 1006);
    map.solve();
    CHECK(map.at(501'003).host == 1003);
    CHECK(map.at(501'003).error == 3);
    CHECK(map.left_out() == 0);
}

TEST_CASE("hulls bound the true offset of a clock that drifts") {
    for (unsigned seed = 0; seed < 20; ++seed) {
        const double drift = (static_cast<double>(seed) - 10) * 5e-6;
        const DeviceClock clock{.offset = 77 * second * seed, .drift = drift};
        const Program program = make_program(4 * second, 2 * ms, seed);
        ClockMap map;
        add_operations(map, program, clock);
        add_brackets(map, program, clock);
        map.solve();
        const Worst worst = worst_of(map, program, clock);
        CAPTURE(seed);
        CHECK(worst.beyond <= 1);
        CHECK(worst.error <= 3 * us);
        CHECK(worst.violated == 0);
        CHECK(map.left_out() == 0);
        CHECK(map.largest_error() <= 3 * us);
    }
}

TEST_CASE("causality alone bounds a clock") {
    const DeviceClock clock{.offset = -5 * second, .drift = 5e-5};
    const Program program = make_program(2 * second, ms, 3);
    ClockMap map;
    add_operations(map, program, clock);
    map.solve();
    const Worst worst = worst_of(map, program, clock);
    CHECK(worst.beyond <= 1);
    CHECK(worst.error <= 5 * us);
    CHECK(worst.violated == 0);
}

TEST_CASE("a clock that is coarse does not contradict itself if its resolution is known") {
    const DeviceClock clock{.drift = 2e-5, .resolution = 500};
    ClockMap naive, informed(500);
    for (ClockMap* const map : {&naive, &informed}) {
        for (std::int64_t host = 0; host < second; host += 7'777'777)
            map->add_bracket(host, clock.at(host), host);
        map->solve();
    }
    CHECK(naive.left_out() > 100);
    CHECK(informed.left_out() == 0);
    CHECK(beyond_error(informed, clock, 500 * ms) <= 500);
}

TEST_CASE("a narrow bracket narrows the map around it, too") {
    const DeviceClock clock{.offset = 5, .drift = 3e-5};
    ClockMap map;
    for (const auto& [host, half] : {std::pair(std::int64_t{0}, 50 * us), std::pair(500 * ms, us),
                                     std::pair(999 * ms, 50 * us)})
        map.add_bracket(host - half, clock.at(host), host + half);
    map.solve();
    CHECK(map.at(clock.at(510 * ms)).error <= 4 * us);
    CHECK(map.at(clock.at(490 * ms)).error <= 4 * us);
    CHECK(beyond_error(map, clock, 510 * ms) <= 1);
}

TEST_CASE("a coarse clock keeps its bounds as far as its resolution lets it") {
    const DeviceClock clock{.offset = second, .drift = 2e-5, .resolution = 500};
    const Program program = make_program(3 * second, 2 * ms, 4);
    ClockMap map(500);
    add_operations(map, program, clock);
    add_brackets(map, program, clock);
    map.solve();
    CHECK(map.left_out() == 0);
    CHECK(worst_of(map, program, clock).beyond <= 500);
}

TEST_CASE("no moment is put before its bound if bounds agree") {
    for (unsigned seed = 0; seed < 50; ++seed) {
        std::mt19937 random(seed);
        const DeviceClock clock{.offset = 12'345, .drift = 1e-4 - 1e-5 * (seed % 20)};
        ClockMap map;
        std::vector<std::pair<std::int64_t, std::int64_t>> lower, upper;  // device, host times
        const int bounds = seed % 2 == 0 ? 300 : 20;
        for (int i = 0; i < bounds; ++i) {
            const auto host = static_cast<std::int64_t>(random() % (5 * second));
            // In every other second, the bounds are much tighter.
            const std::int64_t most = host / second % 2 == 0 ? 100 * us : us / 10;
            const std::uint64_t slack_of = random() % 3 == 0 ? 1 : static_cast<std::uint64_t>(most);
            const auto slack = static_cast<std::int64_t>(random() % slack_of);
            if (i % 2 == 0) lower.emplace_back(clock.at(host), host - slack - 1);
            else upper.emplace_back(clock.at(host), host + slack + 1);
        }
        for (const auto& [device, host] : lower) map.not_before(device, host);
        for (const auto& [device, host] : upper) map.not_after(device, host);
        map.solve();
        CAPTURE(seed);
        CHECK(map.left_out() == 0);
        for (const auto& [device, host] : lower) REQUIRE(map.at(device).host >= host);
        for (const auto& [device, host] : upper) REQUIRE(map.at(device).host <= host);
    }
}

TEST_CASE("later moments of a device are later moments of the host") {
    const DeviceClock clock{.drift = -5e-5};
    const Program program = make_program(5 * second, 5 * ms, 9);
    ClockMap map;
    const std::int64_t origin = clock.at(-10 * us);  // where the clock's first second begins
    map.add_bracket(-13 * us, origin, -7 * us);
    add_operations(map, program, clock);
    add_brackets(map, program, clock);
    map.solve();
    std::int64_t last = map.at(-second).host;
    for (std::int64_t device = -second; device < 7 * second; device += 777 * us) {
        REQUIRE(map.at(device).host >= last);
        last = map.at(device).host;
    }
    // Where two seconds meet, the map has no step.
    for (std::int64_t border = origin; border < 5 * second; border += second)
        CHECK(map.at(border + 1).host - map.at(border - 1).host <= 3);
}

TEST_CASE("bounds that contradict most others are left out and counted") {
    const DeviceClock clock{.offset = 3 * second, .drift = 3e-5};
    const Program program = make_program(3 * second, 2 * ms, 5);
    const bool has_brackets = GENERATE(true, false);
    ClockMap map;
    add_operations(map, program, clock);
    if (has_brackets) add_brackets(map, program, clock);
    for (int i = 0; i < 5; ++i) {
        const std::int64_t host = 100 * ms + i * 600 * ms;
        map.not_before(clock.at(host), host + 700 * us);
        map.not_after(clock.at(host + ms), host - 20 * us);
    }
    map.not_before(0, 40 * second);  // a device's time of 0
    map.solve();
    CHECK(map.left_out() >= 11);
    CHECK(map.left_out() <= 40);
    CHECK(worst_of(map, program, clock).beyond <= 10 * us);
}

TEST_CASE("where a clock was set, its map steps") {
    for (const std::int64_t by : {-300 * us, 50 * us, 2 * ms, 300 * ms, 10 * second}) {
        const DeviceClock clock{.drift = 5e-5, .set_at = 3 * second + 400 * ms, .set_by = by};
        const Program program = make_program(7 * second, 2 * ms, 6);
        ClockMap map;
        add_operations(map, program, clock);
        add_brackets(map, program, clock);
        map.solve();
        CAPTURE(by);
        std::int64_t beyond = -second, error = 0;
        for (const Operation& one : program.operations) {
            if (std::abs(one.started - clock.set_at) < 100 * ms) continue;
            beyond = std::max(beyond, beyond_error(map, clock, one.started));
            error = std::max(error, map.at(clock.at(one.started)).error);
        }
        CHECK(beyond <= 1);
        CHECK(error <= 10 * us);
        CHECK(map.left_out() <= 5);
    }
}

TEST_CASE("between the last bound before a step and the first one behind it, both may be") {
    for (const std::int64_t set_at : {3 * second + 450 * ms, 3 * second - 50 * ms}) {
        const DeviceClock clock{.drift = 2e-5, .set_at = set_at, .set_by = 2 * ms};
        ClockMap map;
        for (std::int64_t host = 0; host <= 7 * second; host += 100 * ms)
            map.add_bracket(host - us, clock.at(host), host + us);
        map.solve();
        CAPTURE(set_at);
        CHECK(map.left_out() == 0);
        for (std::int64_t host = 0; host <= 7 * second; host += 33 * ms) {
            CAPTURE(host);
            CHECK(beyond_error(map, clock, host) <= 1);
            if (std::abs(host - set_at) > 100 * ms) CHECK(map.at(clock.at(host)).error <= 2 * us);
        }
    }
}

TEST_CASE("one wrong bound is no step") {
    const DeviceClock clock{.drift = 2e-5};
    const Program program = make_program(3 * second, 2 * ms, 7);
    ClockMap clean, map;
    for (ClockMap* const one : {&clean, &map}) {
        add_operations(*one, program, clock);
        add_brackets(*one, program, clock);
    }
    map.not_before(clock.at(second + 550 * ms), second + 560 * ms);
    clean.solve();
    map.solve();
    CHECK(clean.left_out() == 0);
    CHECK(map.left_out() == 1);
    for (std::int64_t host = 0; host <= 3 * second; host += 10 * ms)
        CHECK(map.at(clock.at(host)).host == clean.at(clock.at(host)).host);
}

TEST_CASE("a clock that was set back a long way is not trusted where its moments came twice") {
    const DeviceClock clock{.set_at = 4 * second + 500 * ms, .set_by = -800 * ms};
    const Program program = make_program(9 * second, 2 * ms, 6);
    ClockMap map;
    add_operations(map, program, clock);
    add_brackets(map, program, clock);
    map.solve();
    CHECK(map.left_out() > 100);
    std::int64_t worst = -second;
    for (const Operation& one : program.operations)
        if (std::abs(one.started - clock.set_at) > 2 * second)
            worst = std::max(worst, beyond_error(map, clock, one.started));
    CHECK(worst <= 1);
    CHECK(worst_of(map, program, clock).beyond <= 10 * us);
    CHECK(map.at(clock.at(4 * second + 300 * ms)).error > 100 * ms);
}

TEST_CASE("an hour of float milliseconds from events taken anew each second stays exact") {
    const DeviceClock clock{.offset = 0, .drift = -4e-5};
    // cudaEventElapsedTime returns milliseconds as a float, in steps of half a microsecond.
    const auto elapsed = [&](std::int64_t from, std::int64_t to) {
        const std::int64_t steps = (clock.at(to) - clock.at(from)) / 500;
        return static_cast<float>(static_cast<double>(steps) * 0.5e-3);
    };
    const auto to_ns = [](float milliseconds) {
        return static_cast<std::int64_t>(std::llround(static_cast<double>(milliseconds) * 1e6));
    };
    ClockMap map(600);
    std::vector<std::pair<std::int64_t, std::int64_t>> moments;  // the device's and the host's time
    std::int64_t base_host = 0, base_device = 0;
    std::mt19937 random(8);
    for (int i = 0; i < 3600; ++i) {
        map.add_bracket(base_host - 3 * us, base_device, base_host + 3 * us);
        for (int j = 0; j < 10; ++j) {
            const auto host = base_host + static_cast<std::int64_t>(random() % second);
            const std::int64_t device = base_device + to_ns(elapsed(base_host, host));
            map.not_before(device, host - 2 * us - static_cast<std::int64_t>(random() % (9 * us)));
            moments.emplace_back(device, host);
        }
        const std::int64_t next = base_host + second;
        base_device += to_ns(elapsed(base_host, next));
        base_host = next;
    }
    map.add_bracket(base_host - 3 * us, base_device, base_host + 3 * us);
    map.solve();
    std::int64_t beyond = 0, error = 0;
    for (const auto& [device, host] : moments) {
        const MappedMoment mapped = map.at(device);
        beyond = std::max(beyond, std::abs(mapped.host - host) - mapped.error);
        error = std::max(error, mapped.error);
    }
    CHECK(map.left_out() == 0);
    CHECK(beyond <= 600);
    CHECK(error <= 5 * us);
}

TEST_CASE("an order between two devices narrows the map of the one that is known less") {
    const DeviceClock exact{.offset = second, .drift = 1e-5};
    const DeviceClock vague{.offset = -second, .drift = -3e-5};
    ClockMap first, after;
    for (std::int64_t host = 0; host < 2 * second; host += 100 * ms) {
        first.add_bracket(host - us, exact.at(host), host + us);
        after.add_bracket(host - 80 * us, vague.at(host), host + 20 * us);
    }
    first.solve();
    after.solve();
    const std::int64_t before = after.largest_error();
    // On the second device, an operation started 3 us after one on the first device had ended.
    for (std::int64_t host = 50 * ms; host < 2 * second; host += 50 * ms)
        add_order(first, exact.at(host - 3 * us), after, vague.at(host));
    first.solve();
    after.solve();
    CHECK(first.left_out() + after.left_out() == 0);
    CHECK(after.at(vague.at(second)).error < before / 2);
    for (std::int64_t host = 50 * ms; host < 2 * second; host += 50 * ms) {
        CHECK(beyond_error(after, vague, host) <= 1);
        const std::int64_t end = first.at(exact.at(host - 3 * us)).host;
        CHECK(after.at(vague.at(host)).host >= end - first.largest_error());
    }
}

TEST_CASE("maps with no bounds, with bounds of one kind or with garbage have large errors") {
    ClockMap none;
    none.solve();
    CHECK(none.at(42).host == 42);
    CHECK(none.at(42).error > second);
    CHECK(none.largest_error() > second);

    ClockMap lower;
    lower.not_before(1000, 5000);
    lower.not_before(2000, 6500);
    lower.solve();
    CHECK(lower.at(2000).host == 6500);
    CHECK(lower.at(1000).host >= 5000);
    CHECK(lower.at(2000).error > second);

    constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    ClockMap garbage;
    garbage.not_before(least, most);
    garbage.not_after(most, least);
    garbage.add_bracket(10, 20, 5);
    garbage.add_bracket(10, 20, 30);
    garbage.solve();
    CHECK(garbage.left_out() == 4);
    CHECK(garbage.at(20).host == 20);
    (void)garbage.at(least);
    (void)garbage.at(most);
}
