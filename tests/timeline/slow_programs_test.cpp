// The timeline's headline for whole programs. The suite uses made-up traces of these programs, with
// declared costs. The programs themselves only run if requested by hand.
#include "timeline/slow_programs.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "core/base/format.hpp"
#include "support.hpp"
#include "timeline/record/timeline_observer.hpp"
#include "timeline/solve/headline.hpp"

using namespace heddle_test;
using heddle::detail::formatted;
using heddle::detail::Trace;
using heddle::detail::TraceAccess;
using heddle::detail::TraceOp;

namespace {

/// Runs a program, and returns its recording.
Trace run(const SlowProgram& program) {
    const Drained drained;
    // Uses CUPTI. With timing events, kernels that are enqueued slowly seem to run without gaps.
    heddle::detail::TimelineObserver observer({.cupti = true});
    program.run();
    observer.stop();
    return observer.trace();
}

std::string headline_of(const Trace& trace) {
    return heddle::detail::headline(trace, heddle::detail::solve(trace));
}

/// Returns whether the headline contains all required texts, and no forbidden one.
bool is_right(const SlowProgram& program, const std::string& headline) {
    const auto says = [&](const std::string& part) {
        return headline.find(part) != std::string::npos;
    };
    return std::ranges::all_of(program.says, says) &&
           std::ranges::none_of(program.does_not_say, says);
}

/// Returns those calls of a program that affect the order of its work, each on a line. Memory is
/// numbered in the order of its first use.
Strings calls_of(const Trace& trace) {
    constexpr const char* modes[] = {"reads", "writes", "changes", "shares"};
    std::map<std::uint64_t, std::size_t> memory;
    Strings calls;
    for (const TraceOp& op : trace.ops) {
        switch (op.kind) {
        case OpKind::blocked:            // only present if the program called too early
        case OpKind::query:              // with two streams, either may complete first
        case OpKind::synchronize_begin:  // its end follows
        case OpKind::make_event:
        case OpKind::free: continue;
        default: break;
        }
        std::string call = to_string(op.kind);
        for (const auto stream : {op.stream, op.other})
            if (stream < trace.streams.size()) call += " " + trace.text(trace.streams[stream].name);
        if (op.holds_pointers) call += " and more";
        for (std::uint32_t i = 0; i < op.accesses; ++i) {
            const TraceAccess& access = trace.accesses[op.first_access + i];
            const char* mode = modes[static_cast<std::size_t>(access.mode)];
            // Host memory may have another address each time.
            if (access.allocation == 0) call += formatted(", {} the host's memory", mode);
            else
                call += formatted(", {} array {}", mode,
                                  memory.emplace(access.allocation, memory.size()).first->second);
        }
        calls.push_back(call);
    }
    return calls;
}

/// Returns whether the device under test can show why the program is slow.
bool can_run(const SlowProgram& program) {
    return test_device().is_cpu() ? cpu_workers() >= program.workers : program.is_for_gpus;
}

}  // namespace

TEST_CASE("the headline of a program's trace names why it is slow", "[timeline]") {
    const TimedCosts costs = GENERATE(
        TimedCosts{}, TimedCosts{.call = 1'000, .order = 1'000},
        TimedCosts{.start = 15'000, .awake = 0, .cross = 15'000}, TimedCosts{.wake = 15'000},
        TimedCosts{.start = 1'000, .start_awake = 100, .cross = 100, .wake = 100});
    for (const SlowProgram& program : slow_programs()) {
        const std::string headline = headline_of(program.trace(costs));
        INFO(program.name << ": " << headline);
        CHECK(is_right(program, headline));
    }
}

// To run it: heddle_tests "[slow_calls]".
TEST_CASE("a slow program makes the calls that its trace holds", "[.slow_calls]") {
    TimedCosts costs;
    if (test_device().is_cpu()) costs.workers = static_cast<std::uint32_t>(cpu_workers());
    for (const SlowProgram& program : slow_programs()) {
        if (!can_run(program)) continue;
        INFO(program.name);
        const Strings ran = calls_of(run(program)), made = calls_of(program.trace(costs));
        const auto [is, should] = std::ranges::mismatch(ran, made);
        INFO("call " << is - ran.begin());
        CHECK((is == ran.end() ? "the end" : *is) == (should == made.end() ? "the end" : *should));
    }
}

// The result depends on times. So run it by hand, on an otherwise idle machine: heddle_tests
// "[slow_programs]".
TEST_CASE("the headline of a program names why it is slow", "[.slow_programs]") {
    for (const SlowProgram& program : slow_programs()) {
        if (!can_run(program)) continue;
        const std::string headline = headline_of(run(program));
        std::printf("%s\n    ran:     %s\n    made up: %s\n", program.name.c_str(),
                    headline.c_str(), headline_of(program.trace({})).c_str());
        INFO(program.name << ": " << headline);
        CHECK(is_right(program, headline));
    }
}
