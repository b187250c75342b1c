#include "timeline/file/chrome_json.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/format.hpp"
#include "timeline/file/chrome_flows.hpp"
#include "timeline/file/chrome_out.hpp"
#include "timeline/file/chrome_rows.hpp"
#include "timeline/file/chrome_text.hpp"
#include "timeline/file/host_slices.hpp"
#include "timeline/file/json_out.hpp"
#include "timeline/solve/abandoned.hpp"
#include "timeline/solve/words.hpp"

namespace heddle::detail {

namespace {

constexpr std::uint32_t most_accesses_shown = 16;  // limit for each operation

/// Returns the earliest moment in the JSON, or 0 if 0 is earlier. So no time is negative.
Moment first_moment(const Trace& trace, const Solution& solution,
                    const std::vector<HostSlice>& host) {
    Moment first = std::min({Moment{0}, trace.begin, solution.begin});
    for (const HostSlice& slice : host) first = std::min(first, slice.begin);
    for (const Bar& bar : solution.bars) first = std::min(first, bar.start);
    for (const Gap& gap : solution.gaps) first = std::min(first, gap.begin);
    return first;
}

std::string device_name(const Trace& trace, const TraceDevice& device) {
    const std::string name = device_text(device);
    const std::string& model = trace.text(device.name);
    return model.empty() ? name : name + " " + model;
}

std::string clock_words(const TraceDevice& device) {
    const std::string words = clock_text(device.clock);
    const bool has_error = device.clock_error != 0 && device.clock != TraceClock::none;
    return has_error ? words + ", within " + duration_text(device.clock_error) : words;
}

class ChromeJson {
public:
    ChromeJson(std::ostream& to, const Trace& trace, const Solution& solution)
        : trace_(trace), solution_(solution), host_(host_slices(trace, solution)),
          rows_(trace, solution, host_), flows_(chrome_flows(trace, solution, host_, rows_)),
          abandoned_(abandoned_ops(trace)), origin_(first_moment(trace, solution, host_)),
          text_(trace), out_(to, origin_) {}

    void write() {
        put_head();
        put_names();
        for (const HostSlice& slice : host_)
            if (slice.range == no_index) put_call(slice);
            else put_range(slice);
        for (const Bar& bar : solution_.bars)
            if (bar.run == no_index) put_bar(bar);
            else put_node(bar);
        for (const Gap& gap : solution_.gaps) put_gap(gap);
        for (const ChromeFlow& flow : flows_.all) put_flow(flow);
        out_.raw("\n]}\n").flush();
    }

private:
    void put_head() {
        out_.raw("{\"displayTimeUnit\":\"ns\",\n\"baseTimeNanoseconds\":")
            .number(trace_.base_realtime_ns + origin_)
            .raw(",\n\"otherData\":{\"program\":")
            .raw(in_json(trace_.program))
            .raw(",\"lost_operations\":")
            .number(trace_.lost_ops)
            .raw(",\"arrows_left_out\":")
            .number(flows_.left_out)
            .raw(",\"notes\":[");
        for (std::size_t i = 0; i < trace_.notes.size(); ++i)
            out_.raw(i == 0 ? "" : ",").raw(in_json(trace_.notes[i]));
        out_.raw("]},\n\"traceEvents\":[");
    }

    void put_names() {
        put_process(ChromeRows::host, trace_.program.empty() ? "host" : "host: " + trace_.program,
                    "");
        for (TraceIndex i = 0; i < trace_.devices.size(); ++i)
            put_process(ChromeRows::process_of(i), device_name(trace_, trace_.devices[i]),
                        clock_words(trace_.devices[i]));
        for (TraceIndex i = 0; i < trace_.threads.size(); ++i)
            for (std::uint32_t lane = 0; lane < rows_.lanes_of_thread(i); ++lane)
                put_row(rows_.lane_of_thread(i, lane), lane_name(thread_text(trace_, i), lane));
        for (TraceIndex i = 0; i < trace_.streams.size(); ++i) {
            const std::string name = stream_text(trace_, i);
            for (std::uint32_t lane = 0; lane < rows_.lanes_of_stream(i); ++lane)
                put_row(rows_.lane(i, lane), lane_name(name, lane));
            put_row(rows_.idle(i), name + ": idle");
        }
    }
    static std::string lane_name(const std::string& name, std::uint32_t lane) {
        return lane == 0 ? name : detail::formatted("{}/{}", name, lane + 1);
    }
    void put_process(std::uint32_t process, const std::string& name, const std::string& label) {
        const ChromeRow row{process, 0};
        put_metadata("process_name", row, "name", in_json(name));
        put_metadata("process_sort_index", row, "sort_index", std::to_string(process));
        if (!label.empty()) put_metadata("process_labels", row, "labels", in_json(label));
    }
    void put_row(ChromeRow row, const std::string& name) {
        put_metadata("thread_name", row, "name", in_json(name));
        put_metadata("thread_sort_index", row, "sort_index", std::to_string(row.thread));
    }
    void put_metadata(std::string_view name, ChromeRow row, std::string_view argument,
                      std::string_view json) {
        out_.begin_metadata(row, name);
        out_.argument(argument).raw(json);
        out_.end_event();
    }

    void put_call(const HostSlice& slice) {
        const TraceOp& op = trace_.ops[slice.op];
        if (slice.is_instant) {
            out_.begin_event("i", rows_.of(slice), slice.begin);
            out_.raw(",\"s\":\"t\"");
        } else {
            out_.begin_slice(rows_.of(slice), slice.begin, slice.end);
        }
        out_.begin_title(text_.call(op), "call");
        put_more_categories(op);
        put_identity(op);
        put_target(op);
        if (abandoned_[slice.op]) out_.word("mode", "abandoned");
        else if (op.mode != OpMode::run) out_.word("mode", to_string(op.mode));
        put_common(op);
        if (slice.is_instant)
            out_.argument("took_us").micros(ChromeOut::distance(op.call_begin, op.call_end));
        out_.end_event();
    }

    /// Adds the arguments that name the target of the call.
    void put_target(const TraceOp& op) {
        if (op.stream != no_index) out_.argument("stream").raw(text_.stream(op.stream));
        else if (op.device != no_index)
            out_.argument("device").raw(in_json(device_name(trace_, trace_.devices[op.device])));
        if (op.other != no_index) out_.argument("waits_for").raw(text_.stream(op.other));
        out_.count("waits_for_position", op.other_position);
    }

    void put_range(const HostSlice& slice) {
        out_.begin_slice(rows_.of(slice), slice.begin, slice.end);
        out_.begin_title(in_json(trace_.text(trace_.ranges[slice.range].name)), "range");
        out_.end_title();
        out_.end_event();
    }

    void put_bar(const Bar& bar) {
        const TraceOp& op = trace_.ops[bar.op];
        out_.begin_slice(rows_.of(bar), bar.start, bar.end);
        out_.begin_title(text_.name(op), chrome_category(op.kind));
        put_more_categories(op);
        put_identity(op);
        if (op.call_begin != unknown_moment)
            out_.argument("called_us").micros(out_.since(op.call_begin));
        put_common(op);
        out_.count("workers", op.workers);
        out_.count("collective", op.collective);
        if (op.shares != 0) out_.count("share", std::uint64_t{op.share} + 1);
        out_.count("of_shares", op.shares);
        if (op.graph != no_index) out_.count("graph", trace_.graphs[op.graph].id);
        if (bar.start_is_deduced) out_.word("start", "deduced");
        put_accesses(op.first_access, op.accesses);
        out_.end_event();
    }

    void put_node(const Bar& bar) {
        const TraceOp& launch = trace_.ops[bar.op];
        const std::uint32_t index = trace_.node_runs[bar.run].node;
        const TraceNode& node = trace_.graphs[launch.graph].nodes[index];
        TraceOp op;  // the node, represented as an operation
        op.kind = node.kind;
        op.name = node.name;
        out_.begin_slice(rows_.of(bar), bar.start, bar.end);
        out_.begin_title(text_.name(op), chrome_category(op.kind));
        out_.raw(",node");
        out_.end_title();
        out_.count("op", launch.id);
        put_source(node.file, node.line);
        out_.argument("node").number(index);
        put_list("after", node.after.size(), [&](std::size_t i) { out_.number(node.after[i]); });
        if (node.inside != no_index) {
            out_.argument("inside").number(node.inside);
            out_.argument("body").number(node.alternative);
        }
        put_accesses(node.first_access, node.accesses);
        out_.end_event();
    }

    void put_gap(const Gap& gap) {
        out_.begin_slice(rows_.idle(gap.stream), gap.begin, gap.end);
        out_.begin_title(in_json(to_string(gap.reason)), "idle");
        out_.end_title();
        if (gap.op != no_index) {
            out_.argument("before").raw(text_.name(trace_.ops[gap.op]));
            put_identity(trace_.ops[gap.op]);
        }
        if (gap.cause != no_index) {
            const TraceOp& cause = trace_.ops[gap.cause];
            out_.argument("cause").raw(text_.name(cause));
            if (cause.stream != no_index)
                out_.argument("cause_stream").raw(text_.stream(cause.stream));
            out_.count("cause_op", cause.id);
        }
        if (gap.wait != no_index) {
            const TraceOp& wait = trace_.ops[gap.wait];
            out_.word("wait_reason", to_string(wait.reason));
            const std::string& place = text_.place(wait.file, wait.line);
            if (!place.empty()) out_.argument("wait_place").raw(place);
        }
        out_.end_event();
    }

    void put_flow(const ChromeFlow& flow) {
        const Arrow& arrow = solution_.arrows[flow.arrow];
        const WaitReason reason = trace_.ops[arrow.wait].reason;
        const auto put_end = [&](std::string_view phase, ChromeRow row, Moment moment) {
            out_.begin_event(phase, row, moment);
            out_.begin_title(arrow.held_up ? "\"held up\"" : "\"wait\"", "wait");
            if (reason != WaitReason::user) out_.raw(",").raw(to_string(reason));
            out_.raw("\",\"id\":").number(std::uint64_t{flow.arrow} + 1);
        };
        put_end("s", flow.from, flow.from_moment);
        out_.raw("}");
        put_end("f", flow.to, flow.to_moment);
        out_.raw(",\"bp\":\"e\"}");
    }

    void put_more_categories(const TraceOp& op) {
        if (op.collective != 0 && op.kind != OpKind::collective) out_.raw(",collective");
        if (op.reason == WaitReason::pipeline) out_.raw(",pipeline");
        if (op.kind == OpKind::dropped) out_.raw(",dropped");
        out_.end_title();
    }
    void put_source(TraceIndex file, std::uint32_t line) {
        const std::string& place = text_.place(file, line);
        if (!place.empty()) out_.argument("place").raw(place);
    }
    void put_identity(const TraceOp& op) {
        out_.count("op", op.id);
        put_source(op.file, op.line);
        out_.count("position", op.position);
    }
    void put_common(const TraceOp& op) {
        if (op.reason != WaitReason::user) out_.word("reason", to_string(op.reason));
        out_.count("bytes", op.bytes);
        out_.count("event", op.event);
        if (op.event != 0) out_.count("record", op.generation);
    }
    /// Writes an argument that is a list. Writes nothing for an empty list.
    template <class PutOne> void put_list(std::string_view name, std::size_t count, PutOne put) {
        if (count == 0) return;
        out_.argument(name).raw("[");
        for (std::size_t i = 0; i < count; ++i) {
            if (i != 0) out_.raw(",");
            put(i);
        }
        out_.raw("]");
    }
    void put_accesses(std::uint32_t first, std::uint32_t count) {
        put_list("accesses", std::min(count, most_accesses_shown), [&](std::size_t i) {
            out_.raw(text_.access(first + static_cast<TraceIndex>(i)));
        });
        if (count > most_accesses_shown) out_.count("more_accesses", count - most_accesses_shown);
    }

    const Trace& trace_;
    const Solution& solution_;
    const std::vector<HostSlice> host_;
    const ChromeRows rows_;
    const ChromeFlows flows_;
    const std::vector<bool> abandoned_;  ///< by operation: whether its batch was abandoned
    const Moment origin_;
    ChromeText text_;
    ChromeOut out_;
};

}  // namespace

void write_chrome_json(std::ostream& to, const Trace& trace, const Solution& solution) {
    ChromeJson(to, trace, solution).write();
}

}  // namespace heddle::detail
