#include "check/advice.hpp"

#include <string_view>

#include "check/words.hpp"
#include "core/base/format.hpp"

namespace heddle::detail {

namespace {

using check::Race;
using check::RaceKind;
using check::Side;

/// Returns a stream as code. One that has no name is told by what was enqueued on it.
std::string stream_code(const std::string& name, const std::string& place) {
    constexpr std::string_view of_default = " default";
    if (name.ends_with(of_default))
        return formatted("default_stream(Device(\"{}\"))",
                         name.substr(0, name.size() - of_default.size()));
    return name.find(' ') == std::string::npos ? name : formatted("the stream of {}", place);
}

/// Returns a call as code, "main.wait_stream(halo);  // names of streams".
std::string code(const std::string& stream, const char* function, const std::string& argument) {
    const auto is_name = [](const std::string& text) {
        return !text.empty() && text.find_first_of(" (") == std::string::npos;
    };
    const bool is_word = stream.find(' ') != std::string::npos;
    return formatted("{}.{}({});{}", is_word ? formatted("({})", stream) : stream, function,
                     argument, is_name(stream) || is_name(argument) ? "  // names of streams" : "");
}

/// Returns the wait between two places that orders two streams. Those are given as code.
std::string wait_text(const std::string& first_place, const std::string& second_place,
                      bool is_next_round, const std::string& first_stream,
                      const std::string& second_stream) {
    return formatted("after {} and before {}{}, for example\n      {}", first_place, second_place,
                     is_next_round ? " of the next round" : "",
                     code(second_stream, "wait_stream", first_stream));
}

/// Returns whether the second place is reached after the first one only if the program goes back.
bool is_next_round(const Site& first, const Site& second) noexcept {
    if (first.file != second.file) return false;
    if (first.line != second.line) return second.line < first.line;
    const bool has_columns = first.column != 0 && second.column != 0;
    return has_columns ? second.column <= first.column
                       : first.name == second.name && first.kind == second.kind;
}

/// Returns what would order two nodes. Edges are between nodes of one graph; what was captured has
/// edges by waits.
std::string missing_in_graph(const Finding& finding, const ReportNames& names, const Race& race) {
    const FindingSide &one = finding.first, &other = finding.second;
    const Site& first = names.site(one.edge_node != 0 ? one.edge_node : one.site);
    const Site& second = names.site(other.edge_node != 0 ? other.edge_node : other.site);
    if (!one.captured_on.empty() && !other.captured_on.empty() &&
        one.captured_on != other.captured_on)
        return wait_text(place_beside(first, second), place_beside(second, first),
                         is_next_round(first, second),
                         stream_code(one.captured_on, place_beside(first, second)),
                         stream_code(other.captured_on, place_beside(second, first)));
    // A node that only reads comes second, most likely; else the one that was added later.
    const auto only_reads = [](const Side& side) { return side.mode == AccessMode::read; };
    const bool is_turned = only_reads(race.first) != only_reads(race.second)
                               ? only_reads(race.first)
                               : is_next_round(first, second);
    const Site &before = is_turned ? second : first, &after = is_turned ? first : second;
    const bool is_within = one.edge_node != one.site || other.edge_node != other.site;
    return formatted("an edge{}, for example the {} of {} .after() the {} of {}",
                     one.edge_node != 0 && is_within
                         ? " between the nodes of one graph that they are in"
                         : " between them",
                     node_text(after), place_beside(after, before), node_text(before),
                     place_beside(before, after));
}

}  // namespace

const char* wait_option(const Site& scope) noexcept {
    return scope.name == "set_stream" ? "wait" : "wait_on_enter";
}

std::string missing_text(const Finding& finding, const ReportNames& names, const Race& race) {
    if (finding.in_graph) return missing_in_graph(finding, names, race);
    const Site &first_site = names.site(finding.first.site),
               &second_site = names.site(finding.second.site);
    const std::string second = place_beside(second_site, first_site);
    const std::string first_stream = names.short_stream(finding.first.stream);
    const auto used_on = [&](const FindingSide& side) {
        const std::string stream = names.short_stream(side.stream);
        return formatted("array.used_on({}) at {}",
                         stream.find(' ') == std::string::npos ? stream : "stream",
                         place_text(names.site(side.site)));
    };
    if (race.kind == RaceKind::free_before_use || race.kind == RaceKind::use_after_free)
        return formatted(
            "the array has to live until that use is done; if it goes through a pointer, {}",
            used_on(finding.kind == FindingKind::use_after_free ? finding.second : finding.first));
    if (race.kind == RaceKind::reuse)
        return formatted("{}, if that use goes through a pointer", used_on(finding.first));
    if (finding.same_wait != 0)
        return formatted("the {} before {}, reported before, which would order these, too",
                         is_host(race.second) ? "host's wait" : "wait",
                         place_text(names.site(finding.same_wait)));
    if (is_host(race.second))
        return formatted("before {}, for example\n      {}", second,
                         code(stream_code(first_stream, place_beside(first_site, second_site)),
                              "synchronize", ""));
    if (is_host(race.first)) return formatted("the host's access has to come before {}", second);
    if (finding.fork != 0)
        return formatted("enqueue both in one branch, or the second after the fork of {}",
                         place_text(names.site(finding.fork)));
    const std::string first = place_beside(first_site, second_site);
    const std::string second_name = names.short_stream(finding.second.stream);
    // Streams of one name are told by their devices, too, or by what is enqueued on them.
    const bool is_one_name = first_stream == second_name;
    const std::string first_full = names.stream(finding.first.stream),
                      second_full = names.stream(finding.second.stream);
    const bool is_one_device = first_full == second_full;
    const auto stream = [&](const std::string& name, const std::string& full,
                            const std::string& place) {
        if (!is_one_name) return stream_code(name, place);
        return is_one_device ? "the stream of " + place : full;
    };
    const std::string second_stream = stream(second_name, second_full, second);
    std::string text = wait_text(first, second, is_next_round(first_site, second_site),
                                 stream(first_stream, first_full, first), second_stream);
    if (finding.unwaited_scope != 0) {
        const Site& scope = names.site(finding.unwaited_scope);
        text += formatted("\n      or leave out {} = false at {}", wait_option(scope),
                          place_text(scope));
    }
    if (finding.record_behind != 0)
        text += formatted("\n      or wait_event() of {}, for the event that {} records",
                          second_stream, place_text(names.site(finding.record_behind)));
    return text;
}

}  // namespace heddle::detail
