#include "timeline_command.hpp"

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <heddle/error.hpp>
#include <heddle/observe/timeline_files.hpp>

#include "text.hpp"

namespace heddle::tool {
namespace {

struct CommandLine {
    std::string trace;
    std::string html, svg, json, part;  ///< files to write; "" to write none
    std::string from, to;
    bool summary = false;

    std::vector<std::string> outputs() const {
        std::vector<std::string> named;
        for (const std::string& file : {html, svg, json, part})
            if (!file.empty()) named.push_back(file);
        return named;
    }
};

/// Parses a time. Also accepts the form of the summary and the page, for example "12.3 µs".
std::optional<std::chrono::nanoseconds> time_of(std::string text) {
    if (const std::size_t space = text.find(' '); space != std::string::npos) text.erase(space, 1);
    if (const std::size_t micro = text.find("\xc2\xb5"); micro != std::string::npos)
        text.replace(micro, 2, "u");
    return parse_time(text);
}

std::string check_time(const std::string& text) {
    if (time_of(text)) return {};
    const bool has_unit = !text.empty() && (text.back() < '0' || text.back() > '9');
    return fmt::format("\"{}\" {}: write 10ms, 1.5s, 250us or 800ns", text,
                       has_unit ? "is not a time" : "has no unit");
}

int run(const CommandLine& line) {
    timeline::ConvertOptions stretch;
    if (!line.from.empty()) stretch.from = time_of(line.from);
    if (!line.to.empty()) stretch.to = time_of(line.to);
    if (stretch.from && stretch.to && *stretch.from > *stretch.to) {
        fmt::print(stderr, "heddle: timeline: --from {} is after --to {}: pass an earlier --from\n",
                   line.from, line.to);
        return 2;
    }
    const std::vector<std::string> outputs = line.outputs();
    int status = 0;
    try {
        for (const std::string& output : outputs) timeline::convert(line.trace, output, stretch);
        // output_written() detects lost output at the end.
        if (line.summary || outputs.empty())
            std::fputs(timeline::summary(line.trace, stretch).c_str(), stdout);
    } catch (const Error& error) {
        std::fflush(stdout);
        fmt::print(stderr, "heddle: timeline: {}\n", one_line(error.info().message));
        status = 1;
    }
    if (!output_written() && status == 0) status = 1;
    return status;
}

}  // namespace

std::string check_name(std::string_view file, std::span<const std::string_view> ends) {
    std::string all;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        if (file.ends_with(ends[i]) && file.size() > ends[i].size()) return {};
        all += i == 0 ? "" : i + 1 == ends.size() ? " or " : ", ";
        all += ends[i];
    }
    return fmt::format("the name \"{}\" must end in {}", file, all);
}

void add_timeline_command(CLI::App& app, int& status) {
    auto line = std::make_shared<CommandLine>();
    CLI::App* command = app.add_subcommand("timeline", "Show what a recorded program did when");
    command->footer("A program records its timeline if HEDDLE_TIMELINE=run.trace is in its "
                    "environment. Without an\n"
                    "option, the summary is printed.\n\n"
                    "Times have a unit (10ms, 1.5s, 250us, 800ns) and count from the beginning of "
                    "the recording,\n"
                    "as on the page.\n\n"
                    "Exit status: 0; 1 if a file could not be read or written, or nothing happened "
                    "between --from\n"
                    "and --to; 2 for wrong usage.");
    command->add_option("TRACE", line->trace, "A recorded trace")->required()->type_name("");
    const auto add_output = [&](const char* name, std::string& file, std::string_view end,
                                const char* description) {
        command->add_option(name, file, description)
            ->type_name("FILE")
            ->check([end](const std::string& named) { return check_name(named, {&end, 1}); });
    };
    add_output("--html", line->html, ".html", "Write a page that shows the timeline, in one file");
    add_output("--svg", line->svg, ".svg", "Write a still picture");
    add_output("--json", line->json, ".json",
               "Write Chrome's trace format, for ui.perfetto.dev and chrome://tracing");
    add_output("--trace", line->part, ".trace", "Write the selected interval as a trace");
    command->add_flag("--summary", line->summary,
                      "Print where the time went, and the longest waits");
    const auto add_time = [&](const char* name, std::string& time, const char* description) {
        command->add_option(name, time, description)->type_name("TIME")->check(check_time);
    };
    add_time("--from", line->from, "Omit work that ended before this time");
    add_time("--to", line->to, "Omit work that began after this time");
    command->callback([line, &status] { status = run(*line); });
}

}  // namespace heddle::tool
