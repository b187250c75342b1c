#include "check/advice.hpp"

#include <charconv>
#include <string_view>
#include <system_error>

#include "check/words.hpp"
#include "core/base/format.hpp"

namespace heddle::detail {

namespace {

using check::Race;
using check::RaceKind;
using check::Side;

/// The words with which advice names a stream.
struct StreamWords {
    std::string text;
    bool is_code = false;  ///< probably a variable's name, or an expression
    bool is_name = false;
};

/// Returns the stream's name as code if the name can be code. Otherwise returns the stream's number
/// or quoted name, and the place where the stream was made. If the latter is unknown, the text
/// names the operation enqueued at `place` instead.
StreamWords stream_words(const std::string& name, const std::string& made,
                         const std::string& place) {
    constexpr std::string_view of_default = " default", of_thread = " per-thread";
    if (name.ends_with(of_default))
        return {.text = formatted("default_stream(Device(\"{}\"))",
                                  name.substr(0, name.size() - of_default.size())),
                .is_code = true};
    if (!name.empty() && name.find(' ') == std::string::npos)
        return {.text = name, .is_code = true, .is_name = true};
    if (made.empty() || name.ends_with(of_thread))
        return {.text = formatted("the stream of {}", place)};
    const bool is_number = name.starts_with("stream ");
    return {.text = formatted("{} (made at {})", is_number ? name : formatted("stream '{}'", name),
                              made)};
}

/// Returns words that distinguish a stream from another stream with the same name. Uses the devices
/// if they differ, otherwise the places where they were made.
StreamWords stream_beside(const std::string& full, const std::string& other,
                          const std::string& made, const std::string& other_made,
                          const std::string& place) {
    if (full != other) return {.text = formatted("stream {}", full)};
    if (made.empty() || made == other_made) return {.text = formatted("the stream of {}", place)};
    return {.text = formatted("stream {} (made at {})", full, made)};
}

/// Returns an example of a missing wait as code. The waiter is a stream or the host. Both texts
/// must be code; wait_text() describes other streams in sentences.
std::string wait_code(const std::string& before, const StreamWords& waiter, const char* function,
                      const StreamWords& argument) {
    return formatted("{}, for example\n      {}.{}({});{}", before, waiter.text, function,
                     argument.text,
                     waiter.is_name || argument.is_name ? "  // names of streams" : "");
}
std::string named(const StreamWords& stream) {
    return stream.is_name ? formatted("stream {}", stream.text) : stream.text;
}

/// Returns a description of the missing wait that would order the work at the second place after
/// the work at the first place.
std::string wait_text(const std::string& first_place, const std::string& second_place,
                      bool is_again, const StreamWords& first, const StreamWords& second) {
    const std::string place = formatted("after {} and before {}{}", first_place, second_place,
                                        is_again ? " is reached again" : "");
    if (first.is_code && second.is_code) return wait_code(place, second, "wait_stream", first);
    return formatted("{}, a wait\n      of {} for {}, by wait_stream()", place, named(second),
                     named(first));
}

/// Returns a description of the missing host wait for the first stream, before the second place.
std::string host_wait_text(const std::string& second_place, const StreamWords& first) {
    const std::string place = formatted("before {}", second_place);
    if (first.is_code) return wait_code(place, first, "synchronize", {});
    return formatted("{}, a wait\n      of the host for {}, by synchronize()", place, first.text);
}

/// Returns whether the race is between two passes through the same code, as in a loop. This is so
/// if the second place had already been reached, and is not behind the first place in the source.
bool is_again(const Finding& finding, const Site& first, const Site& second) noexcept {
    if (!finding.is_again || first.file != second.file) return false;
    if (first.line != second.line) return second.line < first.line;
    const bool has_columns = first.column != 0 && second.column != 0;
    return has_columns ? second.column <= first.column
                       : first.name == second.name && first.kind == second.kind;
}

/// Returns the advice for two operations in different branches of one fork.
std::string fork_text(const Finding& finding, const ReportNames& names) {
    const Site& fork = names.site(finding.fork);
    return formatted("enqueue both in one branch, or the second after the fork{}{}",
                     fork.line != 0 ? " of " : "", fork.line != 0 ? place_text(fork) : "");
}

/// Returns where a captured stream was made. Reads the stream's id from the end of its name.
std::string made_of(const ReportNames& names, const std::string& stream) {
    const std::size_t number = stream.find_last_of(' ') + 1;
    std::uint64_t id = 0;
    const char* const end = stream.data() + stream.size();
    const auto [last, error] = std::from_chars(stream.data() + number, end, id);
    return number != 0 && error == std::errc() && last == end ? names.made_at(id) : std::string();
}

/// Returns a description of the missing edge between two nodes. If the nodes were captured from two
/// streams, describes the missing wait between the streams instead.
std::string missing_in_graph(const Finding& finding, const ReportNames& names, const Race& race) {
    const FindingSide &one = finding.first, &other = finding.second;
    const Site& first = names.site(one.edge_node != 0 ? one.edge_node : one.site);
    const Site& second = names.site(other.edge_node != 0 ? other.edge_node : other.site);
    if (finding.fork != 0) return fork_text(finding, names);
    if (!one.captured_on.empty() && !other.captured_on.empty() &&
        one.captured_on != other.captured_on) {
        const std::string first_place = place_beside(first, second),
                          second_place = place_beside(second, first);
        return wait_text(
            first_place, second_place, is_again(finding, first, second),
            stream_words(one.captured_on, made_of(names, one.captured_on), first_place),
            stream_words(other.captured_on, made_of(names, other.captured_on), second_place));
    }
    // If exactly one of the nodes only reads, the edge leads to that node. Otherwise the edge leads
    // to the node that was added later.
    const auto only_reads = [](const Side& side) { return side.mode == AccessMode::read; };
    const bool is_turned = only_reads(race.first) != only_reads(race.second)
                               ? only_reads(race.first)
                               : other.edge_index < one.edge_index;
    const Site &before = is_turned ? second : first, &after = is_turned ? first : second;
    const bool is_within = one.edge_node != one.site || other.edge_node != other.site;
    return formatted("an edge{}, for example by calling after() on the {} of {} with the {} of {}",
                     one.edge_node != 0 && is_within
                         ? " between the nodes of the same graph that contain them"
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
            "the array must live until that use has completed; if the use goes through a pointer, "
            "call {}",
            used_on(finding.kind == FindingKind::use_after_free ? finding.second : finding.first));
    if (race.kind == RaceKind::reuse)
        return formatted("call {}, if that use goes through a pointer", used_on(finding.first));
    if (finding.same_wait != 0)
        return formatted(
            "the {} before {} (reported already), which would also order these accesses",
            is_host(race.second) ? "host's wait" : "wait",
            place_text(names.site(finding.same_wait)));
    const std::string first_made = names.made_at(finding.first.stream),
                      second_made = names.made_at(finding.second.stream);
    if (is_host(race.second))
        return host_wait_text(
            second, stream_words(first_stream, first_made, place_beside(first_site, second_site)));
    if (is_host(race.first)) return formatted("the host must access the memory before {}", second);
    if (finding.fork != 0) return fork_text(finding, names);
    const std::string first = place_beside(first_site, second_site);
    const std::string second_name = names.short_stream(finding.second.stream);
    const bool is_one_name = first_stream == second_name;
    const std::string first_full = names.stream(finding.first.stream),
                      second_full = names.stream(finding.second.stream);
    const StreamWords first_words =
        is_one_name ? stream_beside(first_full, second_full, first_made, second_made, first)
                    : stream_words(first_stream, first_made, first);
    const StreamWords second_words =
        is_one_name ? stream_beside(second_full, first_full, second_made, first_made, second)
                    : stream_words(second_name, second_made, second);
    std::string text = wait_text(first, second, is_again(finding, first_site, second_site),
                                 first_words, second_words);
    if (finding.unwaited_scope != 0) {
        const Site& scope = names.site(finding.unwaited_scope);
        text +=
            formatted("\n      or remove {} = false at {}", wait_option(scope), place_text(scope));
    }
    if (finding.record_behind != 0)
        text += formatted("\n      or a wait_event() of {} for the event that {} records",
                          second_words.text, place_text(names.site(finding.record_behind)));
    return text;
}

}  // namespace heddle::detail
