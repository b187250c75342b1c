// The functions of heddle::check, and the check that HEDDLE_CHECK starts.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <unistd.h>

#include <heddle/observe/check.hpp>

#include "check/checker.hpp"
#include "core/base/errors.hpp"
#include "core/base/fork.hpp"
#include "core/base/made_once.hpp"
#include "core/operation/start.hpp"
#include "core/stream/notify.hpp"
#include "start.hpp"

namespace heddle {

namespace detail {

namespace {

constinit std::mutex mutex;
/// Guarded by the mutex. Never destroyed, because threads may enqueue until the process ends.
constinit NeverDestroyed<std::shared_ptr<Checker>> running;
constinit std::atomic<bool> is_checking{false};  ///< whether `running` is set; no lock

std::shared_ptr<Checker> running_check() {
    const std::lock_guard lock(mutex);
    return running.get();
}

/// The process that started the newest check. A forked child checks nothing, and acquires no locks.
constinit std::atomic<int> checked_process{0};
constinit std::uint64_t begun = 0;  ///< the number of checks started; guarded by the mutex

KnownUses ask_of_host_use(const ToldUse& use) noexcept {
    if (forks() != checked_process.load(std::memory_order_relaxed)) {
        host_use_epoch = 0;
        return {};
    }
    const std::shared_ptr<Checker> checker = running_check();
    return checker != nullptr ? checker->host_use(use) : KnownUses{};
}

/// Registers the new check for uses by the host. Call with the mutex held.
void begin_host_uses() noexcept {
    checked_process = forks();
    host_use_function = &ask_of_host_use;
    host_use_epoch = ++begun << 40 | 1;
}

bool exits = false;
bool always_sums_up = false;
bool is_strict = false;
int process = 0;

void end_at_exit() noexcept {
    const std::shared_ptr<Checker> checker = running_check();
    if (checker == nullptr || forks() != process) return;
    checker->stop();
    const check::Summary found = checker->summary();
    const bool is_silent =
        found.certain == 0 && found.possible == 0 && found.faults == 0 && found.undeclared == 0;
    if (is_silent && !always_sums_up) return;
    std::fputs(summary_text(found, is_strict).c_str(), stderr);
    if (!exits || found.certain == 0) return;
    std::fflush(nullptr);
    _exit(status_of_races);
}

/// Parses HEDDLE_CHECK: words separated by commas. Throws UsageError if a word is unknown.
check::Options read_options(std::string_view text, const ErrorSite& site) {
    check::Options options;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        std::string_view word = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        const std::size_t first = std::min(word.find_first_not_of(' '), word.size());
        word.remove_prefix(first);
        word = word.substr(0, word.find_last_not_of(' ') + 1);
        if (word == "strict") options.strict = true;
        else if (word == "abort") options.abort = true;
        else if (word == "exit") exits = true;
        else if (word == "summary") always_sums_up = true;
        else if (word != "1")
            usage_error(site,
                        "'{}' is not an option of HEDDLE_CHECK: write 0, 1, or words from strict, "
                        "abort, exit and summary, separated by commas; nothing is checked",
                        word);
    }
    return options;
}

}  // namespace

void start_check(std::string_view text) {
    check::Options options;
    try {
        options = read_options(text, ErrorSite("HEDDLE_CHECK", {}));
    } catch (const UsageError& error) {
        end_if_check_decides(text, error);
        throw;
    }
    is_strict = options.strict;
    process = forks();
    check::start(options, SourceLocation{});
    (void)std::atexit(&end_at_exit);
}

}  // namespace detail

namespace check {

void start(Options options, Where where) try {
    const std::lock_guard lock(detail::mutex);
    std::shared_ptr<detail::Checker>& running = detail::running.get();
    if (running != nullptr)
        detail::usage_error({"check::start", where},
                            "a check is running already, started by check::start() or "
                            "HEDDLE_CHECK: call check::stop() first");
    running = std::make_shared<detail::Checker>(options);
    detail::is_checking = true;
    detail::begin_host_uses();
} catch (...) {
    detail::rethrow_as_error("check::start", where);
}

Summary stop() {
    std::shared_ptr<detail::Checker> ended;
    {
        const std::lock_guard lock(detail::mutex);
        ended.swap(detail::running.get());
        detail::is_checking = false;
        detail::host_use_epoch = 0;
    }
    if (ended == nullptr) return {};
    ended->stop();
    return ended->summary();
}

Summary summary() {
    const auto checker = detail::running_check();
    return checker != nullptr ? checker->summary() : Summary{};
}

void on_race(std::function<void(const Race&)> function) {
    detail::set_race_function(std::move(function));
}

void released(const void* key) {
    if (!detail::is_checking.load(std::memory_order_relaxed)) [[likely]]
        return;
    if (const auto checker = detail::running_check()) checker->released(key);
}

void acquired(const void* key, Where where) {
    if (!detail::is_checking.load(std::memory_order_relaxed)) [[likely]]
        return;
    if (const auto checker = detail::running_check()) checker->acquired(key, where);
}

void synchronized(StreamRef stream, Where where) {
    detail::HostWait wait("check::synchronized", detail::record_of(stream), where);
    wait.end();
}

void synchronized(Device device, Where where) {
    detail::HostWait wait("check::synchronized", device, where);
    wait.end();
}

}  // namespace check

}  // namespace heddle
