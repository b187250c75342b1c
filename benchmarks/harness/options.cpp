#include "harness/options.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <CLI/CLI.hpp>

namespace bench {
namespace {

/// Checks that `text` is a number > 0. Returns the error, or an empty string.
std::string check_positive(const std::string& text) {
    char* end = nullptr;  // libc++ has no from_chars() for floating point
    const double value = std::strtod(text.c_str(), &end);
    if (end != text.c_str() && *end == '\0' && value > 0) return {};
    return "takes a number > 0, not \"" + text + '"';
}

void add_options(CLI::App& app, Options& options) {
    app.set_help_flag("--help", "Print this help and exit");
    app.add_flag("--quick", options.quick, "A smoke test: the figures mean nothing");
    app.add_option("--json", options.json, "Write the rows to FILE as JSON, too")
        ->type_name("FILE");
    app.add_option("--only", options.only, "Only the rows whose name has TEXT")->type_name("TEXT");
    app.add_option("--device", options.device,
                   "cpu, cuda or, with a number, cuda:1 (default: the first of each kind)")
        ->type_name("NAME");
    app.add_option("--limit", options.limit_s,
                   "For one row (default: 120); a program that takes longer is ended")
        ->type_name("SECONDS")
        ->check(check_positive);
    app.add_option("--time", options.time,
                   "Rows take that share of their time, with fewer batches (default: 1)")
        ->type_name("FACTOR")
        ->check(check_positive);
    for (CLI::Option* option : app.get_options()) option->take_last();
    app.footer("Exit status: 0; 1 when a row failed or --only leaves out every row; 2 for wrong "
               "usage;\n124 when the time for a row is over.");
}

}  // namespace

Options parse_options(const std::string& program, int argc, char** argv) {
    Options options;
    CLI::App app("What heddle costs, beside what it replaces.", program);
    add_options(app, options);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& help) {
        std::exit(app.exit(help));
    } catch (const CLI::ParseError& error) {
        std::fprintf(stderr, "%s: %s (more: --help)\n", program.c_str(), error.what());
        std::exit(2);
    }
    // In nanoseconds, these times must fit in 64 bits.
    options.limit_s = std::min(options.limit_s, 1e9);
    options.time = std::min(options.time, 1e9);
    return options;
}

}  // namespace bench
