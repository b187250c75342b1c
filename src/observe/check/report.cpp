#include "check/report.hpp"

#include <string_view>

#include "check/advice.hpp"
#include "check/words.hpp"
#include "core/base/format.hpp"
#include "core/base/kernel_name.hpp"

namespace heddle {

const char* check::to_string(RaceKind kind) noexcept {
    switch (kind) {
    case RaceKind::write_after_write: return "write_after_write";
    case RaceKind::write_after_read: return "write_after_read";
    case RaceKind::read_after_write: return "read_after_write";
    case RaceKind::use_before_allocation: return "use_before_allocation";
    case RaceKind::free_before_use: return "free_before_use";
    case RaceKind::use_after_free: return "use_after_free";
    case RaceKind::reuse: return "reuse";
    }
    return "?";
}

namespace detail {

namespace {

using check::Race;
using check::RaceKind;
using check::Side;

RaceKind kind_of_race(FindingKind kind) noexcept {
    switch (kind) {
    case FindingKind::write_after_write:
    case FindingKind::host_write_after_write:
    case FindingKind::elision_fault: return RaceKind::write_after_write;
    case FindingKind::write_after_read:
    case FindingKind::host_write_after_read: return RaceKind::write_after_read;
    case FindingKind::read_after_write:
    case FindingKind::host_read_after_write: return RaceKind::read_after_write;
    case FindingKind::use_before_allocation: return RaceKind::use_before_allocation;
    case FindingKind::free_before_use: return RaceKind::free_before_use;
    case FindingKind::use_after_free: return RaceKind::use_after_free;
    case FindingKind::reuse: return RaceKind::reuse;
    }
    return RaceKind::write_after_write;
}

/// Returns the operation of a side, for example "host function 'f'" or "the host".
std::string who(const Side& side) {
    switch (side.kind) {
    case OpKind::host_access: return "the host";
    case OpKind::launch: return formatted("'{}'", side.name);
    case OpKind::host_function: return formatted("host function '{}'", side.name);
    case OpKind::graph_launch:
        return side.node.empty() ? "a graph" : formatted("node '{}' of a graph", side.node);
    case OpKind::copy: return formatted("the copy {}", side.name);
    case OpKind::fill: return "the fill";
    case OpKind::collective: return formatted("collective '{}'", side.name);
    case OpKind::native: return formatted("native work in {}()", side.name);
    case OpKind::allocate: return "the allocation";
    case OpKind::free: return "the end of the array";
    default: return formatted("'{}'", side.name);
    }
}

/// Returns the first sentence of the report: the harm that the race may do.
std::string headline(const Race& race, const std::string& first_place,
                     const std::string& second_place) {
    std::string first = who(race.first), second = who(race.second);
    if (first == second) {
        first += " of " + first_place;
        second += " of " + second_place;
    }
    const bool writes = race.second.mode != AccessMode::read;
    switch (race.kind) {
    case RaceKind::write_after_read:
        return formatted("{} may overwrite memory that {} still reads", second, first);
    case RaceKind::write_after_write:
        return formatted("{} may write before {} has written the same memory", second, first);
    case RaceKind::read_after_write:
        return formatted("{} may read memory before {} has written it", second, first);
    case RaceKind::use_before_allocation:
        return formatted("{} may use memory before its allocation", second);
    case RaceKind::free_before_use:
        return formatted("memory is freed while {} may still {} it", first,
                         race.first.mode == AccessMode::read ? "read" : "write");
    case RaceKind::use_after_free:
        return formatted("{} {} memory that had been freed", second, writes ? "writes" : "reads");
    case RaceKind::reuse:
        return formatted("{} reuses memory that {} may still {}", second, first,
                         race.first.mode == AccessMode::read ? "read" : "write");
    }
    return "";
}

std::string ordinal(int index) {
    constexpr const char* first[] = {"1st", "2nd", "3rd"};
    return index < 3 ? first[index] : formatted("{}th", index + 1);
}

/// Returns whether the operation begins or ends the lifetime of memory.
bool is_lifetime(OpKind kind) noexcept { return kind == OpKind::allocate || kind == OpKind::free; }

/// Returns the stream, for example "stream main of cpu:0". If the stream has no name, the text
/// includes the place where the stream was made.
std::string stream_text(const std::string& name, const std::string& made) {
    if (!name.starts_with("stream ")) return "stream " + name;
    return made.empty() ? name : formatted("{} (made at {})", name, made);
}

/// Returns the operation and place of one side, for the first line about that side.
std::string who_and_where(const Side& side, const FindingSide& found, const ReportNames& names,
                          const std::string& place, bool is_node) {
    if (is_host(side) && found.reach != HostReach::none)
        return formatted("the host, {} {}, by {}", found.is_after_site ? "some time after" : "at",
                         place, side.name);
    if (is_host(side)) return formatted("the host, at {}", place);
    const std::string stream = side.stream.empty()
                                   ? std::string()
                                   : " on " + stream_text(side.stream, names.made_at(found.stream));
    if (is_lifetime(side.kind)) return formatted("{}{}, at {}", who(side), stream, place);
    if (!is_node)
        return formatted("{}, {}{}, enqueued at {}", side.name, kind_word(side.kind), stream,
                         place);
    const std::string node = node_text(names.site(found.site));
    if (found.captured_on.empty()) return formatted("{}, added at {}", node, place);
    return formatted("{}, captured on {} at {}", node, stream_text(found.captured_on, ""), place);
}

/// Returns the lines about one side.
std::string side_text(const Side& side, const FindingSide& found, const ReportNames& names,
                      const std::string& place, bool is_node) {
    std::string text = formatted("  {}\n", who_and_where(side, found, names, place, is_node));
    if (is_lifetime(side.kind)) return text;
    text += "      ";
    if (found.in_node != 0) {
        const Site& node = names.site(found.in_node);
        text += formatted("its {}, made at {}, ", node_text(node), place_text(node));
    }
    text += found.reach == HostReach::takes_address     ? "takes its address"
            : found.reach == HostReach::reads_or_writes ? "reads or writes it"
            : side.mode == AccessMode::read             ? "reads it"
            : side.mode == AccessMode::write            ? "writes it"
                                                        : "reads and writes it";
    if (side.argument >= 0) text += formatted(" through its {} argument", ordinal(side.argument));
    return text + "\n";
}

/// Returns the common memory, for example "elements [0, 4096) of the array made at solver.cpp:40".
std::string memory_text(const Finding& finding, const ReportNames& names) {
    std::string text = part_text(finding);
    if (finding.allocation == 0) text += " of memory that heddle does not own";
    else if (finding.made == 0) text += " of an array made before the check began";
    else text += formatted(" of the array made at {}", place_text(names.site(finding.made)));
    if (finding.freed != 0)
        text += formatted(", freed at {}", place_text(names.site(finding.freed)));
    return text;
}

std::string order_text(const Finding& finding, const ReportNames& names) {
    const KnownOrder& order = finding.order;
    const auto place = [&](SiteId site) { return place_text(names.site(site)); };
    if (finding.fork != 0)
        return formatted("They are in two branches of {}, which run at the same time.",
                         names.site(finding.fork).line != 0
                             ? formatted("the fork at {}", place(finding.fork))
                             : std::string("a fork"));
    if (finding.unwaited_scope != 0) {
        const Site& scope = names.site(finding.unwaited_scope);
        return formatted("{} at {} made '{}' current without a wait for '{}': {} = false.",
                         scope.name, place_text(scope), names.short_stream(finding.second.stream),
                         names.short_stream(finding.first.stream), wait_option(scope));
    }
    switch (order.kind) {
    case KnownOrder::Kind::wait:
        if (order.record != 0)
            return formatted("The wait at {} is too early: its event was recorded at {}, before "
                             "the work at {} was enqueued.",
                             place(order.wait), place(order.record), place(finding.first.site));
        return formatted("The wait at {} is too early: it covers work enqueued before the wait, "
                         "but not the work at {}.",
                         place(order.wait), place(finding.first.site));
    case KnownOrder::Kind::never_recorded:
        return formatted(
            "The wait at {} had no effect, because its event had not been recorded yet.",
            place(order.wait));
    case KnownOrder::Kind::host_wait:
        return formatted("The host waited at {}, but only for work enqueued before the work at {}.",
                         place(order.wait), place(finding.first.site));
    case KnownOrder::Kind::none: break;
    }
    return "Nothing orders the two accesses.";
}

SourcePlace place_of(const Site& site) { return {site.file, site.line, site.column}; }

Side side_of(const FindingSide& side, const ReportNames& names) {
    const Site& site = names.site(side.site);
    Side made{.kind = site.kind,
              .name = readable_name(site.name),
              .stream = side.stream != 0 ? names.stream(side.stream) : std::string(),
              .where = place_of(site),
              .mode = side.mode,
              .argument = side.argument,
              .position = side.position};
    if (side.in_node == 0) return made;
    made.node = readable_name(names.site(side.in_node).name);
    made.node_where = place_of(names.site(side.in_node));
    return made;
}

/// Returns the line that explains why a race is only possible.
std::string doubt_text(const Finding& finding, const ReportNames& names) {
    switch (finding.doubt) {
    case Doubt::none: break;
    case Doubt::leak:
        if (finding.leak == 0)
            return "  Not certain, because code outside heddle may order the two accesses.\n";
        return formatted(
            "  Not certain, because {} at {} may order the two accesses outside heddle.\n",
            readable_name(names.site(finding.leak).name), place_text(names.site(finding.leak)));
    case Doubt::foreign:
        return "  Not certain, because heddle does not own the memory: it may have been freed "
               "and allocated again in between (heddle cannot observe the wait in cudaFree()).\n";
    case Doubt::unknown_graph:
        return "  Not certain, because the graph was built before the check began: the parts of "
               "its arrays that the graph reads or writes are unknown.\n";
    case Doubt::new_memory:
        return "  Not certain, because the memory is new: the host may have waited for its "
               "allocation in a way that heddle cannot observe.\n";
    case Doubt::many_rows:
        return "  Not certain, because there are too many rows to determine whether they have "
               "bytes in common.\n";
    case Doubt::may_only_read:
        return "  Not certain, because the host may only read the memory: declare its access "
               "with on_host(reads(array)) or on_host(writes(array)).\n";
    case Doubt::address:
        return "  Not certain, because the host may only take the address of the memory.\n";
    }
    return "";
}

/// Returns the text about the missing wait or edge. If the exact place of the host's access is
/// unknown, the text names the last place before it.
std::string missing(const Finding& finding, const ReportNames& names, const Race& race) {
    const std::string text = missing_text(finding, names, race);
    constexpr std::string_view before = "before ";
    if (!finding.second.is_after_site || !text.starts_with(before)) return text;
    return formatted("before the host's access, after {}", text.substr(before.size()));
}

std::string kind_words(RaceKind kind) {
    std::string words = to_string(kind);
    for (char& one : words)
        if (one == '_') one = ' ';
    return words;
}

std::string race_text(const Race& race, const Finding& finding, const ReportNames& names) {
    const Site &first = names.site(finding.first.site), &second = names.site(finding.second.site);
    const std::string first_place = place_beside(first, second),
                      second_place = place_beside(second, first);
    std::string text = formatted(
        "heddle check: {}{} ({}): {}\n", race.certain ? "RACE" : "POSSIBLE RACE",
        finding.in_graph ? " in a graph" : "", kind_words(race.kind),
        finding.in_graph ? formatted("{} and {} have no order", node_text(first), node_text(second))
                         : headline(race, first_place, second_place));
    text += side_text(race.first, finding.first, names, first_place, finding.in_graph);
    text += side_text(race.second, finding.second, names, second_place, finding.in_graph);
    text += formatted("  in common: {}\n", memory_text(finding, names));
    text += formatted("  {}\n", order_text(finding, names));
    text += formatted("  Missing: {}\n", missing(finding, names, race));
    if (!race.certain) text += doubt_text(finding, names);
    const auto key = [&](const Side& side, const FindingSide& found) {
        if (finding.in_graph) return formatted("node#{}", found.node);
        return formatted("{}#{}", side.stream.empty() ? std::string("host") : side.stream,
                         side.position);
    };
    std::string rows;
    if (finding.rows.rows != 0)
        rows =
            formatted(" rows={}x{}/{}", finding.rows.rows, finding.rows.bytes, finding.rows.pitch);
    text += formatted("  [kind={} certain={} first={} second={} bytes={:#x}+{}{}]\n",
                      to_string(race.kind), race.certain ? 1 : 0, key(race.first, finding.first),
                      key(race.second, finding.second), finding.begin, finding.end - finding.begin,
                      rows);
    return text;
}

}  // namespace

Race race_of(const Finding& finding, const ReportNames& names) {
    Race race{.kind = kind_of_race(finding.kind),
              .certain = finding.is_certain,
              .first = side_of(finding.first, names),
              .second = side_of(finding.second, names),
              .data = reinterpret_cast<const void*>(finding.begin),
              .bytes = finding.end - finding.begin,
              .made = {},
              .text = {}};
    if (finding.made != 0) {
        const Site& made = names.site(finding.made);
        race.made = place_of(made);
    }
    race.text = race_text(race, finding, names);
    return race;
}

std::string fault_text(const Finding& finding, const ReportNames& names) {
    return formatted("heddle check: FAULT OF HEDDLE: a necessary wait was omitted at {} ('{}' for "
                     "'{}'#{}). Please report this to the authors of heddle.\n",
                     place_text(names.site(finding.second.site)),
                     names.short_stream(finding.second.stream),
                     names.short_stream(finding.first.stream), finding.first.position);
}

std::string summary_text(const check::Summary& summary, bool is_strict) {
    std::string text = formatted("heddle check: {} {}, {} possible", summary.certain,
                                 summary.certain == 1 ? "race" : "races", summary.possible);
    if (summary.possible != 0 && !is_strict) text += " (HEDDLE_CHECK=strict shows them)";
    if (summary.faults != 0) text += formatted(", {} faults of heddle", summary.faults);
    text += formatted("; {} operations checked\n", summary.operations);
    if (summary.undeclared == 0) return text;
    const bool is_one = summary.undeclared == 1;
    text += formatted("heddle check: {}, so {} through them were not checked:",
                      is_one ? "1 kernel uses undeclared pointers"
                             : formatted("{} kernels use undeclared pointers", summary.undeclared),
                      is_one ? "its accesses" : "their accesses");
    for (const std::string& one : summary.undeclared_at) text += "\n  " + one;
    if (summary.undeclared > summary.undeclared_at.size()) text += "\n  ...";
    return text + "\n";
}

}  // namespace detail

}  // namespace heddle
