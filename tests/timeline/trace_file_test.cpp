#include "timeline/file/trace_file.hpp"

#include "catch.hpp"

#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "random.hpp"
#include "timeline/file/trace_check.hpp"
#include "timeline/file/trace_columns.hpp"
#include "timeline/file/trace_sections.hpp"
#include "timeline/sample_traces.hpp"

using namespace heddle;
using namespace heddle::detail;
using heddle_test::contains;
using heddle_test::Random;

namespace {

std::string written(const Trace& trace) {
    std::ostringstream to;
    write_trace(to, trace);
    return to.str();
}

Trace read(const std::string& file) {
    std::istringstream from(file);
    return read_trace(from, "run.trace");
}

/// Returns why the file is rejected. Returns "" if it is accepted.
std::string refusal(const std::string& file) {
    try {
        read(file);
        return "";
    } catch (const UsageError& error) {
        return error.info().message;
    }
}

std::string small_file() {
    Random random(5);
    return written(heddle_test::random_trace(random, 12));
}

/// Returns a file with these sections. All checksums are valid.
std::string file_of(const std::vector<std::pair<std::string, std::string>>& sections) {
    std::ostringstream to;
    SectionWriter file(to);
    for (const auto& [name, contents] : sections) file.write(name, contents);
    file.write_end();
    return to.str();
}

std::vector<std::pair<std::string, std::string>> parts_of(const std::string& file) {
    std::vector<std::pair<std::string, std::string>> parts;
    for (const Section& one : sections_of(file)) parts.emplace_back(one.name, one.contents);
    return parts;
}

}  // namespace

TEST_CASE("a trace is read back equal", "[timeline]") {
    CHECK(read(written(Trace{})) == Trace{});
    CHECK(read(written(heddle_test::trace_of_steps(2000))) == heddle_test::trace_of_steps(2000));
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        Random random(seed);
        const Trace trace = heddle_test::random_trace(random, seed % 40);
        INFO("seed " << seed);
        CHECK(read(written(trace)) == trace);
    }
}

TEST_CASE("a trace file keeps the largest and the smallest numbers", "[timeline]") {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    constexpr std::uint32_t most32 = std::numeric_limits<std::uint32_t>::max();
    constexpr Moment latest = Moment{1} << 61;
    Trace trace;
    trace.lost_ops = most;
    trace.devices.push_back({true, std::numeric_limits<int>::min(), 0, {}, -latest, most32});
    trace.streams.push_back({most, 0, std::numeric_limits<int>::max(), 0});
    const auto* const far = reinterpret_cast<const void*>(most);
    trace.accesses.push_back({{{far, most, most32, most}, most, most32, {}, -128}, 0});
    for (const Moment moment : {latest, -latest, unknown_moment, latest}) {
        TraceOp op;
        op.id = op.position = op.other_position = op.event = op.bytes = most;
        op.recording = op.parent = op.collective = most;
        op.generation = op.line = op.share = op.shares = op.workers = most32;
        op.call_begin = op.end = moment;
        op.call_end = op.start = moment == unknown_moment ? moment : -moment;
        trace.ops.push_back(op);
        trace.ops.emplace_back();
    }
    CHECK(read(written(trace)) == trace);
}

TEST_CASE("an operation takes few bytes in a trace file", "[timeline]") {
    Trace trace = heddle_test::trace_of_steps(20'000);
    CHECK(written(trace).size() < 12 * trace.ops.size());
    const std::size_t with_times = written(trace).size();
    for (TraceOp& op : trace.ops) op.call_begin = op.call_end = op.start = op.end = unknown_moment;
    CHECK(written(trace).size() < with_times / 2);
}

TEST_CASE("a trace file that was cut off anywhere is refused", "[timeline]") {
    const std::string file = small_file();
    CHECK_THAT(refusal(""), contains("\"run.trace\" is empty"));
    for (std::size_t size = 1; size < file.size(); ++size) {
        INFO(size);
        CHECK_THAT(refusal(file.substr(0, size)), contains("ends after"));
    }
    CHECK_THAT(refusal(file.substr(0, 1100)), contains("ends after 1.1 kB"));
}

TEST_CASE("every damaged byte of a trace file is noticed", "[timeline]") {
    const std::string file = small_file();
    for (std::size_t at = 0; at < file.size(); ++at)
        for (const int bits : {0x01, 0x20, 0x80, 0xff}) {
            std::string damaged = file;
            damaged[at] = static_cast<char>(damaged[at] ^ bits);
            const std::string why = refusal(damaged);
            const bool is_told = why.find(at < 8 ? "is not a trace" : "is damaged") != why.npos;
            if (!is_told) FAIL_CHECK("byte " << at << ": \"" << why << '"');
        }
}

TEST_CASE("what follows the end of a trace file is noticed", "[timeline]") {
    CHECK_THAT(refusal(small_file() + "x"), contains("damaged (1 byte follow its end)"));
    CHECK_THAT(refusal(small_file() + small_file()), contains("follow its end"));
}

TEST_CASE("pieces of two trace files do not make one", "[timeline]") {
    Random random(7);
    const std::string one = small_file(), other = written(heddle_test::trace_of_steps(50));
    for (int round = 0; round < 2000; ++round) {
        const std::size_t to = random.below(one.size()), from = random.below(other.size());
        const std::string spliced = one.substr(0, to) + other.substr(from);
        if (spliced != one && spliced != other) CHECK(refusal(spliced) != "");
    }
}

TEST_CASE("sections of two trace files do not make one", "[timeline]") {
    // Every section is intact, but one section is from another file. So the final checksum differs.
    const std::string one = small_file();
    Random random(6);
    const std::string other = written(heddle_test::random_trace(random, 12));
    const std::size_t to = one.find("strm"), from = other.find("strm");
    CHECK_THAT(refusal(one.substr(0, to) + other.substr(from)),
               contains("its sections differ from the sections that were written"));
}

TEST_CASE("wrong contents with right checks are refused or make a valid trace", "[timeline]") {
    const auto parts = parts_of(small_file());
    Random random(8);
    int accepted = 0;
    for (int round = 0; round < 4000; ++round) {
        auto wrong = parts;
        for (std::size_t changes = 1 + random.below(3); changes > 0; --changes) {
            std::string& contents = wrong[random.below(wrong.size())].second;
            const auto byte = static_cast<char>(random.below(256));
            const std::size_t at = random.below(contents.size() + 1);
            if (at == contents.size()) contents += byte;
            else if (random.below(3) == 0) contents.erase(at, 1 + random.below(4));
            else if (random.below(3) == 0) contents.insert(at, 1, byte);
            else contents[at] = byte;
        }
        const std::string file = file_of(wrong);
        if (!refusal(file).empty()) continue;
        ++accepted;
        CHECK_NOTHROW(check_trace(read(file)));
    }
    CHECK(accepted > 100);  // a changed time or address cannot be detected
}

TEST_CASE("other files are told by what they begin with", "[timeline]") {
    CHECK_THAT(
        refusal("{\"traceEvents\":[]}"),
        contains("\"run.trace\" is not a trace of heddle (it begins with \"{\"traceEvent\")") &&
            contains("heddle reads only .trace files"));
    CHECK_THAT(refusal("<!doctype html>"), contains("heddle reads only .trace files"));
    CHECK_THAT(refusal("\x7f"
                       "ELF\x02 and more"),
               contains("(it begins with \"\\x7fELF\\x02 and mo\"): name a file"));
    CHECK_THAT(refusal("\n"), contains("(it begins with \"\\x0a\")"));
}

TEST_CASE("a trace of another format says which", "[timeline]") {
    std::string file = small_file();
    const auto refusal_of_format = [&](char major) {
        file[8] = major;
        const std::uint64_t check = check_of(std::string_view(file).substr(0, 12));
        for (std::size_t i = 0; i < 4; ++i) file[12 + i] = static_cast<char>(check >> (8 * i));
        return refusal(file);
    };
    CHECK(refusal_of_format(1).empty());
    CHECK_THAT(
        refusal_of_format(2),
        contains("was written by a newer version of heddle (format 2; this version reads 1)"));
    CHECK_THAT(refusal_of_format(0),
               contains("an older version of heddle (format 0; this version reads 1)"));
}

TEST_CASE("sections of a newer heddle are skipped", "[timeline]") {
    const std::string file = small_file();
    auto parts = parts_of(file);
    parts.insert(parts.begin() + 3, {"new ", "whatever"});
    parts.push_back({"more", ""});
    CHECK(read(file_of(parts)) == read(file));
}

TEST_CASE("sections that an older heddle did not write are empty", "[timeline]") {
    const std::string file = small_file();
    auto parts = parts_of(file);
    REQUIRE(parts.back().first == "rang");
    parts.pop_back();
    Trace expected = read(file);
    expected.ranges.clear();
    CHECK(read(file_of(parts)) == expected);
}

TEST_CASE("files from before nodes said in which body they are can be read", "[timeline]") {
    Trace trace;
    trace.graphs.push_back({1, false, {TraceNode{}, TraceNode{}, TraceNode{}}});
    trace.graphs[0].nodes[1].line = 7;
    trace.graphs[0].nodes[2].after = {0, 1};
    auto parts = parts_of(written(trace));
    TableWriter old;
    for (const TraceNode& node : trace.graphs[0].nodes) {
        old.begin_row();
        old.number(node.name), old.number(node.file), old.number(node.line);
        old.number(node.kind), old.number(node.first_access), old.number(node.accesses);
        old.number(node.after.size());
    }
    for (auto& [name, contents] : parts)
        if (name == "node") {
            CHECK(contents != old.bytes());
            contents = old.bytes();
        }
    CHECK(read(file_of(parts)) == trace);
}

TEST_CASE("an index that leads nowhere is refused with its place", "[timeline]") {
    const auto refusal_of = [](auto change) {
        Trace trace = heddle_test::trace_of_steps(4);
        trace.graphs.push_back({1, false, {TraceNode{}, TraceNode{}}});
        trace.ranges.push_back({0, 0, 0, 1});
        trace.ops[2].kind = OpKind::graph_launch;
        trace.ops[2].graph = 0;
        trace.node_runs.push_back({trace.ops[2].id, 1, 0, 1});
        CHECK(refusal(written(trace)) == "");
        change(trace);
        return refusal(written(trace));
    };
    const auto refused = [&](const std::string& why, auto change) {
        CHECK_THAT(refusal_of(change), contains(why));
    };
    const auto far = Moment{1} << 62;
    const std::string no_kind = std::to_string(op_kinds);
    refused("its first string", [](Trace& t) { t.strings[0] = "x"; });
    refused("its first string", [](Trace& t) { t.strings.clear(); });
    refused("device 0 has the string 99", [](Trace& t) { t.devices[0].name = 99; });
    refused("device 0 has the clock 4", [](Trace& t) { t.devices[0].clock = TraceClock{4}; });
    refused("stream 1 has the device 1", [](Trace& t) { t.streams[1].device = 1; });
    refused("thread 0 has the string", [](Trace& t) { t.threads[0].name = no_index; });
    refused("access 7 has the mode 4", [](Trace& t) { t.accesses[7].mode = AccessMode{4}; });
    refused("operation 3 has the kind " + no_kind,
            [](Trace& t) { t.ops[3].kind = OpKind{op_kinds}; });
    refused("operation 3 has the mode 3", [](Trace& t) { t.ops[3].mode = OpMode{3}; });
    refused("operation 3 has the reason 13",
            [](Trace& t) { t.ops[3].reason = WaitReason{wait_reasons}; });
    refused("operation 3 has the string", [](Trace& t) { t.ops[3].file = 99; });
    refused("operation 3 has the thread 1", [](Trace& t) { t.ops[3].thread = 1; });
    refused("operation 3 has the stream 4", [](Trace& t) { t.ops[3].stream = 4; });
    refused("operation 3 has the stream 5", [](Trace& t) { t.ops[3].other = 5; });
    refused("operation 3 has the device 1", [](Trace& t) { t.ops[3].device = 1; });
    refused("operation 3 has the graph 1", [](Trace& t) { t.ops[3].graph = 1; });
    refused("operation 3 has the access 9", [](Trace& t) { t.ops[3].accesses = 9; });
    refused("operation 3 has the access 4294967297",
            [](Trace& t) { t.ops[3].first_access = no_index, t.ops[3].accesses = 2; });
    refused("operation 3 has the time", [&](Trace& t) { t.ops[3].start = far; });
    refused("graph 0 has the node 2", [](Trace& t) { t.graphs[0].nodes[1].after = {2}; });
    refused("graph 0 has the kind " + no_kind,
            [](Trace& t) { t.graphs[0].nodes[1].kind = OpKind{op_kinds}; });
    refused("graph 0 has the node 1", [](Trace& t) { t.graphs[0].nodes[1].inside = 1; });
    refused("the dependencies of graph 0 form a cycle",
            [](Trace& t) { t.graphs[0].nodes[0].after = {1}, t.graphs[0].nodes[1].after = {0}; });
    refused("range 0 has the thread 1", [](Trace& t) { t.ranges[0].thread = 1; });
    refused("range 0 has the time", [&](Trace& t) { t.ranges[0].begin = -far; });
    refused("run of a node 0 has the node 2", [](Trace& t) { t.node_runs[0].node = 2; });
    refused("recording 0 has the time", [&](Trace& t) { t.base_ns = far; });
}

TEST_CASE("a stream that cannot be read is no damaged trace", "[timeline]") {
    struct Broken : std::streambuf {
        int_type underflow() override { throw std::runtime_error("broken"); }
    } buffer;
    std::istream from(&buffer);
    CHECK_THROWS_AS(read_trace(from, "run.trace"), NativeError);
}
