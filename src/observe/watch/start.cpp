// Implements watch(), what_is_pending() and HEDDLE_WATCH. Handles the signal, std::terminate() and
// fork().
#include <heddle/observe/watch.hpp>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "core/base/errors.hpp"
#include "core/base/file_name.hpp"
#include "core/base/fork.hpp"
#include "core/base/report.hpp"
#include "core/operation/observers.hpp"
#include "core/operation/start.hpp"
#include "start.hpp"
#include "watch/report.hpp"
#include "watch/stacks.hpp"
#include "watch/watcher.hpp"

namespace heddle {

namespace detail {

namespace {

constinit std::mutex mutex;
const ForkRegistration watch_registered{ForkOrder::watch, mutex};
/// Null until this process starts watching. The watcher is never destroyed.
constinit std::atomic<Watcher*> watcher{nullptr};
// Guarded by the mutex. The object is never destroyed.
WatchOptions* wanted = nullptr;  ///< the file's name still contains `%p`; null if not watching
/// True if the parent process set the options before it forked this process.
constinit bool is_inherited = false;
constinit bool has_handlers = false;
constinit std::terminate_handler next_terminate = nullptr;

extern "C" void heddle_answer_quit(int) {
    const int error = errno;
    if (Watcher* const running = watcher.load()) running->ask();
    errno = error;
}

/// Restores the default action of SIGQUIT, if heddle's handler is installed.
void leave_signal() noexcept {
    struct sigaction now {};
    if (sigaction(SIGQUIT, nullptr, &now) == 0 && now.sa_handler == &heddle_answer_quit)
        (void)std::signal(SIGQUIT, SIG_DFL);
}

void at_terminate() {
    if (Watcher* const running = watcher.load(); running != nullptr && has_watch())
        running->ask_at_end();
    if (next_terminate != nullptr) next_terminate();
    std::abort();
}

/// Returns the file of this process's reports. A forked process never uses its parent's file.
std::string report_file(const std::string& wanted_file) {
    std::string name = name_for_process(wanted_file);
    if (is_inherited && name == wanted_file) name += "." + std::to_string(getpid());
    return std::filesystem::absolute(name).string();
}

/// Starts watching with the current options. Call with the mutex held.
void start_watching(const SourceLocation& where) {
    WatchOptions options = *wanted;
    if (!options.file.empty()) options.file = report_file(options.file);
    Watcher* running = watcher.load();
    if (running == nullptr) watcher.store(running = new Watcher);
    running->start(std::move(options), where);
    want_flights(true);
    if (wanted->on_signal) (void)take_unused_signal(SIGQUIT, &heddle_answer_quit);
    else leave_signal();
    if (!std::exchange(has_handlers, true)) next_terminate = std::set_terminate(&at_terminate);
}

/// Continues the parent's watch in this process.
void continue_watch() noexcept {
    try {
        const std::lock_guard lock(mutex);
        if (interrupted_watch.exchange(nullptr) != nullptr) start_watching({});
    } catch (...) {
        report(std::current_exception());
    }
}

/// Forgets the parent's watcher, because a forked child has no watching thread. The child's first
/// stream starts one: a fork handler must not create threads.
void forget_watcher() noexcept {
    if (watcher.exchange(nullptr) == nullptr || wanted == nullptr) return;
    is_inherited = true;
    interrupted_watch.store(&continue_watch);
}
const ForkStepRegistration watch_in_children{ForkStep::watch, &forget_watcher};

/// Parses "10s", "500ms", "2m" or "10". Returns -1 for any other text. A time that is
/// too large becomes the largest representable time.
std::int64_t read_limit_ms(std::string_view text) {
    constexpr std::int64_t most = std::chrono::milliseconds::max().count();
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc::result_out_of_range && !text.starts_with('-')) number = most;
    else if (error != std::errc{} || number < 0) return -1;
    const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
    std::int64_t unit_ms = 0;
    if (unit.empty() || unit == "s") unit_ms = 1000;
    else if (unit == "m") unit_ms = 60'000;
    else if (unit == "ms") unit_ms = 1;
    else return -1;
    return number > most / unit_ms ? most : number * unit_ms;
}

WatchOptions read_options(std::string_view text, const ErrorSite& site) {
    WatchOptions options;
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::int64_t limit = read_limit_ms(text.substr(0, comma));
    if (limit < 0)
        usage_error(site,
                    "'{}' is not a time: write 10s, 500ms or 2m, or 0 for reports on request; "
                    "nothing is watched",
                    text.substr(0, comma));
    options.limit = std::chrono::milliseconds(limit);
    text.remove_prefix(std::min(comma + 1, text.size()));
    constexpr std::string_view file = "file=";
    if (text.empty()) return options;
    if (!text.starts_with(file) || text.size() == file.size())
        usage_error(
            site,
            "'{}' is not an option: write file=NAME after the time and a comma; nothing is watched",
            text);
    options.file = text.substr(file.size());
    const std::filesystem::path folder = std::filesystem::path(options.file).parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder))
        usage_error(site,
                    "folder \"{}\" does not exist, so nothing is watched: create it, or name a "
                    "file in an existing folder",
                    folder.string());
    return options;
}

}  // namespace

void start_watch(std::string_view text) {
    watch(read_options(text, ErrorSite("HEDDLE_WATCH", {})), SourceLocation{});
}

}  // namespace detail

void watch(WatchOptions options, Where where) try {
    if (options.limit.count() < 0)
        detail::usage_error({"watch", where},
                            "the limit is negative: pass 0 (for reports on request only) or more");
    const std::lock_guard lock(detail::mutex);
    auto made = std::make_unique<WatchOptions>(std::move(options));
    if (detail::wanted == nullptr || detail::wanted->file != made->file)
        detail::is_inherited = false;
    delete std::exchange(detail::wanted, made.release());
    detail::interrupted_watch.store(nullptr);
    detail::start_watching(where);
} catch (...) {
    detail::rethrow_as_error("watch", where);
}

void end_watch() noexcept {
    const std::lock_guard lock(detail::mutex);
    delete std::exchange(detail::wanted, nullptr);
    detail::interrupted_watch.store(nullptr);
    detail::want_flights(false);
    if (detail::Watcher* const running = detail::watcher.load()) running->stop();
    detail::leave_signal();
}

PendingWork what_is_pending(Where where) try {
    detail::Watcher* const running = detail::watcher.load();
    const detail::Snapshot picture =
        detail::take_snapshot(running != nullptr ? &running->progress() : nullptr);
    return detail::describe(picture, detail::find_causes(picture, 0));
} catch (...) {
    detail::rethrow_as_error("what_is_pending", where);
}

}  // namespace heddle
