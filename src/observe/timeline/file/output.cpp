#include "timeline/file/output.hpp"

#include <algorithm>
#include <ostream>
#include <string_view>
#include <utility>

#include "timeline/file/chrome_json.hpp"
#include "timeline/file/cut.hpp"
#include "timeline/file/new_file.hpp"
#include "timeline/file/trace_file.hpp"
#include "timeline/page/page.hpp"
#include "timeline/page/svg.hpp"
#include "timeline/solve/solution.hpp"
#include "timeline/solve/words.hpp"

namespace heddle::detail {

namespace {

constexpr std::string_view part_note =
    "This is a part of a recording: work before and after this part is omitted.";

[[noreturn]] void throw_empty(const Trace& trace, const Stretch& stretch, const ErrorSite& site) {
    const Stretch all;
    usage_error(site, "the recording has no work from {} to {}: select times between {} and {}",
                duration_text(stretch.from == all.from ? trace.begin : stretch.from),
                duration_text(stretch.to == all.to ? trace.end : stretch.to),
                duration_text(trace.begin), duration_text(trace.end));
}

/// Draws a stretch of the trace, but solves the whole trace, so that the gaps at the picture's
/// edges have their reasons.
void write_svg_of(std::ostream& to, const Trace& trace, const Stretch& stretch,
                  const ErrorSite& site) {
    const Solution solution = solve(trace);
    SvgOptions options;
    if (!stretch.is_all()) {
        if (stretch.to < solution.begin || stretch.from > solution.end)
            throw_empty(trace, stretch, site);
        options.from = std::max(stretch.from, solution.begin);
        options.to = std::max(std::min(stretch.to, solution.end), options.from + 1);
    }
    write_svg(to, trace, solution, options);
}

}  // namespace

OutputFormat format_of(const std::string& path, const ErrorSite& site) {
    const auto ends_with = [&](std::string_view extension) { return path.ends_with(extension); };
    if (ends_with(".html")) return OutputFormat::html;
    if (ends_with(".json")) return OutputFormat::json;
    if (ends_with(".svg")) return OutputFormat::svg;
    if (ends_with(".trace")) return OutputFormat::trace;
    usage_error(site, "\"{}\" has no known extension: use .html, .svg, .json or .trace", path);
}

void cut_to(Trace& trace, const Stretch& stretch, const ErrorSite& site) {
    if (stretch.is_all()) return;
    Trace part = cut(trace, stretch.from, stretch.to);
    if (part.ops.empty() && part.ranges.empty()) throw_empty(trace, stretch, site);
    trace = std::move(part);
    if (std::ranges::find(trace.notes, part_note) == trace.notes.end())
        trace.notes.emplace_back(part_note);
}

void write_output(Trace trace, const Stretch& stretch, const std::string& path,
                  const ErrorSite& site) {
    const OutputFormat format = format_of(path, site);
    NewFile file(path, site);
    if (format != OutputFormat::svg) cut_to(trace, stretch, site);
    switch (format) {
    case OutputFormat::html: write_page(file.stream(), trace, solve(trace)); break;
    case OutputFormat::json: write_chrome_json(file.stream(), trace, solve(trace)); break;
    case OutputFormat::svg: write_svg_of(file.stream(), trace, stretch, site); break;
    case OutputFormat::trace: write_trace(file.stream(), trace); break;
    }
    file.keep();
}

}  // namespace heddle::detail
