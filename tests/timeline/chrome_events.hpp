// Reads files in Chrome's trace format, and checks their invariants.
#pragma once

#include "catch.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "timeline/file/chrome_json.hpp"
#include "timeline/trace_builder.hpp"

namespace heddle_test {

using Json = nlohmann::json;

/// Reads a recording in Chrome's format. No object may have two members of one name. Numbers with
/// decimals become their text, because a double cannot represent all times.
inline Json chrome_json(const Trace& trace) {
    std::ostringstream to;
    write_chrome_json(to, trace, solve(trace));
    CHECK(Json::accept(to.str()));
    static const std::regex decimals(R"((\"\w+\"):(-?\d+\.\d+))");
    std::vector<std::set<Json>> names;  // the member names of each open object
    return Json::parse(std::regex_replace(to.str(), decimals, "$1:\"$2\""),
                       [&](int, Json::parse_event_t event, const Json& value) {
                           if (event == Json::parse_event_t::object_start) names.emplace_back();
                           if (event == Json::parse_event_t::object_end) names.pop_back();
                           if (event == Json::parse_event_t::key &&
                               !names.back().insert(value).second)
                               FAIL_CHECK("twice in an object: " << value);
                           return true;
                       });
}

/// Returns the contents of a string, or any other value as JSON.
inline std::string text(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}
/// Returns a member's text, or "" if there is no such member.
inline std::string text(const Json& event, const std::string& name) {
    return event.contains(name) ? text(event.at(name)) : "";
}
inline std::string argument(const Json& event, const std::string& name) {
    return text(event.at("args"), name);
}

/// Returns a time in nanoseconds. Its text must be microseconds with three decimals.
inline std::int64_t ns(const Json& event, const std::string& name) {
    std::string digits = text(event.at(name));
    const std::size_t point = digits.find('.');
    if (digits.size() < 5 || point != digits.size() - 4) FAIL("no three decimals: " << digits);
    digits.erase(point, 1);
    return std::stoll(digits);
}

/// Returns the events of a phase. If `category` is not empty, returns only the events of that
/// category.
inline std::vector<Json> events(const Json& json, std::string_view phase,
                                std::string_view category = "") {
    std::vector<Json> found;
    for (const Json& event : json.at("traceEvents"))
        if (text(event.at("ph")) == phase && (category.empty() || text(event, "cat") == category))
            found.push_back(event);
    return found;
}

/// Returns the name of each row.
inline std::map<std::string, std::string> row_names(const Json& json) {
    std::map<std::string, std::string> names;
    for (const Json& event : events(json, "M"))
        if (text(event.at("name")) == "thread_name")
            names[text(event.at("tid"))] = argument(event, "name");
    return names;
}

/// Returns the names of the slices on the row with the name `row`.
inline std::vector<std::string> slices_on(const Json& json, const std::string& row) {
    const auto names = row_names(json);
    std::vector<std::string> found;
    for (const Json& event : events(json, "X"))
        if (names.at(text(event.at("tid"))) == row) found.push_back(text(event.at("name")));
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
        rows[text(event.at("tid"))].push_back({begin, begin + ns(event, "dur")});
    }
    return rows;
}
/// Returns the stretches of each row. Instants count, too.
inline std::map<std::string, std::vector<Stretch>> stretches_by_row(const Json& json) {
    std::map<std::string, std::vector<Stretch>> rows = slices_by_row(json);
    for (const Json& event : events(json, "i")) {
        const std::int64_t begin = ns(event, "ts");
        rows[text(event.at("tid"))].push_back({begin, begin});
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
        if (text(event.at("name")) == "process_name") named_processes.insert(text(event.at("pid")));
    const auto names = row_names(json);
    for (const Json& event : json.at("traceEvents")) {
        CHECK(named_processes.contains(text(event.at("pid"))));
        if (text(event.at("name")).starts_with("process_")) continue;
        const std::string row = text(event.at("tid"));
        CHECK(names.contains(row));
        CHECK(processes.try_emplace(row, text(event.at("pid"))).first->second ==
              text(event.at("pid")));
        CHECK(!named_processes.contains(row));
    }
}

inline void check_flows(const Json& json) {
    auto rows = slices_by_row(json);
    std::map<std::string, Json> begun;
    for (const Json& event : events(json, "s"))
        CHECK(begun.emplace(text(event.at("id")), event).second);
    for (const Json& end : events(json, "f")) {
        const Json& begin = begun.at(text(end.at("id")));
        CHECK(text(end.at("bp")) == "e");
        CHECK(ns(begin, "ts") <= ns(end, "ts"));
        for (const Json* one : {&begin, &end}) {
            const auto& on_row = rows[text((*one).at("tid"))];
            const std::int64_t at = ns(*one, "ts");
            CHECK(std::ranges::any_of(on_row, [&](const Stretch& s) { return s.contains(at); }));
        }
    }
    CHECK(begun.size() == events(json, "f").size());
}

inline void check_all(const Json& json) {
    CHECK(text(json.at("displayTimeUnit")) == "ns");
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
