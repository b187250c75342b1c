#pragma once

// A progress bar on standard error.

#include <chrono>
#include <cstdint>
#include <string>

namespace heddle::tool {

/// Draws one line, and rewrites it about ten times a second. The destructor erases the line. Draws
/// nothing unless `shown` is true.
class ProgressBar {
public:
    ProgressBar(bool shown, std::string label, std::uint64_t total_bytes);
    ~ProgressBar();
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    void update(std::uint64_t bytes_done);

private:
    using Clock = std::chrono::steady_clock;
    bool shown_;
    bool drawn_ = false;
    std::string label_;
    std::uint64_t total_;
    Clock::time_point start_ = Clock::now();
    Clock::time_point next_;
};

/// Returns whether standard error is a terminal on which a line can be overwritten.
bool stderr_is_terminal();

}  // namespace heddle::tool
