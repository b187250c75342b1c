#include "core/base/environment.hpp"

#include "core/base/report.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <vector>

#include <unistd.h>

#include "core/base/format.hpp"
#include <heddle/error.hpp>

namespace heddle::detail {

namespace {

constexpr std::string_view prefix = "HEDDLE_";

/// The names, in the order of the enumeration Variable.
constexpr std::array names{
    "HEDDLE_CACHE_DIR",   "HEDDLE_CACHE_MIB",    "HEDDLE_CHECK",  "HEDDLE_CPU_DEVICES",
    "HEDDLE_CPU_THREADS", "HEDDLE_CUPTI",        "HEDDLE_DEVICE", "HEDDLE_HOST_GRAPH_BRANCHES",
    "HEDDLE_MEMORY_KEPT", "HEDDLE_NCCL",         "HEDDLE_NVRTC",  "HEDDLE_NVTX",
    "HEDDLE_TIMELINE",    "HEDDLE_TSAN_STREAMS", "HEDDLE_WATCH",
};
static_assert(names.size() == static_cast<std::size_t>(Variable::watch) + 1);

/// Returns the edit distance: the number of letters left out, added, replaced or swapped with their
/// neighbour.
std::size_t mistakes_between(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before.swap(last);
        last.swap(row);
    }
    return last[b.size()];
}

/// Returns how many typing mistakes are allowed: two, but only one in names of up to five letters,
/// because NVCC and NVRTC differ by two.
std::size_t most_mistakes(std::string_view word) { return word.size() > 5 ? 2 : 1; }

}  // namespace

const char* name_of(Variable variable) noexcept {
    return names[static_cast<std::size_t>(variable)];
}

const char* value_of(Variable variable) noexcept {
    const char* const value = std::getenv(name_of(variable));
    return value != nullptr && *value != '\0' ? value : nullptr;
}

const char* meant_variable(std::string_view name) {
    if (!name.starts_with(prefix) || std::ranges::find(names, name) != names.end()) return nullptr;
    std::string word(name.substr(prefix.size()));
    for (char& c : word)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    const char* nearest = nullptr;
    std::size_t fewest = 0;
    for (const char* const known : names) {
        const std::string_view right = std::string_view(known).substr(prefix.size());
        const std::size_t mistakes = mistakes_between(word, right);
        if (mistakes > most_mistakes(right) || (nearest != nullptr && mistakes >= fewest)) continue;
        nearest = known;
        fewest = mistakes;
    }
    return nearest;
}

void report_unknown_variables() noexcept {
    try {
        for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
            const std::string_view text = *entry;
            const std::size_t equals = text.find('=');
            if (!text.starts_with(prefix) || equals + 1 >= text.size()) continue;
            const std::string_view name = text.substr(0, equals);
            const char* const meant = meant_variable(name);
            if (meant == nullptr || std::getenv(meant) != nullptr) continue;
            report(ErrorInfo{
                .code = ErrorCode::usage,
                .message =
                    formatted("{} in the environment is not a variable of heddle: did you mean {}?",
                              name, meant),
                .call = {}});
        }
    } catch (...) {
        // If memory is exhausted, the variables are not reported.
    }
}

std::vector<EnvironmentVariable> list_variables() {
    std::vector<EnvironmentVariable> found;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::size_t equals = text.find('=');
        if (!text.starts_with(prefix) || equals >= text.size() - 1) continue;
        const std::string_view name = text.substr(0, equals);
        const char* const meant = meant_variable(name);
        found.push_back({.name = std::string(name),
                         .value = std::string(text.substr(equals + 1)),
                         .is_read = std::ranges::find(names, name) != names.end(),
                         .meant = meant != nullptr ? meant : ""});
    }
    std::ranges::sort(found, {}, &EnvironmentVariable::name);
    return found;
}

EnvironmentNumber::EnvironmentNumber(Variable variable, int least, int most, int otherwise) noexcept
    : number_(otherwise) {
    const char* const value = value_of(variable);
    if (value == nullptr) return;
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
                              name_of(variable), text, least, most, number_);
    } catch (...) {
        // Out of memory: the value is not reported.
    }
}

int EnvironmentNumber::get() noexcept {
    if (complaint_.empty() || reported_.exchange(true)) return number_;
    try {
        report(ErrorInfo{.code = ErrorCode::usage, .message = complaint_, .call = {}});
    } catch (...) {
        // Out of memory: the value is not reported.
    }
    return number_;
}

}  // namespace heddle::detail
