#include "watch/watcher.hpp"

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <optional>
#include <string_view>
#include <sys/syscall.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include "core/base/clock.hpp"
#include "core/base/errors.hpp"
#include "core/base/format.hpp"
#include "core/base/signals_blocked.hpp"
#include "watch/report.hpp"
#include "watch/stacks.hpp"
#include "watch/words.hpp"

namespace heddle::detail {

namespace {

/// Returns the limit in ns. A larger limit is reduced to the longest representable time.
std::int64_t limit_ns(const WatchOptions& options) noexcept {
    using std::chrono::nanoseconds, std::chrono::milliseconds;
    constexpr auto longest = std::chrono::duration_cast<milliseconds>(nanoseconds::max());
    return nanoseconds(std::min(options.limit, longest)).count();
}

/// Returns the pause between looks, in ns. It is short, so that a report follows soon after the
/// limit.
std::int64_t pause_ns(const WatchOptions& options) noexcept {
    const std::int64_t limit = limit_ns(options);
    if (limit == 0) return 250'000'000;
    return std::clamp<std::int64_t>(limit / 8, 10'000'000, 250'000'000);
}

/// Appends a device's name. Writes "and" between names.
void add_device(std::string& to, const std::string& name) {
    to += (to.empty() ? "" : " and ") + name;
}

}  // namespace

void Watcher::start(WatchOptions options, const SourceLocation& where) {
    auto made = std::make_shared<const WatchOptions>(std::move(options));
    const std::lock_guard lock(mutex_);
    options_ = std::move(made);
    wake();
    if (has_thread_) return;
    prepare_stacks();
    try {
        const SignalsBlocked blocked;
        std::thread thread([this] { run(); });
        pthread_setname_np(thread.native_handle(), "heddle-watch");
        thread.detach();
        has_thread_ = true;
    } catch (const std::system_error& failure) {
        options_ = nullptr;
        coded_error(
            ErrorCode::native,
            ErrorSite("pthread_create", where).with_native(failure.code().value(), failure.what()),
            "the watching thread cannot be started");
    }
}

void Watcher::stop() noexcept {
    const std::lock_guard lock(mutex_);
    options_ = nullptr;
    wake();
}

Watcher::Options Watcher::options() noexcept {
    const std::lock_guard lock(mutex_);
    return options_;
}

void Watcher::wake() noexcept {
    calls_.fetch_add(1);
    syscall(SYS_futex, &calls_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void Watcher::sleep(std::int64_t ns) noexcept {
    const std::uint32_t seen = calls_.load();
    if (is_asked_.load()) return;
    if (DecisionClock* const clock = DecisionClock::current()) return clock->wait(calls_, seen, ns);
    const timespec limit{ns / 1'000'000'000, ns % 1'000'000'000};
    syscall(SYS_futex, &calls_, FUTEX_WAIT_PRIVATE, seen, &limit, nullptr, 0);
}

void Watcher::ask() noexcept {
    is_asked_.store(true);
    wake();
}

void Watcher::ask_at_end() noexcept {
    constexpr std::int64_t patience = 2'000'000'000, pause = 1'000'000;
    is_at_end_.store(true);
    ask();
    // Uses a clock instead of counting pauses, because on a busy machine a pause takes far longer.
    const std::int64_t until = decision_ns() + patience;
    while (!has_written_end_.load() && decision_ns() < until) decision_pause(pause);
}

void Watcher::run() noexcept {
    for (;;) {
        const Options now = options();
        if (now == nullptr) {
            // Drops a request from before stop(). Keeps a request from after a new start().
            if (is_asked_.exchange(false) && options() != nullptr) is_asked_.store(true);
            else sleep(1'000'000'000);
            continue;
        }
        try {
            look(*now);
        } catch (...) {
            // Ignores that memory is exhausted, because the next look may succeed.
        }
        sleep(pause_ns(*now));
    }
}

void Watcher::look(const WatchOptions& options) {
    progress_.look(pause_ns(options));
    if (is_asked_.exchange(false)) {
        const bool is_end = is_at_end_.load();
        // Reads the options again, because they must be at least as new as the request.
        const Options newest = this->options();
        if (newest == nullptr) return;
        report(*newest, is_end ? "heddle: std::terminate() was called" : "heddle: pending work",
               true, is_end);
        if (is_end) has_written_end_.store(true);
        return;
    }
    if (options.limit.count() == 0) return;
    if (const std::string line = headline(options); !line.empty())
        report(options, line, false, false);
}

std::string Watcher::headline(const WatchOptions& options) {
    const std::int64_t limit = limit_ns(options);
    std::optional<Snapshot> picture;
    const auto seen = [&]() -> const Snapshot& {
        if (!picture) picture = take_snapshot(&progress_);
        return *picture;
    };
    std::string devices;
    std::int64_t longest = 0;
    for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::cuda})
        for (int i = 0; i < max_devices; ++i) {
            const Device device = Access::device(kind, i);
            const std::int64_t still = progress_.still_ns(device);
            if (still < limit || !is_stuck(seen(), device, limit)) continue;
            add_device(devices, device.name());
            longest = std::max(longest, still);
        }
    if (!devices.empty())
        return formatted("heddle: nothing has completed on {} for {}", devices,
                         time_words(longest));
    for (const ThreadActivity::Seen& one : ThreadActivity::all()) {
        if (!one.waits() || progress_.waits_ns(one.thread, one.wait_serial) < limit) continue;
        const auto at =
            std::ranges::find(seen().threads, one.thread, &ThreadActivity::Seen::thread);
        const auto index = static_cast<std::size_t>(at - seen().threads.begin());
        if (at != seen().threads.end() && is_stuck(seen(), index, limit))
            return formatted("heddle: thread {} has waited for {}", one.number,
                             time_words(seen().waits_ns[index]));
    }
    return {};
}

void Watcher::report(const WatchOptions& options, const std::string& headline, bool is_asked,
                     bool is_end) {
    const std::int64_t limit = limit_ns(options);
    // Even in a requested report, work that has only just begun is not a cause.
    constexpr std::int64_t least_asked = 100'000'000;
    const std::int64_t least = is_asked ? std::min(limit, least_asked) : limit;
    const Snapshot picture = take_snapshot(&progress_, is_end);
    const std::vector<StuckCause> causes = find_causes(picture, least);
    if (!is_asked) {
        constexpr std::int64_t between = 1'000'000'000;
        std::string signature = signature_of(picture, causes, limit);
        const std::int64_t now = decision_ns();
        if (signature == last_ || (last_ns_ != 0 && now - last_ns_ < std::min(limit, between)))
            return;
        last_ = std::move(signature);
        last_ns_ = now;
    }
    PendingWork work = describe(picture, causes);
    bool has_threads = false;
    for (std::size_t i = 0; i < causes.size() && !is_end; ++i) {
        if (causes[i].thread == 0) continue;
        has_threads = true;
        work.causes[i].thread = name_of_thread(causes[i].thread);
        // Reads stacks only on request, because the signal interrupts blocking calls such as
        // poll().
        if (is_asked) work.causes[i].stack = stack_of(causes[i].thread);
    }
    std::string text = headline + "\n";
    if (!is_end && work.is_empty()) text += "  nothing is pending\n";
    text += to_string(work, true);
    if (has_threads && !is_asked && options.on_signal && has_stacks())
        text += formatted("  to print stacks: kill -QUIT {}\n", getpid());
    if (options.on_report && !is_end) options.on_report(work, text);
    else write(options, text);
}

void Watcher::write(const WatchOptions& options, const std::string& text) noexcept {
    int to = STDERR_FILENO;
    if (!options.file.empty()) {
        const int start = has_file_ ? O_APPEND : O_TRUNC;
        to = open(options.file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | start, 0666);
        if (to < 0) to = STDERR_FILENO;
        else has_file_ = true;
    }
    for (std::string_view rest = text; !rest.empty();) {
        const auto written = ::write(to, rest.data(), rest.size());
        if (written <= 0) break;
        rest.remove_prefix(static_cast<std::size_t>(written));
    }
    if (to != STDERR_FILENO) close(to);
}

}  // namespace heddle::detail
