#include "timeline/file/chrome_json.hpp"

#include "catch.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "random.hpp"
#include "timeline/chrome_events.hpp"
#include "timeline/sample_traces.hpp"
#include "timeline/solve/abandoned.hpp"

using namespace heddle_test;

TEST_CASE("chrome JSON is valid and its slices nest", "[timeline]") {
    check_all(chrome_json(Trace{}));
    check_all(chrome_json(heddle_test::trace_of_steps(200)));
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        INFO("seed " << seed);
        Random random(seed);
        check_all(chrome_json(heddle_test::random_trace(random, seed)));
        check_all(chrome_json(heddle_test::crowded_trace(random, 40)));
    }
}

TEST_CASE("chrome JSON's times are exact to the nanosecond", "[timeline]") {
    constexpr Moment far = (Moment{1} << 53) + 1;  // a double cannot represent it
    TraceBuilder t;
    const auto s = t.stream("main");
    t.launch(s, "near").called(0, 7).ran(1'001, 1'010);
    t.launch(s, "far").called(far, far + 1).ran(far + 2, far + 5);
    t.raw().base_realtime_ns = 1'765'432'109'876'543'211;
    const Json json = chrome_json(t.trace(0, far + 10));
    CHECK(text(json.at("baseTimeNanoseconds")) == "1765432109876543211");
    const auto kernels = events(json, "X", "kernel");
    REQUIRE(kernels.size() == 2);
    CHECK(text(kernels[0].at("ts")) == "1.001");
    CHECK(text(kernels[0].at("dur")) == "0.009");
    CHECK(text(kernels[1].at("ts")) == "9007199254740.995");
    CHECK(text(kernels[1].at("dur")) == "0.003");
    CHECK(argument(kernels[1], "called_us") == "9007199254740.993");
}

TEST_CASE("chrome JSON's times are not negative", "[timeline]") {
    TraceBuilder t;
    const auto s = t.stream("main");
    t.launch(s, "early").called(-2'500, -2'000).ran(-1'500, -1'000);
    t.raw().base_realtime_ns = 1'000'000;
    const Json json = chrome_json(t.trace(0, 10));
    CHECK(text(json.at("baseTimeNanoseconds")) == "997500");
    CHECK(text(events(json, "X", "call").at(0).at("ts")) == "0.000");
    CHECK(text(events(json, "X", "kernel").at(0).at("ts")) == "1.000");
}

TEST_CASE("chrome JSON has a process for each device and a row for each stream", "[timeline]") {
    CopyAndHash t;
    t.raw().program = "hash";
    const Json json = chrome_json(t.trace(0, 100'000));
    std::vector<std::string> processes, rows;
    for (const Json& event : events(json, "M")) {
        if (text(event.at("name")) == "process_name") processes.push_back(argument(event, "name"));
        if (text(event.at("name")) == "thread_name") rows.push_back(argument(event, "name"));
        if (text(event.at("name")) == "process_labels" && text(event.at("pid")) == "3")
            CHECK(argument(event, "labels") == "times by CUPTI, within 900 ns");
    }
    CHECK(processes == std::vector<std::string>{"host: hash", "cpu:0 CPU", "cuda:0 NVIDIA H200"});
    CHECK(rows == std::vector<std::string>{"main", "up", "up: idle", "main", "main: idle"});
}

TEST_CASE("nodes of a graph that overlap get lanes of their own", "[timeline]") {
    TraceBuilder t;
    const auto s = t.stream("main");
    const auto graph = t.graph({"Left", "Right"});
    t.raw().graphs[graph].nodes[1].after.clear();
    const auto launch = t.launch_graph(s, graph).called(0, 1).ran(5, 25);
    t.node_ran(launch, 0, 5, 15);
    t.node_ran(launch, 1, 10, 25);
    const Json json = chrome_json(t.trace(0, 30));
    check_all(json);
    CHECK(slices_on(json, "main/2") == std::vector<std::string>{"Left"});
    CHECK(slices_on(json, "main/3") == std::vector<std::string>{"Right"});
    const auto nodes = events(json, "X", "kernel,node");
    REQUIRE(nodes.size() == 2);
    CHECK(argument(nodes[1], "node") == "1");
    CHECK(argument(nodes[1], "op") == std::to_string(launch->id));
}

TEST_CASE("a node names the nodes before it", "[timeline]") {
    TraceBuilder t;
    const auto s = t.stream("main");
    const auto launch = t.launch_graph(s, t.graph({"A", "B"})).called(0, 1).ran(5, 25);
    t.node_ran(launch, 1, 10, 25);
    const auto nodes = events(chrome_json(t.trace(0, 30)), "X", "kernel,node");
    REQUIRE(nodes.size() == 1);
    CHECK(nodes[0].at("args").at("after") == Json{0});
}

TEST_CASE("a node in a body names its conditional node and the body", "[timeline]") {
    TraceBuilder t;
    const auto s = t.stream("main");
    const auto graph = t.graph({"Choice", "No"});
    t.raw().graphs[graph].nodes[1].inside = 0;
    t.raw().graphs[graph].nodes[1].alternative = 1;
    const auto launch = t.launch_graph(s, graph).called(0, 1).ran(5, 25);
    t.node_ran(launch, 1, 10, 15);
    t.node_ran(launch, 1, 16, 20);  // the node's second run
    const Json json = chrome_json(t.trace(0, 30));
    check_all(json);
    const auto nodes = events(json, "X", "kernel,node");
    REQUIRE(nodes.size() == 2);
    CHECK(argument(nodes[0], "inside") == "0");
    CHECK(argument(nodes[0], "body") == "1");
}

TEST_CASE("operations of an abandoned batch are shown as abandoned", "[timeline]") {
    TraceBuilder t;
    const auto s = t.stream("main");
    const auto record = [&](const char* name, std::uint64_t batch, Moment at) {
        const auto op = t.launch(s, name).called(at, at + 1);
        op->mode = OpMode::batched;
        op->recording = batch;
    };
    record("Sent", 4, 0);
    t.launch_graph(s, t.graph({"Sent"}, true)).called(2, 3).ran(4, 9)->recording = 4;
    record("Lost", 4, 5);
    record("Open", 5, 7);
    t.op(OpKind::abandon, no_index, "batch").called(9, 9)->recording = 4;
    const Json json = chrome_json(t.trace(0, 30));
    check_all(json);
    std::map<std::string, std::string> modes;
    for (const Json& call : events(json, "X", "call"))
        if (call.at("args").contains("mode")) modes[text(call.at("name"))] = argument(call, "mode");
    CHECK(modes == std::map<std::string, std::string>{{"launch Sent", "batched"},
                                                      {"launch Lost", "abandoned"},
                                                      {"launch Open", "batched"}});
    CHECK(events(json, "X", "kernel").empty());
    CHECK(detail::abandoned_ops(t.trace(0, 30)) ==
          std::vector<bool>{false, false, true, false, false});
}

TEST_CASE("ranges enclose calls, and those that cross get lanes", "[timeline]") {
    TraceBuilder t;
    const auto s = t.stream("stream");
    t.range("step", 0, 100);
    t.range("crosses", 15, 50);
    t.launch(s, "Hash").called(10, 20).ran(30, 40);
    t.launch(s, "Sum").called(60, 70).ran(70, 80);
    const Json json = chrome_json(t.trace(0, 100));
    check_all(json);
    CHECK(slices_on(json, "main") == std::vector<std::string>{"step", "launch Hash", "launch Sum"});
    CHECK(slices_on(json, "main/2") == std::vector<std::string>{"crosses"});
}

TEST_CASE("names with quotes and bytes that are no text are still JSON", "[timeline]") {
    const std::string evil = "a \"b\" \\ \n\t\x01\x7f </script> \xff\xc3 \u00e9";
    TraceBuilder t;
    const auto s = t.stream(evil);
    t.thread(evil);
    t.launch(s, evil).called(0, 1).ran(2, 3).at(evil, 7);
    t.range(evil, 0, 5);
    t.raw().program = evil;
    t.raw().notes = {evil, evil};
    const Json json = chrome_json(t.trace(0, 5));
    const std::string clean = "a \"b\" \\ \n\t\x01\x7f </script> \ufffd\ufffd \u00e9";
    const Json bar = events(json, "X", "kernel").at(0);
    CHECK(text(bar.at("name")) == clean);
    CHECK(argument(bar, "place") == clean + ":7");
    CHECK(text(json.at("otherData").at("program")) == clean);
    CHECK(json.at("otherData").at("notes").at(1) == clean);
    CHECK(text(events(json, "X", "range").at(0).at("name")) == clean);
}

TEST_CASE("copies, collectives and pipelines are told by their category", "[timeline]") {
    TraceBuilder t;
    const auto s = t.stream("a"), other = t.stream("b");
    t.copy(s, "host to device").called(0, 1).ran(2, 3);
    t.copy(s, "peer").called(1, 2).ran(3, 4)->collective = 7;
    t.op(OpKind::collective, s, "all_reduce").called(2, 3).ran(4, 5)->collective = 8;
    t.wait(other, s).called(3, 4).because(WaitReason::pipeline);
    t.launch(other, "Hash").called(4, 5).ran(6, 7);
    const Json json = chrome_json(t.trace(0, 10));
    CHECK(events(json, "X", "copy").size() == 1);
    CHECK(events(json, "X", "copy,collective").size() == 1);
    CHECK(events(json, "X", "collective").size() == 1);
    CHECK(events(json, "X", "call,pipeline").size() == 1);
    CHECK(events(json, "s", "wait,pipeline").size() == 1);
}

TEST_CASE("a bar tells what is known of its operation", "[timeline]") {
    TraceBuilder t;
    const auto s = t.stream("main");
    auto chunk = TraceBuilder::access(0x7f0000000000, 4096, AccessMode::read);
    chunk.argument = 0;
    chunk.name = t.string("chunk");
    auto rows = TraceBuilder::access(0x10, 64, AccessMode::read_write);
    rows.rows = 3;
    rows.pitch = 256;
    t.raw().accesses = {chunk, rows};
    const auto op = t.launch(s, "Hash").called(1'000, 2'500).ended(9'000).at("hash.cpp", 41);
    op->accesses = 2;
    op->bytes = 4160;
    op->workers = 3;
    op->share = 0;
    op->shares = 2;
    const Json bar = events(chrome_json(t.trace(0, 10'000)), "X", "kernel").at(0);
    CHECK(argument(bar, "op") == "1");
    CHECK(argument(bar, "place") == "hash.cpp:41");
    CHECK(argument(bar, "position") == "1");
    CHECK(argument(bar, "called_us") == "1.000");
    CHECK(argument(bar, "bytes") == "4160");
    CHECK(argument(bar, "workers") == "3");
    CHECK(argument(bar, "share") == "1");
    CHECK(argument(bar, "of_shares") == "2");
    CHECK(argument(bar, "start") == "deduced");
    CHECK(bar.at("args").at("accesses") ==
          Json{"reads chunk: 4096 bytes at 0x7f0000000000, argument 0",
               "reads and writes: 3 rows, 256 bytes apart, of 64 bytes at 0x10"});
}
