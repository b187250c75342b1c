// Reads files in Chrome's trace format, and checks their invariants.
#pragma once

#include "catch.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "timeline/file/chrome_json.hpp"
#include "timeline/json_reader.hpp"
#include "timeline/trace_builder.hpp"

namespace heddle_test {

inline Json chrome_json(const Trace& trace) {
    std::ostringstream to;
    write_chrome_json(to, trace, solve(trace));
    return read_json(to.str());
}

inline std::string text(const Json& event, std::string_view name) {
    return event.has(name) ? event[name].text : "";
}
inline std::string argument(const Json& event, std::string_view name) {
    return text(event["args"], name);
}

/// Returns a time in nanoseconds. Its text must be microseconds with three decimals.
inline std::int64_t ns(const Json& event, std::string_view name) {
    std::string digits = event[name].text;
    const std::size_t point = digits.find('.');
    if (digits.size() < 5 || point != digits.size() - 4) FAIL("no three decimals: " << digits);
    digits.erase(point, 1);
    return std::stoll(digits);
}

/// Returns the events of a phase. If `category` is not empty, returns only its events.
inline std::vector<Json> events(const Json& json, std::string_view phase,
                                std::string_view category = "") {
    std::vector<Json> found;
    for (const Json& event : json["traceEvents"].items)
        if (event["ph"].text == phase && (category.empty() || text(event, "cat") == category))
            found.push_back(event);
    return found;
}

/// Returns the name of each row.
inline std::map<std::string, std::string> row_names(const Json& json) {
    std::map<std::string, std::string> names;
    for (const Json& event : events(json, "M"))
        if (event["name"].text == "thread_name") names[event["tid"].text] = argument(event, "name");
    return names;
}

/// Returns the names of the slices on the row with the name `row`.
inline std::vector<std::string> slices_on(const Json& json, const std::string& row) {
    const auto names = row_names(json);
    std::vector<std::string> found;
    for (const Json& event : events(json, "X"))
        if (names.at(event["tid"].text) == row) found.push_back(event["name"].text);
    return found;
}

struct Stretch {
    std::int64_t begin, end;
    bool contains(std::int64_t moment) const { return begin <= moment && moment <= end; }
};
inline std::map<std::string, std::vector<Stretch>> slices_by_row(const Json& json) {
    std::map<std::string, std::vector<Stretch>> rows;
    for (const Json& event : events(json, "X")) {
        const std::int64_t begin = ns(event, "ts");
        rows[event["tid"].text].push_back({begin, begin + ns(event, "dur")});
    }
    return rows;
}
/// Returns the stretches of each row. Instants count, too.
inline std::map<std::string, std::vector<Stretch>> stretches_by_row(const Json& json) {
    std::map<std::string, std::vector<Stretch>> rows = slices_by_row(json);
    for (const Json& event : events(json, "i")) {
        const std::int64_t begin = ns(event, "ts");
        rows[event["tid"].text].push_back({begin, begin});
    }
    return rows;
}

inline void check_that_slices_nest(const Json& json) {
    for (auto& [row, stretches] : stretches_by_row(json)) {
        std::ranges::sort(stretches, {},
                          [](const Stretch& one) { return std::pair(one.begin, -one.end); });
        std::vector<std::int64_t> open;
        for (const Stretch& one : stretches) {
            CHECK(one.begin >= 0);
            while (!open.empty() && open.back() <= one.begin) open.pop_back();
            if (!open.empty() && one.end > open.back())
                FAIL_CHECK("on row " << row << " a slice from " << one.begin << " to " << one.end
                                     << " goes beyond one that ends at " << open.back());
            open.push_back(one.end);
        }
    }
}

inline void check_rows(const Json& json) {
    std::map<std::string, std::string> processes;  // by row: the name of its process
    std::set<std::string> named_processes;
    for (const Json& event : events(json, "M"))
        if (event["name"].text == "process_name") named_processes.insert(event["pid"].text);
    const auto names = row_names(json);
    for (const Json& event : json["traceEvents"].items) {
        CHECK(named_processes.contains(event["pid"].text));
        if (event["name"].text.starts_with("process_")) continue;
        const std::string& row = event["tid"].text;
        CHECK(names.contains(row));
        CHECK(processes.try_emplace(row, event["pid"].text).first->second == event["pid"].text);
        CHECK(!named_processes.contains(row));
    }
}

inline void check_flows(const Json& json) {
    auto rows = slices_by_row(json);
    std::map<std::string, Json> begun;
    for (const Json& event : events(json, "s"))
        CHECK(begun.emplace(event["id"].text, event).second);
    for (const Json& end : events(json, "f")) {
        const Json& begin = begun.at(end["id"].text);
        CHECK(end["bp"].text == "e");
        CHECK(ns(begin, "ts") <= ns(end, "ts"));
        for (const Json* one : {&begin, &end}) {
            const auto& on_row = rows[(*one)["tid"].text];
            const std::int64_t at = ns(*one, "ts");
            CHECK(std::ranges::any_of(on_row, [&](const Stretch& s) { return s.contains(at); }));
        }
    }
    CHECK(begun.size() == events(json, "f").size());
}

inline void check_all(const Json& json) {
    CHECK(json["displayTimeUnit"].text == "ns");
    check_rows(json);
    check_that_slices_nest(json);
    check_flows(json);
}

/// Two streams of a CUDA device. Hash, on main, waits for the copy on up. The copy ends at 50.
struct CopyAndHash : TraceBuilder {
    TraceIndex cuda = cuda_device(TraceClock::cupti, 900);
    TraceIndex up = stream("up", cuda), main = stream("main", cuda);
    Op copied = copy(up, "host to device").called(0, 2'000).ran(5'000, 50'000).at("read.cpp", 12);
    Op waited = wait(main, up).called(2'000, 3'000).at("hash.cpp", 40);
    Op hash = launch(main, "Hash").called(3'000, 5'000).ran(52'001, 80'123).at("hash.cpp", 41);
};

}  // namespace heddle_test
