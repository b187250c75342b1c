// Names, categories and places for Chrome's trace format. Each text is made only once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Returns the category of device operations of this kind, for example "copy".
std::string_view chrome_category(OpKind kind) noexcept;

/// Makes JSON strings, including quotes. The returned references stay valid.
class ChromeText {
public:
    explicit ChromeText(const Trace& trace) : trace_(trace) {}

    /// Returns the operation's name for a bar, for example "Hash".
    const std::string& name(const TraceOp& op);
    /// Returns the operation's name for a call, for example "launch Hash".
    const std::string& call(const TraceOp& op);
    /// Returns the place as a JSON string, for example "stream.cpp:88". Returns an empty text
    /// without quotes if the place is unknown.
    const std::string& place(TraceIndex file, std::uint32_t line);
    const std::string& stream(TraceIndex stream);
    /// Returns an access in words.
    const std::string& access(TraceIndex access);

private:
    std::string words_of(const TraceAccess& access) const;

    const Trace& trace_;
    // Each text, by the key that determines it.
    std::unordered_map<std::uint64_t, std::string> names_, calls_, places_, streams_, accesses_;
};

}  // namespace heddle::detail
