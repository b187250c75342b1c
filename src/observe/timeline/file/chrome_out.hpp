// Writes the events of Chrome's trace format. Each event is written in parts: the row and the
// times, then the name and the categories, then the arguments.
#pragma once

#include <ostream>
#include <string_view>

#include "timeline/file/chrome_rows.hpp"
#include "timeline/file/json_out.hpp"
#include "timeline/trace.hpp"

namespace heddle::detail {

class ChromeOut : public JsonOut {
public:
    /// All times are written relative to `origin`.
    ChromeOut(std::ostream& to, Moment origin) : JsonOut(to), origin_(origin) {}

    /// Begins the metadata of a row. A row with thread 0 stands for a process.
    void begin_metadata(ChromeRow row, std::string_view name) {
        begin("M", row);
        raw(",\"name\":\"").raw(name).raw("\"");
        begin_arguments();
    }
    void begin_event(std::string_view phase, ChromeRow row, Moment at) {
        begin(phase, row);
        raw(",\"ts\":").micros(since(at));
    }
    void begin_slice(ChromeRow row, Moment begin, Moment end) {
        begin_event("X", row, begin);
        raw(",\"dur\":").micros(distance(begin, end));
    }
    /// `name` must be JSON. To add categories, append a comma and a category for each one. Then
    /// call end_title().
    void begin_title(std::string_view name, std::string_view category) {
        raw(",\"name\":").raw(name).raw(",\"cat\":\"").raw(category);
    }
    /// Ends the title and begins the arguments.
    void end_title() {
        raw("\"");
        begin_arguments();
    }
    void end_event() { raw("}}"); }

    /// Begins an argument. The caller appends its JSON.
    JsonOut& argument(std::string_view name) {
        raw(is_first_argument_ ? "\"" : ",\"").raw(name).raw("\":");
        is_first_argument_ = false;
        return *this;
    }
    void word(std::string_view name, std::string_view word) {
        argument(name).raw("\"").raw(word).raw("\"");
    }
    /// Writes a count as an argument. Writes nothing for 0, which stands for no value.
    void count(std::string_view name, std::uint64_t value) {
        if (value != 0) argument(name).number(value);
    }

    std::uint64_t since(Moment moment) const { return distance(origin_, moment); }
    static std::uint64_t distance(Moment from, Moment to) {
        return to < from ? 0 : static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
    }

private:
    void begin(std::string_view phase, ChromeRow row) {
        raw(is_first_ ? "\n{\"ph\":\"" : ",\n{\"ph\":\"").raw(phase);
        raw("\",\"pid\":").number(row.process);
        if (row.thread != 0) raw(",\"tid\":").number(row.thread);
        is_first_ = false;
    }
    void begin_arguments() {
        raw(",\"args\":{");
        is_first_argument_ = true;
    }

    const Moment origin_;
    bool is_first_ = true, is_first_argument_ = true;
};

}  // namespace heddle::detail
