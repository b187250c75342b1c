#include "progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "text.hpp"

namespace heddle::tool {
namespace {

constexpr std::chrono::milliseconds period{100};
constexpr std::size_t bar_width = 24;

std::size_t terminal_width() {
    winsize size{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

bool stderr_is_terminal() {
    const char* const terminal = std::getenv("TERM");
    return isatty(STDERR_FILENO) == 1 &&
           (terminal == nullptr || std::string_view(terminal) != "dumb");
}

ProgressBar::ProgressBar(bool shown, std::string label, std::uint64_t total_bytes)
    : shown_(shown), label_(one_line(label)), total_(total_bytes), next_(start_ + period) {}

ProgressBar::~ProgressBar() {
    if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::update(std::uint64_t bytes_done) {
    if (!shown_) return;
    const Clock::time_point now = Clock::now();
    if (now < next_) return;
    next_ = now + period;
    drawn_ = true;
    const double done = static_cast<double>(bytes_done);
    const double share = done / static_cast<double>(std::max<std::uint64_t>(total_, 1));
    const auto filled = static_cast<std::size_t>(share * static_cast<double>(bar_width));
    const double seconds = std::chrono::duration<double>(now - start_).count();
    std::string line =
        fmt::format("[{:<{}}] {:3.0f} %  {} of {}  {}/s  {}", std::string(filled, '#'), bar_width,
                    100 * share, rounded_bytes(done), rounded_bytes(static_cast<double>(total_)),
                    rounded_bytes(done / seconds), label_);
    line.resize(std::min(line.size(), terminal_width() - 1));
    fmt::print(stderr, "\r{}\x1b[K", line);
    std::fflush(stderr);
}

}  // namespace heddle::tool
