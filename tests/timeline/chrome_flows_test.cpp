#include "timeline/file/chrome_flows.hpp"

#include "catch.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "timeline/chrome_events.hpp"
#include "timeline/sample_traces.hpp"

using namespace heddle_test;

TEST_CASE("a wait has an arrow from what was waited for to what waited", "[timeline]") {
    CopyAndHash t;
    const Json json = chrome_json(t.trace(0, 100'000));
    check_all(json);
    const auto from = events(json, "s"), to = events(json, "f");
    REQUIRE(from.size() == 1);
    REQUIRE(to.size() == 1);
    CHECK(row_names(json).at(text(from[0].at("tid"))) == "up");
    CHECK(row_names(json).at(text(to[0].at("tid"))) == "main");
    CHECK(text(from[0].at("ts")) == "49.999");  // still within the copy
    CHECK(text(to[0].at("ts")) == "52.001");
    CHECK(text(from[0].at("name")) == "held up");
    CHECK(text(from[0].at("cat")) == "wait");
}

TEST_CASE("an arrow that errors of the clocks turn back goes forwards", "[timeline]") {
    CopyAndHash t;
    t.hash.ran(48'000, 80'000);
    const Json json = chrome_json(t.trace(0, 100'000));
    check_all(json);
    REQUIRE(events(json, "s").size() == 1);
    CHECK(text(events(json, "s")[0].at("ts")) == "48.000");
    CHECK(text(events(json, "f")[0].at("ts")) == "48.000");
}

TEST_CASE("a host wait that waited is a slice with an arrow, any other an instant", "[timeline]") {
    CopyAndHash t;
    t.synchronize(t.main).called(6'000, 85'000);
    t.synchronize(t.up).called(86'000, 86'700);
    const Json json = chrome_json(t.trace(0, 100'000));
    check_all(json);
    const auto instants = events(json, "i");
    REQUIRE(instants.size() == 1);
    CHECK(text(instants[0].at("name")) == "synchronize");
    CHECK(text(instants[0].at("s")) == "t");
    CHECK(argument(instants[0], "took_us") == "0.700");
    const auto ends = events(json, "f");
    CHECK(std::ranges::count(ends, "85.000", [](const Json& e) { return text(e.at("ts")); }) == 0);
    CHECK(std::ranges::count(ends, "84.999", [](const Json& e) { return text(e.at("ts")); }) == 1);
}

TEST_CASE("a host wait whose work had ended has no arrow, which would end in no slice",
          "[timeline]") {
    CopyAndHash t;
    t.synchronize(t.main).called(86'000, 86'700);
    const Json json = chrome_json(t.trace(0, 100'000));
    check_all(json);
    CHECK(events(json, "i").size() == 1);
    CHECK(events(json, "f").size() == 1);  // of the wait between the streams
    CHECK(text(json.at("otherData").at("arrows_left_out")) == "1");
}

TEST_CASE("a stream's bars and idle stretches add up to the whole", "[timeline]") {
    const Json json = chrome_json(heddle_test::trace_of_steps(300));
    const auto names = row_names(json);
    std::map<std::string, std::int64_t> sums;
    for (const Json& event : events(json, "X")) {
        if (text(event.at("pid")) == "1") continue;
        const std::string row = names.at(text(event.at("tid")));
        sums[row.substr(0, row.find(':'))] += ns(event, "dur");
    }
    REQUIRE(sums.size() == 4);
    for (const auto& [row, sum] : sums) CHECK(sum == sums.begin()->second);
}

TEST_CASE("an idle stretch is named by its reason and tells its cause", "[timeline]") {
    CopyAndHash t;
    const Json json = chrome_json(t.trace(0, 100'000));
    for (const Json& gap : events(json, "X", "idle"))
        if (text(gap.at("name")) == to_string(GapReason::waited)) {
            CHECK(argument(gap, "before") == "Hash");
            CHECK(argument(gap, "cause") == "copy host to device");
            CHECK(argument(gap, "cause_stream") == "up");
            CHECK(argument(gap, "wait_place") == "hash.cpp:40");
            return;
        }
    FAIL("no stretch waited");
}

TEST_CASE("of too many arrows those are kept that held something up longest", "[timeline]") {
    TraceBuilder t;
    const auto up = t.stream("up"), main = t.stream("main");
    // The first wait was satisfied when it was enqueued. The later waits delay their kernels.
    Moment at = 0;
    for (const Moment held : {0, 300, 100, 200}) {
        t.copy(up, "copy").called(at, at + 10).ran(at + 20, at + 30 + held);
        t.wait(main, up).called(at + 10, at + 20);
        t.launch(main, "Hash").called(at + 30, at + 40).ran(at + 50 + held, at + 60 + held);
        at += 1000;
    }
    const Trace trace = t.trace(0, at);
    const Solution solution = solve(trace);
    REQUIRE(solution.arrows.size() == 4);
    const auto host = host_slices(trace, solution);
    const ChromeRows rows(trace, solution, host);
    const auto kept = [&](std::size_t most) {
        std::vector<TraceIndex> arrows;
        const ChromeFlows flows = chrome_flows(trace, solution, host, rows, most);
        for (const ChromeFlow& flow : flows.all) arrows.push_back(flow.arrow);
        CHECK(flows.left_out == 4 - arrows.size());
        return arrows;
    };
    CHECK(kept(4) == std::vector<TraceIndex>{0, 1, 2, 3});
    CHECK(kept(3) == std::vector<TraceIndex>{1, 2, 3});
    CHECK(kept(2) == std::vector<TraceIndex>{1, 3});
    CHECK(kept(1) == std::vector<TraceIndex>{1});
}
