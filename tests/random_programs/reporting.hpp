// Runs random programs, and reports those that fail.
#pragma once

#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>

#include "random_programs/environment.hpp"
#include "random_programs/watch.hpp"
#include "support.hpp"

namespace heddle_test::programs {

/// While this object exists, reports about captures and batches that recorded nothing are hidden.
/// Random programs have such captures and batches.
class WithoutUsageReports {
public:
    WithoutUsageReports() = default;
    ~WithoutUsageReports() { set_report_hook(before_); }
    WithoutUsageReports(const WithoutUsageReports&) = delete;
    WithoutUsageReports& operator=(const WithoutUsageReports&) = delete;

private:
    static void report(const Error& error) {
        if (dynamic_cast<const UsageError*>(&error) == nullptr)
            std::cerr << "heddle: " << error.what() << std::endl;
    }
    ReportHook before_ = set_report_hook(report);
};

/// Requires that `failure_of(program)` is empty. Otherwise shrinks the program for at most 20
/// seconds. `shrink` receives the program, and a function that returns whether another one fails.
template <class Program, class Failure, class Shrink>
void require_success(const std::string& title, const Program& program, const Failure& failure_of,
                     const Shrink& shrink) {
    const auto run = [&](const Program& candidate, const std::string& name) {
        const Watch watch(name, [&] { return text_of(candidate); });
        return failure_of(candidate);
    };
    const std::string why = run(program, title);
    if (why.empty()) return;
    // Prints the program immediately, because the process may crash during the shrinking.
    std::cerr << title << ": " << why << std::endl;
    const auto limit = Time::now() + std::chrono::seconds(20);
    std::string last = why;
    const Program small = shrink(program, [&](const Program& candidate) {
        const auto enough = Time::now() + std::chrono::milliseconds(300);
        for (int i = 0; i < 30 && Time::now() < std::min(enough, limit); ++i) {
            const std::string now = run(candidate, title + " (shrinking)");
            if (now.empty()) continue;
            last = now;
            return true;
        }
        return false;
    });
    FAIL(title << "\n" << why << "\nshrunken: " << last << "\n" << text_of(small));
}

}  // namespace heddle_test::programs
