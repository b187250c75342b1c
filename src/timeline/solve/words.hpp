// Durations, shares, names, places and clocks as text for people: the one source of words for the
// summary, the picture and the page.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "timeline/trace.hpp"

namespace heddle::detail {

struct TimeUnit {
    const char* name;
    double ns;
};
/// Returns the units of time, the largest first.
std::span<const TimeUnit> time_units() noexcept;

/// Returns three digits and a unit: "850 ns", "1.23 µs", "12.3 ms", "4.00 s".
std::string duration_text(Moment ns);

/// Returns "61 %", below ten with a digit more: "0.4 %", "<0.1 %". "0 %" if `whole` is 0.
std::string share_text(Moment part, Moment whole);

/// Returns "1 call" or "14 calls".
std::string count_text(std::uint64_t count, std::string_view one, std::string_view many);

/// Returns how many columns a text takes.
std::size_t columns_of(std::string_view text) noexcept;

/// Shortens a text to so many columns, at least 4: "long na...", or "...ng name" to keep its end.
/// Control characters become spaces.
std::string fit(std::string_view text, std::size_t columns);
std::string fit_end(std::string_view text, std::size_t columns);

/// Returns what ran: "Hash" for a kernel, "copy host to device".
std::string name_text(const Trace& trace, const TraceOp& op);

/// Returns "/home/user/src/stream.cpp:88", or "(place unknown)".
std::string full_place_text(const Trace& trace, TraceIndex file, std::uint32_t line);

/// Returns "src/stream.cpp:88", the file with the folder that it is in; without that if there is no
/// room for it in so many columns.
std::string place_text(const Trace& trace, const TraceOp& op, std::size_t columns = 60);

/// Returns the name of a stream or a thread: one that does not exist is "?".
std::string stream_text(const Trace& trace, TraceIndex stream);
std::string thread_text(const Trace& trace, TraceIndex thread);

/// Returns "cuda:0".
std::string device_text(const TraceDevice& device);
/// Returns where the times of a device come from: "times by CUPTI".
const char* clock_text(TraceClock clock) noexcept;
/// Returns how memory is used: "reads and writes".
const char* access_text(AccessMode mode) noexcept;

}  // namespace heddle::detail
