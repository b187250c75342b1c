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

/// Watches the process, on its own thread. Never destroyed. A forked child makes its own watcher.
class Watcher {
public:
    /// Starts watching. If it watches already, changes the options. Throws NativeError if the
    /// thread cannot be started.
    void start(WatchOptions options, const SourceLocation& where);
    void stop() noexcept;
    /// Requests a report. Async-signal-safe.
    void ask() noexcept;
    /// Requests the last report before the process ends. Waits until the report is written, but at
    /// most 2 seconds. Async-signal-safe.
    void ask_at_end() noexcept;

    Progress& progress() noexcept { return progress_; }

private:
    using Options = std::shared_ptr<const WatchOptions>;
    void run() noexcept;
    void look(const WatchOptions& options);
    /// Returns the first line of a report if one is due; otherwise an empty text.
    std::string headline(const WatchOptions& options);
    void report(const WatchOptions& options, const std::string& headline, bool is_asked,
                bool is_end);
    void write(const WatchOptions& options, const std::string& text) noexcept;
    Options options() noexcept;
    void sleep(std::int64_t ns) noexcept;
    void wake() noexcept;

    std::mutex mutex_;  ///< guards options_; held briefly
    Options options_;
    bool has_thread_ = false;              ///< guarded by the mutex
    std::atomic<std::uint32_t> calls_{0};  ///< a futex: each change wakes the thread
    std::atomic<bool> is_asked_{false}, is_at_end_{false}, has_written_end_{false};
    // Used only by the thread:
    Progress progress_;
    std::string last_;  ///< the signature of the last report
    std::int64_t last_ns_ = 0;
    bool has_file_ = false;  ///< whether the file has been written to
};

}  // namespace heddle::detail
