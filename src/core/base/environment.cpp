#include "core/base/environment.hpp"

#include "core/base/report.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "core/base/format.hpp"
#include <heddle/error.hpp>

namespace heddle::detail {

EnvironmentNumber::EnvironmentNumber(const char* name, int least, int most, int otherwise) noexcept
    : number_(otherwise) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') return;
    const std::string_view text = value;
    const char* const end = text.data() + text.size();
    int number = 0;
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    const bool whole = rest == end && error != std::errc::invalid_argument;
    if (whole) {
        if (error == std::errc::result_out_of_range) number = text.front() == '-' ? least : most;
        number_ = std::clamp(number, least, most);
        if (error == std::errc{} && number_ == number) return;
    }
    try {
        complaint_ =
            detail::formatted("{}=\"{}\" is not a whole number from {} to {}; {} is used instead",
                              name, text, least, most, number_);
    } catch (...) {
        // Out of memory: the value is not reported.
    }
}

int EnvironmentNumber::get() noexcept {
    if (complaint_.empty() || reported_.exchange(true)) return number_;
    try {
        report(Error(ErrorInfo{.code = ErrorCode::usage, .message = complaint_, .call = {}}));
    } catch (...) {
        // Out of memory: the value is not reported.
    }
    return number_;
}

}  // namespace heddle::detail
