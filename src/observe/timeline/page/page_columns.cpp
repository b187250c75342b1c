// Writes operations as columns. Operations that differ only in their times share a "site". Most
// programs have only a few sites.
#include <array>
#include <map>
#include <unordered_map>

#include "timeline/page/look.hpp"
#include "timeline/page/page_data.hpp"
#include "timeline/solve/abandoned.hpp"
#include "timeline/solve/ops_by_id.hpp"

namespace heddle::detail {

namespace {

using Numbers = std::vector<std::int64_t>;

std::int64_t or_minus_one(TraceIndex index) {
    return index == no_index ? -1 : static_cast<std::int64_t>(index);
}

/// Distinct rows of numbers, in the order of their first appearance.
template <std::size_t width> class DistinctRows {
public:
    using Row = std::array<std::int64_t, width>;

    std::int64_t number_of(const Row& row) {
        const auto [found, is_new] =
            numbers_.try_emplace(row, static_cast<std::int64_t>(rows_.size()));
        if (is_new) rows_.push_back(row);
        return found->second;
    }
    void add_to(PageColumns& columns, const std::array<const char*, width>& names) const {
        Numbers column(rows_.size());
        for (std::size_t i = 0; i < width; ++i) {
            for (std::size_t row = 0; row < rows_.size(); ++row) column[row] = rows_[row][i];
            columns.add(names[i], column);
        }
    }

private:
    struct Hash {
        std::size_t operator()(const Row& row) const {
            std::uint64_t hash = 0;
            for (const std::int64_t value : row) {
                hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15u;
                hash ^= hash >> 32;
            }
            return hash;
        }
    };
    std::unordered_map<Row, std::int64_t, Hash> numbers_;
    std::vector<Row> rows_;
};

/// Lists of accesses. Equal lists and equal accesses are written only once.
class AccessLists {
public:
    explicit AccessLists(const Trace& trace) : trace_(trace) { add({}); }

    std::int64_t number_of(std::uint32_t first, std::uint32_t count) {
        if (count == 0) return 0;
        Numbers list;
        for (std::uint32_t i = first; i < first + count; ++i)
            list.push_back(number_of(trace_.accesses[i]));
        const auto found = numbers_.find(list);
        return found != numbers_.end() ? found->second : add(list);
    }
    void add_to(PageColumns& columns) const {
        columns.add("listSize", sizes_);
        columns.add("listItem", items_);
        accesses_.add_to(columns, {"accessHigh", "accessLow", "accessBytes", "accessRows",
                                   "accessMode", "accessArgument", "accessName"});
    }

private:
    std::int64_t add(const Numbers& list) {
        const auto number = static_cast<std::int64_t>(sizes_.size());
        numbers_.emplace(list, number);
        sizes_.push_back(static_cast<std::int64_t>(list.size()));
        items_.insert(items_.end(), list.begin(), list.end());
        return number;
    }
    std::int64_t number_of(const TraceAccess& a) {
        return accesses_.number_of({static_cast<std::int64_t>(a.address() >> 32),
                                    static_cast<std::int64_t>(a.address() & 0xffffffffu),
                                    static_cast<std::int64_t>(a.bytes),
                                    static_cast<std::int64_t>(a.rows),
                                    static_cast<std::int64_t>(a.mode), a.argument, a.name});
    }
    const Trace& trace_;
    std::map<Numbers, std::int64_t> numbers_;
    Numbers sizes_, items_;
    DistinctRows<7> accesses_;
};

/// Assigns small numbers to ids, in the order of their first appearance. 0 stays 0.
class SmallNumbers {
public:
    std::int64_t number_of(std::uint64_t id) {
        if (id == 0) return 0;
        return numbers_.try_emplace(id, static_cast<std::int64_t>(numbers_.size()) + 1)
            .first->second;
    }

private:
    std::unordered_map<std::uint64_t, std::int64_t> numbers_;
};

void add_sites(PageColumns& columns, const Trace& trace, AccessLists& lists) {
    DistinctRows<15> sites;
    Numbers numbers;
    numbers.reserve(trace.ops.size());
    const std::vector<bool> abandoned = abandoned_ops(trace);
    const std::int64_t abandoned_mode = static_cast<std::int64_t>(OpMode::batched) + 1;
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        const TraceOp& op = trace.ops[i];
        const auto mode = abandoned[i] ? abandoned_mode : static_cast<std::int64_t>(op.mode);
        numbers.push_back(sites.number_of(
            {static_cast<std::int64_t>(op.kind), mode, static_cast<std::int64_t>(op.reason),
             static_cast<std::int64_t>(class_of(trace, op)), op.name, op.file, op.line,
             or_minus_one(op.thread), or_minus_one(op.stream), or_minus_one(op.device),
             static_cast<std::int64_t>(op.bytes), or_minus_one(op.graph),
             lists.number_of(op.first_access, op.accesses), op.share, op.shares}));
    }
    columns.add("opSite", numbers);
    sites.add_to(columns, {"siteKind", "siteMode", "siteReason", "siteClass", "siteName",
                           "siteFile", "siteLine", "siteThread", "siteStream", "siteDevice",
                           "siteBytes", "siteGraph", "siteList", "siteShare", "siteShares"});
}

/// Adds the calls. Calls with unknown times have a length of -1.
void add_calls(PageColumns& columns, const Trace& trace, const Picture& picture) {
    PageTable<3> calls({"opCall", "opCallLength", "opCallLane"});
    std::int64_t before = 0;
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        const TraceOp& op = trace.ops[i];
        const bool is_known = op.call_begin != unknown_moment && op.call_end != unknown_moment;
        before = is_known ? op.call_begin : before;
        calls.add_row({before, is_known ? op.call_end - op.call_begin : -1,
                       or_minus_one(picture.call_lanes[i])});
    }
    calls.add_to(columns);
}

void add_links(PageColumns& columns, const Trace& trace) {
    const OpsById functions(trace, OpKind::host_function);
    SmallNumbers collectives, recordings;
    PageTable<3> links({"opParent", "opCollective", "opRecording"});
    for (TraceIndex i = 0; i < trace.ops.size(); ++i) {
        const TraceOp& op = trace.ops[i];
        links.add_row({relative_index(i, functions.find(op.parent)),
                       collectives.number_of(op.collective), recordings.number_of(op.recording)});
    }
    links.add_to(columns);
}

void add_arrows(PageColumns& columns, const std::vector<Arrow>& arrows) {
    PageTable<6> table(
        {"arrowWait", "arrowFrom", "arrowTo", "arrowStart", "arrowLength", "arrowFlags"});
    for (const Arrow& arrow : arrows)
        table.add_row({arrow.wait, relative_index(arrow.wait, arrow.from),
                       relative_index(arrow.wait, arrow.to), arrow.to_start,
                       arrow.to_start - arrow.from_end,
                       (arrow.held_up ? 1 : 0) | (arrow.is_backwards ? 2 : 0)});
    table.add_to(columns);
}

void add_critical(PageColumns& columns, const std::vector<CriticalStep>& steps) {
    PageTable<4> table({"criticalKind", "criticalOp", "criticalBegin", "criticalLength"});
    for (const CriticalStep& step : steps)
        table.add_row({static_cast<std::int64_t>(step.kind), or_minus_one(step.op), step.begin,
                       step.end - step.begin});
    table.add_to(columns);
}

void add_ranges(PageColumns& columns, const Trace& trace, const Picture& picture) {
    PageTable<5> table({"rangeThread", "rangeName", "rangeBegin", "rangeLength", "rangeLane"});
    for (std::size_t i = 0; i < trace.ranges.size(); ++i) {
        const TraceRange& range = trace.ranges[i];
        table.add_row({range.thread, range.name, range.begin, range.end - range.begin,
                       or_minus_one(picture.range_lanes[i])});
    }
    table.add_to(columns);
}

void add_nodes(PageColumns& columns, const Trace& trace, AccessLists& lists) {
    PageTable<6> table({"nodeGraph", "nodeClass", "nodeName", "nodeFile", "nodeLine", "nodeList"});
    for (std::size_t graph = 0; graph < trace.graphs.size(); ++graph)
        for (const TraceNode& node : trace.graphs[graph].nodes)
            table.add_row({static_cast<std::int64_t>(graph),
                           static_cast<std::int64_t>(class_of(node.kind, trace.text(node.name))),
                           node.name, node.file, node.line,
                           lists.number_of(node.first_access, node.accesses)});
    table.add_to(columns);
}

}  // namespace

void PageColumns::add(std::string_view name, std::span<const std::int64_t> values) {
    const ColumnEntry entry = append_column(bytes_, values);
    const char* type = entry.least >= 0 && entry.most <= 0xff                ? "u8"
                       : entry.least >= INT32_MIN && entry.most <= INT32_MAX ? "i32"
                                                                             : "f64";
    if (!directory_.empty()) directory_ += ",\n";
    ((directory_ += "[\"") += name) += "\",";
    directory_ += std::to_string(static_cast<int>(entry.code)) + ',' + std::to_string(entry.count) +
                  ',' + std::to_string(entry.bytes) + ",\"" + type + "\"]";
}

std::int64_t relative_index(TraceIndex base, TraceIndex index) {
    if (index == no_index) return 0;
    const auto back = static_cast<std::int64_t>(base) - static_cast<std::int64_t>(index);
    return back > 0 ? back : back - 1;
}

void add_page_columns(PageColumns& columns, const Trace& trace, const Solution& solution,
                      const Picture& picture) {
    AccessLists lists(trace);
    add_sites(columns, trace, lists);
    add_nodes(columns, trace, lists);
    lists.add_to(columns);
    add_calls(columns, trace, picture);
    add_links(columns, trace);
    add_row_columns(columns, trace, solution);
    add_arrows(columns, solution.arrows);
    add_critical(columns, solution.critical);
    add_ranges(columns, trace, picture);
}

}  // namespace heddle::detail
