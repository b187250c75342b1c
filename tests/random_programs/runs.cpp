#include "random_programs/runs.hpp"

#include "catch.hpp"
#include "random_programs/environment.hpp"
#include "random_programs/reporting.hpp"
#include "random_programs/shrink.hpp"
#include "support.hpp"

#include <chrono>

namespace heddle_test::programs {

bool is_wanted(Mode mode) { return is_mode_wanted(to_string(mode)); }

bool temporaries() { return environment("HEDDLE_RANDOM_WITHOUT") != "temporaries"; }

std::vector<Device> devices_for(std::uint64_t seed) {
    std::vector<Device> devices = test_devices();
    const std::size_t most = 1 + seed % 3;
    while (devices.size() > most) devices.pop_back();
    if (devices[0].is_cuda() && seed % 3 == 0) devices.push_back(cpu_device());
    return devices;
}

std::string title(std::uint64_t seed, Mode mode, RunOptions options) {
    return "seed " + std::to_string(seed) + ", mode " + to_string(mode) + ", pests " +
           std::to_string(options.pests);
}

void run_programs(double part, std::initializer_list<Mode> modes, int pests) {
    const WithoutUsageReports quiet;
    const auto end = Time::now() + std::chrono::duration<double>(seconds() * part);
    std::size_t runs = 0;
    for (std::uint64_t seed = first_seed(); runs == 0 || Time::now() < end; seed = next(seed, 1)) {
        const Program program = generate(seed, devices_for(seed), {.temporaries = temporaries()});
        for (const Mode mode : modes) {
            if (!is_wanted(mode)) continue;
            const RunOptions options{.pests = pests < 0 ? pests_for(seed) : pests};
            if (const auto race = Model::check(program, mode))
                FAIL("the generator is wrong: " << race->first << " and " << race->second << "\n"
                                                << title(seed, mode, options) << "\n"
                                                << text_of(program));
            require_success(
                title(seed, mode, options), program,
                [&](const Program& one) { return failure(one, mode, options); },
                [&](const Program& one, const auto& fails) { return shrunken(one, mode, fails); });
            ++runs;
        }
        if (runs == 0) break;
    }
    say_runs(runs);
}

namespace {

/// Collects those waits of a block that can be left out.
void collect_waits(const Statements& block, std::vector<WaitName>& waits) {
    for (const Statement& s : block) {
        if (s.what == What::wait_stream || s.what == What::wait_event || s.what == What::mark)
            waits.push_back({s.id, 0});
        if (s.what == What::scope && s.wait_on_enter) waits.push_back({s.id, 0});
        if (s.what == What::scope && s.wait_on_exit) waits.push_back({s.id, 1});
        for (const Statements& body : s.bodies) collect_waits(body, waits);
    }
}

}  // namespace

std::vector<Missed> needed_waits(const Program& program, Mode mode) {
    std::vector<WaitName> waits;
    for (const Segment& segment : program.segments) {
        collect_waits(segment.body, waits);
        collect_waits(segment.after, waits);
    }
    std::vector<Missed> needed;
    for (const WaitName wait : waits)
        if (const auto race = Model::check(program, mode, Strictness::whatever, wait))
            needed.push_back({wait, *race});
    return needed;
}

}  // namespace heddle_test::programs
