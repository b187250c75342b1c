// The printed summary, which should help the author of a slow program.
#include "timeline/solve/solution.hpp"

#include <sstream>

#include "catch.hpp"
#include "timeline/random_trace.hpp"
#include "timeline/solve/words.hpp"

using namespace heddle_test;

namespace {

constexpr Moment us = 1000;

std::string summary(const Trace& trace) { return summary_of(trace, solve(trace)); }

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Returns the text on one line, with single spaces between words.
std::string unwrapped(const std::string& text) {
    std::string line;
    std::istringstream in(text);
    for (std::string word; in >> word;) line += (line.empty() ? "" : " ") + word;
    return line;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

/// A stream of a CUDA device.
struct Cuda : TraceBuilder {
    TraceIndex device = cuda_device(TraceClock::events, 1300);
    TraceIndex main = stream("main", device);
    Moment now = 0;

    /// Launches a kernel with a call that takes 2 us and begins `after` ns after the wait for the
    /// last kernel ended. Then waits for the new kernel.
    void run(const std::string& kernel, Moment after, Moment takes) {
        now += after;
        launch(main, kernel)
            .called(now, now + 2 * us)
            .ran(now + 3 * us, now + 3 * us + takes)
            .at("solver.cpp", 20);
        synchronize(main).called(now + 2 * us, now + 4 * us + takes).at("solver.cpp", 21);
        now += 4 * us + takes;
    }
};

}  // namespace

TEST_CASE("the summary begins with the biggest reason: the work itself") {
    Cuda t;
    t.run("small", us, 10 * us);
    t.run("large", us, 200 * us);
    const std::string text = summary(t.trace(0, t.now));
    CHECK(first_line(text).find("The work itself is the biggest reason") == 0);
    CHECK_THAT(text, contains("large on main: 200 \u00b5s, 1 run"));
}

TEST_CASE("the summary begins with the biggest reason: the host's own code, and where") {
    Cuda t;
    for (int i = 0; i < 10; ++i) t.run("k", 100 * us, 10 * us);
    const std::string text = summary(t.trace(0, t.now));
    CHECK(first_line(text).find("The host is the biggest reason: it enqueued too late for 90 %") ==
          0);
    CHECK_THAT(unwrapped(text), contains("from solver.cpp:21 to solver.cpp:20"));
}

TEST_CASE("the summary begins with the biggest reason: code that was loaded") {
    Cuda t;
    t.run("a", us, 10 * us);
    t.launch(t.main, "late")
        .called(t.now, t.now + 900 * us)
        .ran(t.now + 902 * us, t.now + 905 * us);
    const std::string text = summary(t.trace(0, t.now));
    CHECK(first_line(text).find("Loading code is the biggest reason") == 0);
    CHECK_THAT(text, contains("late") && contains("preload_all()"));
}

TEST_CASE("the summary begins with the biggest reason: blocked calls, workers, latency") {
    Cuda t;
    t.run("a", us, 10 * us);
    t.run("a", us, 10 * us);
    SECTION("blocked calls") {
        t.launch(t.main, "a")
            .called(t.now, t.now + 900 * us)
            .ran(t.now + 902 * us, t.now + 905 * us);
        CHECK(first_line(summary(t.trace(0, t.now))).find("Blocked calls are") == 0);
    }
    SECTION("latency") {
        t.launch(t.main, "a").called(t.now, t.now + 2 * us).ran(t.now + 902 * us, t.now + 905 * us);
        CHECK(first_line(summary(t.trace(0, t.now))).find("The latency of launches is") == 0);
    }
    SECTION("workers") {
        for (int i = 0; i < 4; ++i)
            t.launch(t.stream("w" + std::to_string(i)), "w")
                .called(t.now, t.now + us)
                .ran(t.now + us, t.now + 900 * us);
        const auto last = t.stream("last");
        t.launch(last, "k")
            .called(t.now + us, t.now + 2 * us)
            .ran(t.now + 901 * us, t.now + 905 * us);
        CHECK(first_line(summary(t.trace(0, t.now))).find("Too few workers are") == 0);
    }
}

TEST_CASE("the summary says for each stream what it was busy and idle for") {
    Cuda t;
    t.stream("unused", t.device);
    t.run("k", 99 * us, 50 * us);
    const std::string text = unwrapped(summary(t.trace(0, 200 * us)));
    CHECK_THAT(
        text,
        contains("cuda:0 main: 1 operation, busy 50.0 \u00b5s (25 %), idle 150 \u00b5s: "
                 "launched late 101 \u00b5s (50 %), after the last operation 48.0 \u00b5s (24 %), "
                 "launch latency 1.00 \u00b5s (0.5 %)."));
    CHECK_THAT(text, contains("1 stream had no operation."));
}

TEST_CASE("the summary names both places of the longest waits, the longest first") {
    Cuda t;
    const auto up = t.stream("up", t.device);
    for (int i = 0; i < 12; ++i, t.now += 200 * us) {
        t.copy(up, "host to device")
            .called(t.now, t.now + us)
            .ran(t.now + us, t.now + 90 * us)
            .at("read.cpp", 12);
        t.wait(t.main, up)
            .called(t.now + us, t.now + 2 * us)
            .at("hash.cpp", 40)
            .because(WaitReason::data);
        t.launch(t.main, "Hash")
            .called(t.now + 2 * us, t.now + 4 * us)
            .ran(t.now + 93 * us, t.now + 120 * us);
    }
    t.synchronize(t.main).called(t.now, t.now + us).at("end.cpp", 1);
    const std::string text = summary(t.trace(0, t.now + us));
    CHECK_THAT(text, contains("   1.03 ms  main for up (data), 12 waits, the longest 86.0 \u00b5s\n"
                              "            wait  hash.cpp:40\n"
                              "            for   read.cpp:12  copy host to device\n"));
}

TEST_CASE("of two waits the one that took longer comes first") {
    Cuda t;
    const auto up = t.stream("up", t.device);
    for (const std::uint32_t line : {50u, 10u, 30u}) {
        const Moment end = t.now + line * us;
        t.copy(up, "host to device").called(t.now, t.now + us).ran(t.now + us, end);
        t.wait(t.main, up).called(t.now + us, t.now + 2 * us).at("wait.cpp", line);
        t.launch(t.main, "k").called(t.now + 2 * us, t.now + 3 * us).ran(end + us, end + 5 * us);
        t.now = end + 10 * us;
    }
    const std::string text = summary(t.trace(0, t.now));
    CHECK(text.find("wait.cpp:50") < text.find("wait.cpp:30"));
    CHECK(text.find("wait.cpp:30") < text.find("wait.cpp:10"));
    CHECK(text.find("wait.cpp:10") != std::string::npos);
}

TEST_CASE("the summary shows at most ten waits and some twenty lines of the critical path") {
    Cuda t;
    const auto up = t.stream("up", t.device);
    for (std::uint32_t i = 0; i < 40; ++i, t.now += 300 * us) {
        const Moment takes = 20 * us + i * 3 * us;
        t.copy(up, "copy " + std::to_string(i))
            .called(t.now, t.now + us)
            .ran(t.now + us, t.now + us + takes);
        t.wait(t.main, up).called(t.now + us, t.now + 2 * us).at("hash.cpp", 1 + i);
        t.launch(t.main, "k " + std::to_string(i))
            .called(t.now + 2 * us, t.now + 4 * us)
            .ran(t.now + takes + 3 * us, t.now + takes + 30 * us);
        t.synchronize(t.main).called(t.now + 5 * us, t.now + takes + 31 * us).at("a.cpp", i);
    }
    const auto lines = lines_of(summary(t.trace(0, t.now)));
    int waits = 0, path = 0;
    bool is_in_path = false;
    for (const std::string& line : lines) {
        waits += line.find("            wait  ") == 0;
        is_in_path = (is_in_path && !line.empty()) || line.find("The same chain") == 0;
        path += is_in_path;
    }
    CHECK(waits == 10);
    CHECK(path > 10);
    CHECK(path <= 22);
}

TEST_CASE("the summary folds what repeats on the critical path") {
    Cuda t;
    for (int i = 0; i < 100; ++i) {
        t.run("a", 10 * us, 20 * us);
        t.run("b", 10 * us, 30 * us);
    }
    const std::string text = summary(t.trace(0, t.now));
    CHECK_THAT(text, contains(" rounds of\n"));
    CHECK_THAT(text, contains("a on main, 100 times") && contains("b on main, 100 times"));
}

TEST_CASE("the summary says how exact it is and what is missing") {
    Cuda t;
    t.run("k", us, 10 * us);
    t.op(OpKind::dropped, t.main, "k");
    t.launch(t.stream("quiet", t.cuda_device(TraceClock::none)), "k").called(t.now, t.now + us);
    Trace trace = t.trace(0, t.now);
    trace.lost_ops = 1234;
    trace.notes = {"CUPTI was taken by another tool"};
    const std::string text = summary(trace);
    CHECK_THAT(text, contains("cuda:0: ends by timing events, within 1.30 \u00b5s"));
    CHECK_THAT(text, contains("cuda:1: times not measured."));
    CHECK_THAT(text, contains("cuda:1 quiet: 1 operation, times not measured.\n"));
    CHECK_THAT(text, contains("1 operation was dropped"));
    CHECK_THAT(text, contains("The oldest 1234 operations were not kept"));
    CHECK_THAT(text, contains("CUPTI was taken by another tool"));
}

TEST_CASE("the summary of a trace without times says that") {
    TraceBuilder t;
    t.launch(t.stream("main"), "k").called(0, 1);
    CHECK(first_line(summary(t.trace(0, 10))) == "There is no operation whose time is known.");
    CHECK_FALSE(summary(Trace()).empty());
}

TEST_CASE("the summary has at most 100 columns, whatever the names are") {
    for (unsigned seed = 0; seed < 100; ++seed) {
        RandomTrace random(seed);
        Trace trace = seed % 2 == 0 ? random.sound() : random.damaged();
        for (std::string& string : trace.strings)
            for (int i = 0; i < 40; ++i) string += i % 7 == 0 ? "\xc3\xa4<" : " x\n";
        trace.program = std::string(300, 'p');
        trace.notes = {std::string(300, 'n'), std::string(140, 'n')};
        trace.notes[1][50] = ' ';
        CAPTURE(seed);
        for (const std::string& line : lines_of(summary(trace))) {
            CAPTURE(line);
            REQUIRE(columns_of(line) <= 100);
        }
    }
}

TEST_CASE("durations have three digits and a unit") {
    CHECK(duration_text(0) == "0 ns");
    CHECK(duration_text(999) == "999 ns");
    CHECK(duration_text(1234) == "1.23 \u00b5s");
    CHECK(duration_text(99'940) == "99.9 \u00b5s");
    CHECK(duration_text(99'960) == "100 \u00b5s");
    CHECK(duration_text(999'499) == "999 \u00b5s");
    CHECK(duration_text(999'600) == "1.00 ms");
    CHECK(duration_text(4'000'000'000) == "4.00 s");
    CHECK(duration_text(3'600'000'000'000) == "3600 s");
    CHECK(duration_text(61'500'000'000) == "61.5 s");
    CHECK(duration_text(-5) == "-5 ns");
}

TEST_CASE("a place is the file with its folder, and is never cut within a name") {
    TraceBuilder t;
    const auto op = t.launch(t.stream("main"), "k");
    const auto text = [&](const std::string& file, std::size_t columns = 60) {
        op.at(file, 12);
        return place_text(t.raw(), *op, columns);
    };
    CHECK(text("/home/user/project/src/solver.cpp") == "src/solver.cpp:12");
    CHECK(text("src/solver.cpp") == "src/solver.cpp:12");
    CHECK(text("solver.cpp") == "solver.cpp:12");
    CHECK(text("/solver.cpp") == "/solver.cpp:12");
    CHECK(text("C:\\project\\src\\solver.cpp") == "src\\solver.cpp:12");
    CHECK(text("/home/user/a_long_folder/solver.cpp", 20) == "solver.cpp:12");
    CHECK(text("") == "(place unknown)");
    CHECK(columns_of(text("/x/" + std::string(90, 'n') + ".cpp")) == 60);
    CHECK(full_place_text(t.raw(), t.string("/x/y/z.cpp"), 7) == "/x/y/z.cpp:7");
}

TEST_CASE("shares say when they are small") {
    CHECK(share_text(61, 100) == "61 %");
    CHECK(share_text(1, 250) == "0.4 %");
    CHECK(share_text(1, 100'000) == "<0.1 %");
    CHECK(share_text(0, 100) == "0 %");
    CHECK(share_text(1, 0) == "0 %");
}
