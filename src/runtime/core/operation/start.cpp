#include "core/operation/start.hpp"

#include <cstdio>
#include <exception>
#include <unistd.h>

#include "core/base/environment.hpp"
#include "core/base/errors.hpp"
#include "core/base/report.hpp"

namespace heddle::detail {

namespace {

/// Calls function(value) if the variable is set. Reports an exception of the function.
template <class F> void if_set(Variable variable, F&& function) noexcept {
    const char* const value = value_of(variable);
    if (value == nullptr) return;
    try {
        function(value);
    } catch (...) {
        report(std::current_exception());
    }
}

using Start = void (*EnvironmentObservers::*)(std::string_view value);
void start_by(Variable variable, Start start) noexcept {
    if_set(variable, [&](std::string_view value) {
        if (variable == Variable::check && value == "0") return;
        if (environment_observers != nullptr) return (environment_observers->*start)(value);
        try {
            unsupported_error({name_of(variable), {}},
                              "{} has no effect: this program was linked without heddle::observe. "
                              "Link heddle::heddle, from a build of heddle with HEDDLE_OBSERVE=ON",
                              name_of(variable));
        } catch (const Error& error) {
            if (variable == Variable::check) end_if_check_decides(value, error);
            throw;
        }
    });
}

constinit std::atomic<bool> has_started{false};

}  // namespace

void end_if_check_decides(std::string_view value, const Error& error) noexcept {
    const auto has = [&](const char* word) { return value.find(word) != std::string_view::npos; };
    if (!has("exit") && !has("abort")) return;
    std::fputs(error.what(), stderr);
    std::fputs("\n", stderr);
    _exit(status_of_races);
}

void start_observers() noexcept {
    if (has_started.load(std::memory_order_relaxed) || has_started.exchange(true)) return;
    report_unknown_variables();
    start_by(Variable::timeline, &EnvironmentObservers::start_timeline);
    start_by(Variable::check, &EnvironmentObservers::start_check);
    start_by(Variable::watch, &EnvironmentObservers::start_watch);
    if_set(Variable::nvtx, [](std::string_view value) {
        if (value != "0") start_nvtx();
    });
}

}  // namespace heddle::detail
