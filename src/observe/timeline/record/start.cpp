// Starts the recording that HEDDLE_TIMELINE requests, and writes it when the program ends.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <heddle/observe/timeline.hpp>

#include "core/base/environment.hpp"
#include "core/base/errors.hpp"
#include "core/base/file_name.hpp"
#include "core/base/fork.hpp"
#include "core/base/report.hpp"
#include "start.hpp"
#include "timeline/file/output.hpp"
#include "timeline/file/run_file.hpp"
#include "timeline/record/end_writer.hpp"

namespace heddle::detail {

namespace {

/// The value of HEDDLE_TIMELINE: a file, and then options, separated by commas.
struct Wish {
    std::string file;
    timeline::RecordingOptions options;
};

std::size_t number_in(std::string_view text, const ErrorSite& site) {
    std::size_t used = 0;
    std::size_t number = 0;
    try {
        number = std::stoull(std::string(text), &used);
    } catch (const std::exception&) {  // start() reports this error
    }
    const bool is_number = text.find_first_not_of("0123456789") == std::string_view::npos;
    if (!is_number || used == 0 || used != text.size() || number == 0)
        usage_error(
            site,
            "'limit={}' is not a number of operations: write limit=1000000; nothing is recorded",
            text);
    return number;
}

Wish read(std::string_view text, const ErrorSite& site) {
    Wish wish;
    bool is_first = true;
    while (!text.empty() || is_first) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view part = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        if (std::exchange(is_first, false)) wish.file = part;
        else if (part == "no-accesses") wish.options.accesses = false;
        else if (part == "events") wish.options.gpu_times = timeline::GpuTimes::events;
        else if (part == "cupti") wish.options.gpu_times = timeline::GpuTimes::cupti;
        else if (part.substr(0, 6) == "limit=")
            wish.options.limit = number_in(part.substr(6), site);
        else
            usage_error(site,
                        "'{}' is not an option: write limit=NUMBER, no-accesses, events or cupti "
                        "after the file, separated by commas; nothing is recorded",
                        part);
    }
    format_of(wish.file, site);
    const std::filesystem::path folder = std::filesystem::path(wish.file).parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder))
        usage_error(site,
                    "folder \"{}\" does not exist, so nothing is recorded: create it, or name a "
                    "file in an existing folder",
                    folder.string());
    return wish;
}

/// Never destroyed: threads may enqueue until the process ends.
timeline::Recording* recording = nullptr;
std::string file;
std::string own_file;      ///< the file's first name, until it is renamed to `file`
bool is_own_file = false;  ///< whether the name `file` itself contains the process's number
int process = 0;
constinit std::atomic<bool> is_written{false};

/// Writes the file once. Does nothing in a forked child: only the recorded process writes.
void write_recording() {
    if (forks() != process || is_written.exchange(true)) return;
    // A symbolic link is accepted. Anything else that is not a regular file is rejected.
    std::error_code none;
    const auto status = std::filesystem::symlink_status(file, none);
    const bool is_special = std::filesystem::exists(status) && !is_regular_file(status);
    if (is_own_file || is_special) return recording->write(file, SourceLocation{});
    recording->write(own_file, SourceLocation{});
    (void)take_file_name(own_file, file);
}

void write_at_exit() noexcept {
    if (forks() != process) return;
    if (!is_written.load()) recording->stop();
    try {
        write_recording();
    } catch (...) {
        report(std::current_exception());
    }
}

}  // namespace

void start_timeline(std::string_view text) {
    const ErrorSite site("HEDDLE_TIMELINE", {});
    const Wish wish = read(text, site);
    auto made = std::make_unique<timeline::Recording>(wish.options, SourceLocation{});
    const std::string name = name_for_process(wish.file);
    is_own_file = name != wish.file;
    // An absolute path, because the program may change its working folder.
    file = std::filesystem::absolute(name).string();
    own_file = process_file(file);
    process = forks();
    recording = made.release();
    (void)std::atexit(&write_at_exit);
    write_at_bad_end(&write_recording);
}

}  // namespace heddle::detail
