#include "timeline_command.hpp"

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <heddle/error.hpp>
#include <heddle/timeline.hpp>

#include "text.hpp"

namespace heddle::tool {
namespace {

struct CommandLine {
    std::string trace;
    std::string html, svg, json, part;  ///< files to write; "" for none
    std::string from, to;
    bool summary = false;

    std::vector<std::string> outputs() const {
        std::vector<std::string> named;
        for (const std::string& file : {html, svg, json, part})
            if (!file.empty()) named.push_back(file);
        return named;
    }
};

std::string check_time(const std::string& text) {
    if (parse_time(text)) return {};
    const bool has_unit = !text.empty() && (text.back() < '0' || text.back() > '9');
    return fmt::format("\"{}\" {}; write 10ms, 1.5s, 250us or 800ns", text,
                       has_unit ? "is not a time" : "has no unit");
}

/// Returns a check that a file's name ends in `extension`: the library goes by it.
auto ends_in(std::string_view extension) {
    return [extension](const std::string& file) {
        if (file.ends_with(extension) && file.size() > extension.size()) return std::string();
        return fmt::format("the name \"{}\" must end in {}", file, extension);
    };
}

int run(const CommandLine& line) {
    timeline::ConvertOptions stretch;
    if (!line.from.empty()) stretch.from = parse_time(line.from);
    if (!line.to.empty()) stretch.to = parse_time(line.to);
    if (stretch.from && stretch.to && *stretch.from > *stretch.to) {
        fmt::print(stderr, "heddle: timeline: --from {} is after --to {}\n", line.from, line.to);
        return 2;
    }
    const std::vector<std::string> outputs = line.outputs();
    int status = 0;
    try {
        for (const std::string& output : outputs) timeline::convert(line.trace, output, stretch);
        // Lost output is detected at the end.
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
    const auto add_output = [&](const char* name, std::string& file, const char* extension,
                                const char* description) {
        command->add_option(name, file, description)->type_name("FILE")->check(ends_in(extension));
    };
    add_output("--html", line->html, ".html", "Write a page that shows the timeline, in one file");
    add_output("--svg", line->svg, ".svg", "Write a still picture");
    add_output("--json", line->json, ".json",
               "Write Chrome's trace format, for ui.perfetto.dev and chrome://tracing");
    add_output("--trace", line->part, ".trace", "Write the stretch as a trace again");
    command->add_flag("--summary", line->summary,
                      "Print where the time went, and the longest waits");
    command->add_option("--from", line->from, "Leave out what ended before this time")
        ->type_name("TIME")
        ->check(check_time);
    command->add_option("--to", line->to, "Leave out what began after this time")
        ->type_name("TIME")
        ->check(check_time);
    command->callback([line, &status] { status = run(*line); });
}

}  // namespace heddle::tool
