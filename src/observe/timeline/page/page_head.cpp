// Makes the head of the page's data. The head is JSON, because it is small.
#include <algorithm>
#include <concepts>
#include <string>
#include <string_view>

#include "core/base/utf8.hpp"
#include "timeline/page/look.hpp"
#include "timeline/page/page_data.hpp"
#include "timeline/solve/headline.hpp"
#include "timeline/solve/words.hpp"

namespace heddle::detail {

namespace {

std::string json_string(std::string_view text) {
    std::string json;
    append_json(json, text);
    return json;
}

/// Returns [f(first), f(second), ...].
template <class Items, class F> std::string list(const Items& items, F f) {
    std::string json = "[";
    for (const auto& item : items) {
        if (json.size() > 1) json += ',';
        json += f(item);
    }
    return json + ']';
}

/// Returns ["launch", ...] for an enumeration's values from 0 to `count`.
template <class Value> std::string names(std::size_t count) {
    std::string json = "[";
    for (std::size_t i = 0; i < count; ++i)
        json += (i == 0 ? "" : ",") + json_string(to_string(static_cast<Value>(i)));
    return json + ']';
}

/// Makes an object of JSON values.
class Object {
public:
    Object& add(const char* name, const std::string& value) {
        json_ += json_.empty() ? "{\"" : ",\"";
        ((json_ += name) += "\":") += value;
        return *this;
    }
    template <std::integral Number> Object& add(const char* name, Number value) {
        return add(name, std::to_string(value));
    }
    std::string json() const { return json_ + '}'; }

private:
    std::string json_;
};

std::string look_json(const Look& look) {
    return Object()
        .add("key", json_string(look.key))
        .add("label", json_string(look.label))
        .add("brief", json_string(look.brief))
        .json();
}

/// Returns the names of all modes of operations. The last name is for operations of an abandoned
/// batch.
std::string mode_names() {
    std::string names;
    for (const OpMode mode : {OpMode::run, OpMode::captured, OpMode::batched})
        names += json_string(to_string(mode)) + ',';
    return '[' + names + json_string("abandoned") + ']';
}

std::string brief_names_json() {
    Object names;
    for (const BriefName& name : brief_names())
        names.add(std::string(name.name).c_str(), json_string(name.brief));
    return names.json();
}

constexpr AccessMode access_modes[] = {AccessMode::read, AccessMode::write, AccessMode::read_write,
                                       AccessMode::concurrent};
std::string access_json(AccessMode mode) { return json_string(access_text(mode)); }

/// Returns the unit as JSON, for example ["ms", 1000000].
std::string unit_json(const TimeUnit& unit) {
    return '[' + json_string(unit.name) + ',' + std::to_string(static_cast<std::int64_t>(unit.ns)) +
           ']';
}

std::string device_json(const Trace& trace, const TraceDevice& device) {
    return Object()
        .add("label", json_string(device_text(device)))
        .add("name", json_string(trace.text(device.name)))
        .add("clock", json_string(clock_text(device.clock)))
        .add("clockIsKnown", device.clock == TraceClock::none ? 0 : 1)
        .add("error", device.clock_error)
        .json();
}

std::string streams_json(const Trace& trace) {
    std::string json = "[";
    for (TraceIndex i = 0; i < trace.streams.size(); ++i)
        json += (i == 0 ? "" : ",") + Object()
                                          .add("label", json_string(stream_text(trace, i)))
                                          .add("device", trace.streams[i].device)
                                          .add("priority", trace.streams[i].priority)
                                          .json();
    return json + ']';
}

std::string row_json(const PictureRow& row) {
    return Object()
        .add("isThread", row.is_thread ? 1 : 0)
        .add("index", row.index)
        .add("rangeLanes", row.range_lanes)
        .add("lanes", row.lanes)
        .json();
}

std::string totals_json(const RowTotals& totals) {
    return Object()
        .add("stream", totals.stream)
        .add("operations", totals.operations)
        .add("busy", totals.busy)
        .add("idle", list(totals.idle, [](Moment idle) { return std::to_string(idle); }))
        .json();
}

std::string graph_json(const TraceGraph& graph) {
    const auto node = [](const TraceNode& n) {
        return list(n.after, [](std::uint32_t before) { return std::to_string(before); });
    };
    // The index of the conditional node, and the index of its body.
    const auto body = [](const TraceNode& n) {
        if (n.inside == no_index) return std::string("[]");
        return '[' + std::to_string(n.inside) + ',' + std::to_string(n.alternative) + ']';
    };
    const bool has_bodies = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                        [](const TraceNode& n) { return n.inside != no_index; });
    Object made;
    made.add("after", list(graph.nodes, node));
    if (has_bodies) made.add("inside", list(graph.nodes, body));
    return made.json();
}

}  // namespace

std::string page_head(const Trace& trace, const Solution& solution, const Picture& picture,
                      const PageColumns& columns) {
    return Object()
        .add("program", json_string(trace.program))
        .add("headline", json_string(headline(trace, solution)))
        .add("begin", solution.begin)
        .add("end", solution.end)
        .add("startedAt", trace.base_realtime_ns)
        .add("lost", trace.lost_ops)
        .add("backwards", solution.backward_arrows)
        .add("emptyStreams", picture.empty_streams)
        .add("notes", list(trace.notes, json_string))
        .add("kinds", names<OpKind>(op_kinds))
        .add("modes", mode_names())
        .add("reasons", names<WaitReason>(wait_reasons))
        .add("classes", list(bar_looks(), look_json))
        .add("gapLooks", list(gap_looks(), look_json))
        .add("briefNames", brief_names_json())
        .add("accessModes", list(access_modes, access_json))
        .add("timeUnits", list(time_units(), unit_json))
        .add("devices", list(trace.devices,
                             [&](const TraceDevice& device) { return device_json(trace, device); }))
        .add("streams", streams_json(trace))
        .add("threads", list(trace.threads,
                             [&](const TraceThread& t) { return json_string(trace.text(t.name)); }))
        .add("graphs", list(trace.graphs, graph_json))
        .add("rows", list(picture.rows, row_json))
        .add("totals", list(solution.rows, totals_json))
        .add("strings", list(trace.strings, json_string))
        .add("columns", columns.directory())
        .json();
}

}  // namespace heddle::detail
