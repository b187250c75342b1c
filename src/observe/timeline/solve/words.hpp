// Texts of durations, shares, names, places and clocks, for the summary, the picture and the page.
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

/// Returns the time with three digits and a unit, for example "850 ns", "1.23 µs" or "12.3 ms".
std::string duration_text(Moment ns);

/// Returns a percentage, for example "61 %". Values below ten have one decimal: "0.4 %", "<0.1 %".
/// Returns "0 %" if `whole` is 0 or less.
std::string share_text(Moment part, Moment whole);

/// Returns the count with its noun, for example "1 call" or "14 calls".
std::string count_text(std::uint64_t count, std::string_view one, std::string_view many);

/// Returns the number of columns that a text takes.
std::size_t columns_of(std::string_view text) noexcept;

/// Shortens a text to `columns` columns, which must be at least 4. fit() keeps the start: "long
/// na...". fit_end() keeps the end: "...ng name". Control characters become spaces.
std::string fit(std::string_view text, std::size_t columns);
std::string fit_end(std::string_view text, std::size_t columns);

/// Names an operation, for example "Hash" for a kernel or "copy host to device" for a copy.
std::string name_text(const Trace& trace, const TraceOp& op);

/// Returns the full place, for example "/home/user/src/stream.cpp:88", or "(place unknown)".
std::string full_place_text(const Trace& trace, TraceIndex file, std::uint32_t line);

/// Returns the place with one folder, for example "src/stream.cpp:88". Leaves out the folder if the
/// text would exceed `columns`.
std::string place_text(const Trace& trace, const TraceOp& op, std::size_t columns = 60);

/// Return the name of a stream or a thread. Return "?" if the index is out of range.
std::string stream_text(const Trace& trace, TraceIndex stream);
std::string thread_text(const Trace& trace, TraceIndex thread);

/// Returns the device, for example "cuda:0".
std::string device_text(const TraceDevice& device);
/// Describes the source of a device's times, for example "times by CUPTI".
const char* clock_text(TraceClock clock) noexcept;
/// Describes the use of memory, for example "reads and writes".
const char* access_text(AccessMode mode) noexcept;

}  // namespace heddle::detail
