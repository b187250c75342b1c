// Names, categories and places as Chrome's trace format has them. Each is made once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "timeline/trace.hpp"

namespace heddle::detail {

/// Returns the category of what an operation of that kind does on its device: "copy".
std::string_view chrome_category(OpKind kind) noexcept;

/// JSON strings, including quotes. The references stay valid.
class ChromeText {
public:
    explicit ChromeText(const Trace& trace) : trace_(trace) {}

    /// Returns the operation's name as that of a bar: "Hash".
    const std::string& name(const TraceOp& op);
    /// The same as that of a call: "launch Hash".
    const std::string& call(const TraceOp& op);
    /// Returns "stream.cpp:88", or an empty text without quotes if the place is not known.
    const std::string& place(TraceIndex file, std::uint32_t line);
    const std::string& stream(TraceIndex stream);
    /// Returns an access in words.
    const std::string& access(TraceIndex access);

private:
    std::string words_of(const TraceAccess& access) const;

    const Trace& trace_;
    // By what they are made of.
    std::unordered_map<std::uint64_t, std::string> names_, calls_, places_, streams_, accesses_;
};

}  // namespace heddle::detail
