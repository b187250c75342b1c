// Names, categories and places for Chrome's trace format. Each text is made once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Returns the category of a device operation of that kind: "copy".
std::string_view chrome_category(OpKind kind) noexcept;

/// JSON strings, including quotes. The references stay valid.
class ChromeText {
public:
    explicit ChromeText(const Trace& trace) : trace_(trace) {}

    /// Returns the operation's name as the name of a bar: "Hash".
    const std::string& name(const TraceOp& op);
    /// Returns the operation's name as the name of a call: "launch Hash".
    const std::string& call(const TraceOp& op);
    /// Returns "stream.cpp:88" in quotes, or an empty text without quotes if the place is unknown.
    const std::string& place(TraceIndex file, std::uint32_t line);
    const std::string& stream(TraceIndex stream);
    /// Returns an access in words.
    const std::string& access(TraceIndex access);

private:
    std::string words_of(const TraceAccess& access) const;

    const Trace& trace_;
    // Texts by the keys that determine them.
    std::unordered_map<std::uint64_t, std::string> names_, calls_, places_, streams_, accesses_;
};

}  // namespace heddle::detail
