#include "check/report.hpp"

#include <string_view>

#include "core/base/format.hpp"

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

/// Returns the file without its folders, and the line.
std::string place_text(const Site& site) {
    const std::string_view file = site.file;
    const std::string_view last = file.substr(file.find_last_of('/') + 1);
    if (last.empty()) return "an unknown place";
    return site.line != 0 ? formatted("{}:{}", last, site.line) : std::string(last);
}

bool is_host(const Side& side) noexcept { return side.kind == OpKind::host_access; }

/// Returns "kernel 'Relax'", for example, or "the host".
std::string who(const Side& side) {
    switch (side.kind) {
    case OpKind::host_access: return "the host";
    case OpKind::launch: return formatted("'{}'", side.name);
    case OpKind::host_function: return formatted("host function '{}'", side.name);
    case OpKind::graph_launch: return "a graph";
    case OpKind::copy: return formatted("the copy {}", side.name);
    case OpKind::fill: return "the fill";
    case OpKind::collective: return formatted("collective '{}'", side.name);
    case OpKind::allocate: return "the allocation";
    case OpKind::free: return "the end of the array";
    default: return formatted("'{}'", side.name);
    }
}

const char* kind_word(OpKind kind) noexcept {
    switch (kind) {
    case OpKind::launch: return "kernel";
    case OpKind::graph_launch: return "graph launch";
    case OpKind::host_function: return "host function";
    default: return to_string(kind);
    }
}

/// Returns the sentence that says what may go wrong.
std::string headline(const Race& race) {
    const std::string first = who(race.first), second = who(race.second);
    const bool writes = race.second.mode != AccessMode::read;
    switch (race.kind) {
    case RaceKind::write_after_read:
        return formatted("{} may overwrite what {} still reads", second, first);
    case RaceKind::write_after_write:
        return formatted("{} may write before {} has written the same memory", second, first);
    case RaceKind::read_after_write:
        return formatted("{} may read what {} has not written yet", second, first);
    case RaceKind::use_before_allocation:
        return formatted("{} may use memory before its allocation", second);
    case RaceKind::free_before_use:
        return formatted("memory is freed that {} may still {}", first,
                         race.first.mode == AccessMode::read ? "read" : "write");
    case RaceKind::use_after_free:
        return formatted("{} {} memory that had been freed", second, writes ? "writes" : "reads");
    case RaceKind::reuse:
        return formatted("{} gives out memory that {} may still {}", second, first,
                         race.first.mode == AccessMode::read ? "read" : "write");
    }
    return "";
}

std::string ordinal(int index) {
    constexpr const char* first[] = {"1st", "2nd", "3rd"};
    return index < 3 ? first[index] : formatted("{}th", index + 1);
}

/// Returns the lines about one side.
std::string side_text(const Side& side, const Site& site, bool is_node) {
    std::string text =
        is_host(side) ? formatted("  the host, at {}", place_text(site))
                      : formatted("  {}, {}{}, {} at {}", side.name, kind_word(side.kind),
                                  side.stream.empty() ? std::string()
                                                      : formatted(" on stream {}", side.stream),
                                  is_node ? "added" : "enqueued", place_text(site));
    const char* const does = side.mode == AccessMode::read    ? "reads it"
                             : side.mode == AccessMode::write ? "writes it"
                                                              : "reads and writes it";
    text += formatted("\n      {}", does);
    if (side.argument >= 0) text += formatted(" through its {} argument", ordinal(side.argument));
    return text + "\n";
}

/// Returns what both use: "elements [0, 4096) of the array made at solver.cpp:40".
std::string memory_text(const Finding& finding, const ReportNames& names) {
    const std::uint64_t bytes = finding.end - finding.begin;
    const std::uint64_t offset = finding.begin - finding.allocation_begin;
    const bool in_array = finding.allocation != 0 && finding.allocation_begin != 0 &&
                          finding.begin >= finding.allocation_begin;
    std::string text;
    if (in_array && finding.element != 0 && offset % finding.element == 0)
        text = formatted("elements [{}, {})", offset / finding.element,
                         (offset + bytes + finding.element - 1) / finding.element);
    else if (in_array) text = formatted("bytes [{}, {})", offset, offset + bytes);
    else text = formatted("{} bytes at {:#x}", bytes, finding.begin);
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
    switch (order.kind) {
    case KnownOrder::Kind::wait:
        if (order.record != 0)
            return formatted(
                "There was an order, but an earlier one: the wait at {} is for an event "
                "that was recorded at {}, before {} was enqueued.",
                place(order.wait), place(order.record), place(finding.first.site));
        return formatted("There was an order, but an earlier one: the wait at {} covers what was "
                         "enqueued before it, and not {}.",
                         place(order.wait), place(finding.first.site));
    case KnownOrder::Kind::never_recorded:
        return formatted(
            "There is no order: the event had never been recorded when {} waited for it. "
            "A wait for an event that was not recorded waits for nothing.",
            place(order.wait));
    case KnownOrder::Kind::host_wait:
        return formatted("The host waited at {}, but for something enqueued before {}.",
                         place(order.wait), place(finding.first.site));
    case KnownOrder::Kind::none: break;
    }
    return "Nothing orders the two.";
}

/// Returns a call as code, "main.wait_stream(halo);", or in words if a stream has no name of its
/// own.
std::string code(const std::string& stream, const char* function, const std::string& argument) {
    const bool is_named =
        stream.find(' ') == std::string::npos && argument.find(' ') == std::string::npos;
    if (is_named) return formatted("{}.{}({});  // names of streams", stream, function, argument);
    return formatted("{}({}) of {}", function, argument, stream);
}

/// Returns what would order them.
std::string missing_text(const Finding& finding, const ReportNames& names, const Race& race) {
    const std::string second = place_text(names.site(finding.second.site));
    if (finding.in_graph) {
        // Whoever only reads comes second, most likely; else who was added later.
        const auto only_reads = [](const Side& side) { return side.mode == AccessMode::read; };
        const bool is_turned = only_reads(race.first) != only_reads(race.second)
                                   ? only_reads(race.first)
                                   : race.first.where.line > race.second.where.line;
        const std::string first = place_text(names.site(finding.first.site));
        return formatted("an edge between them, for example the node of {} .after() the node of {}",
                         is_turned ? first : second, is_turned ? second : first);
    }
    if (race.kind == RaceKind::free_before_use || race.kind == RaceKind::use_after_free)
        return formatted(
            "the array has to live until that use is done; if it goes through a pointer, "
            "array.used_on(stream) at {}",
            place_text(names.site(finding.kind == FindingKind::use_after_free
                                      ? finding.second.site
                                      : finding.first.site)));
    if (race.kind == RaceKind::reuse)
        return formatted("array.used_on(stream) for the use at {}, if it goes through a pointer",
                         place_text(names.site(finding.first.site)));
    if (finding.same_wait != 0)
        return formatted("the {} before {}, reported before, which would order these, too",
                         is_host(race.second) ? "host's wait" : "wait",
                         place_text(names.site(finding.same_wait)));
    const std::string first_stream = names.short_stream(finding.first.stream);
    if (is_host(race.second))
        return formatted("before {}, for example\n      {}", second,
                         code(first_stream, "synchronize", ""));
    if (is_host(race.first)) return formatted("the host's access has to come before {}", second);
    const bool is_round = race.first.where.file == race.second.where.file &&
                          race.second.where.line <= race.first.where.line;
    const std::string second_stream = names.short_stream(finding.second.stream);
    std::string text = formatted("after {} and before {}{}, for example\n      {}",
                                 place_text(names.site(finding.first.site)), second,
                                 is_round ? " of the next round" : "",
                                 code(second_stream, "wait_stream", first_stream));
    if (finding.record_behind != 0)
        text += formatted("\n      or wait_event() of {}, for the event that {} records",
                          second_stream, place_text(names.site(finding.record_behind)));
    return text;
}

Side side_of(const FindingSide& side, const ReportNames& names) {
    const Site& site = names.site(side.site);
    return {.kind = site.kind,
            .name = site.name,
            .stream = side.stream != 0 ? names.stream(side.stream) : std::string(),
            .where = {site.file, site.line},
            .mode = side.mode,
            .argument = side.argument,
            .position = side.position};
}

std::string kind_words(RaceKind kind) {
    std::string words = to_string(kind);
    for (char& one : words)
        if (one == '_') one = ' ';
    return words;
}

std::string race_text(const Race& race, const Finding& finding, const ReportNames& names) {
    std::string text =
        formatted("heddle check: {}{} ({}): {}\n", race.certain ? "RACE" : "POSSIBLE RACE",
                  finding.in_graph ? " in a graph" : "", kind_words(race.kind),
                  finding.in_graph ? formatted("the nodes '{}' and '{}' have no order",
                                               race.first.name, race.second.name)
                                   : headline(race));
    text += side_text(race.first, names.site(finding.first.site), finding.in_graph);
    text += side_text(race.second, names.site(finding.second.site), finding.in_graph);
    text += formatted("  in common: {}\n", memory_text(finding, names));
    text += formatted("  {}\n", order_text(finding, names));
    text += formatted("  Missing: {}\n", missing_text(finding, names, race));
    if (!race.certain && finding.leak != 0)
        text += formatted("  Unless {} at {} makes that order in a way that heddle cannot see.\n",
                          names.site(finding.leak).name, place_text(names.site(finding.leak)));
    const auto key = [&](const Side& side, const FindingSide& found) {
        if (finding.in_graph) return formatted("node#{}", found.node);
        return formatted("{}#{}", side.stream.empty() ? std::string("host") : side.stream,
                         side.position);
    };
    text += formatted("  [kind={} certain={} first={} second={} bytes={:#x}+{}]\n",
                      to_string(race.kind), race.certain ? 1 : 0, key(race.first, finding.first),
                      key(race.second, finding.second), finding.begin, finding.end - finding.begin);
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
        race.made = {made.file, made.line};
    }
    race.text = race_text(race, finding, names);
    return race;
}

std::string fault_text(const Finding& finding, const ReportNames& names) {
    return formatted(
        "heddle check: FAULT OF HEDDLE: a wait was left out at {} that was needed ('{}' "
        "for '{}'#{}). Please report.\n",
        place_text(names.site(finding.second.site)), names.short_stream(finding.second.stream),
        names.short_stream(finding.first.stream), finding.first.position);
}

std::string named_place(const Site& site) {
    return formatted("'{}' at {}", site.name, place_text(site));
}

std::string summary_text(const check::Summary& summary, bool is_strict) {
    std::string text = formatted("heddle check: {} {}, {} possible", summary.certain,
                                 summary.certain == 1 ? "race" : "races", summary.possible);
    if (summary.possible != 0 && !is_strict) text += " (HEDDLE_CHECK=strict shows them)";
    if (summary.faults != 0) text += formatted(", {} faults of heddle", summary.faults);
    text += formatted("; {} operations checked\n", summary.operations);
    if (summary.undeclared == 0) return text;
    const bool is_one = summary.undeclared == 1;
    text += formatted("heddle check: {} that nothing declares, so what {} through them "
                      "was not checked:",
                      is_one ? "1 kernel holds pointers"
                             : formatted("{} kernels hold pointers", summary.undeclared),
                      is_one ? "it does" : "they do");
    for (const std::string& one : summary.undeclared_at) text += "\n  " + one;
    if (summary.undeclared > summary.undeclared_at.size()) text += "\n  ...";
    return text + "\n";
}

}  // namespace detail

}  // namespace heddle
