// The watch does not report programs that make progress, however long they take.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <iterator>

#include "child.hpp"
#include "watch/programs/programs.hpp"

using namespace heddle_test;

namespace {

std::vector<HealthyProgram> all_programs() {
    std::vector<HealthyProgram> all;
    for (auto* const some : {healthy_work, healthy_order, healthy_recordings, healthy_together})
        std::ranges::move(some(), std::back_inserter(all));
    return all;
}

/// A program that is running.
struct Running {
    std::string name;
    Child child;
    explicit Running(const HealthyProgram& program)
        : name(program.name), child("child: a healthy program", environment_of(program)) {}

    static Strings environment_of(const HealthyProgram& program) {
        Strings all = program.environment;
        all.insert(all.end(), {"HEDDLE_TEST_PROGRAM=" + program.name, "HEDDLE_CPU_DEVICES=2",
                               "HEDDLE_WATCH=300ms", "CUDA_VISIBLE_DEVICES="});
        return all;
    }
};

void check_silent(Running& program) {
    INFO(program.name);
    const ChildResult result = program.child.wait();
    INFO(result.output);
    CHECK(result.status == 0);
    CHECK(result.signal == 0);
    CHECK(result.output.find("heddle: ") == std::string::npos);
}

}  // namespace

TEST_CASE("child: a healthy program", "[.child]") {
    const std::string name = std::getenv("HEDDLE_TEST_PROGRAM");
    const std::vector<HealthyProgram> programs = all_programs();
    const auto found = std::ranges::find(programs, name, &HealthyProgram::name);
    REQUIRE(found != programs.end());
    virtual_time::begin();
    found->run();
}

TEST_CASE("nothing is said of long programs that make progress", "[.healthy]") {
    if (const std::string reason = virtual_time::reason_not(); !reason.empty()) HEDDLE_SKIP(reason);
    leave_limit_to_programs();
    constexpr std::size_t at_a_time = 4;
    std::deque<Running> running;
    for (const HealthyProgram& program : all_programs()) {
        running.emplace_back(program);
        if (running.size() < at_a_time) continue;
        check_silent(running.front());
        running.pop_front();
    }
    for (Running& program : running) check_silent(program);
}
