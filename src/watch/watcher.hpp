// The watching thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include <heddle/observe/watch.hpp>

#include "watch/picture.hpp"
#include "watch/progress.hpp"

namespace heddle::detail {

/// Watches the process. Never destroyed; the child of a fork makes another one.
class Watcher {
public:
    /// Begins, or goes on with other options. Throws NativeError.
    void start(WatchOptions options, const SourceLocation& where);
    void stop() noexcept;
    /// Wakes the thread for a report. Async-signal-safe.
    void ask() noexcept;
    /// The same before the process ends: waits until the report is written, for 2 seconds at most.
    /// Async-signal-safe.
    void ask_at_end() noexcept;

    Progress& progress() noexcept { return progress_; }

private:
    using Options = std::shared_ptr<const WatchOptions>;
    void run() noexcept;
    void look(const WatchOptions& options);
    /// Returns the first line if it is time for a report, else an empty one.
    std::string headline(const WatchOptions& options);
    void report(const WatchOptions& options, const std::string& headline, bool is_asked,
                bool is_end);
    void write(const WatchOptions& options, const std::string& text) noexcept;
    Options options() noexcept;
    void sleep(std::int64_t ns) noexcept;
    void wake() noexcept;

    std::mutex mutex_;  ///< guards options_; held for moments
    Options options_;
    bool has_thread_ = false;              ///< guarded by the mutex
    std::atomic<std::uint32_t> calls_{0};  ///< a futex: changes wake the thread
    std::atomic<bool> is_asked_{false}, is_at_end_{false}, has_written_end_{false};
    // Of the thread alone:
    Progress progress_;
    std::string last_;  ///< the signature of the last report
    std::int64_t last_ns_ = 0;
    bool has_file_ = false;  ///< something was written to it
};

}  // namespace heddle::detail
