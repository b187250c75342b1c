// Random graphs of nodes that change between launches. The results must be those of the nodes in
// sequence. The environment variables of random_programs_test.cpp apply, too. The mode is `nodes`.
#include "environment.hpp"
#include "nodes_program.hpp"
#include "support.hpp"
#include "watch.hpp"

#include <algorithm>
#include <iostream>
#include <string>

namespace heddle_test::programs::nodes {

namespace {

std::string title(std::uint64_t seed) { return "seed " + std::to_string(seed) + ", mode nodes"; }

/// Shrinks the program for at most 20 seconds. Returns its error.
std::string report(const Program& program, const std::string& why) {
    // Prints it immediately, because the process may crash while the program is being shrunk.
    std::cerr << title(program.seed) << ": " << why << std::endl;
    const auto limit = Time::now() + std::chrono::seconds(20);
    std::string last = why;
    const Program small = shrunken(program, [&](const Program& candidate) {
        const auto enough = Time::now() + std::chrono::milliseconds(200);
        for (int i = 0; i < 30 && Time::now() < std::min(enough, limit); ++i) {
            const Watch watch(title(program.seed) + " (shrinking)",
                              [&] { return text_of(candidate); });
            const std::string now = failure(candidate);
            if (now.empty()) continue;
            last = now;
            return true;
        }
        return false;
    });
    return title(program.seed) + "\n" + why + "\nshrunken: " + last + "\n" + text_of(small);
}

}  // namespace

TEST_CASE("random graphs of nodes that change come to what they say", "[random]") {
    if (!is_mode_wanted("nodes")) return;
    // If it runs alone, it has all the time.
    const double part = environment("HEDDLE_RANDOM_MODES") == "nodes" ? 1 : 0.15;
    const auto end = Time::now() + std::chrono::duration<double>(seconds() * part);
    std::size_t runs = 0;
    for (std::uint64_t seed = first_seed(); runs == 0 || Time::now() < end; seed = next(seed, 1)) {
        const std::vector<Device> devices = test_devices();
        const Program program = generate(seed, devices[seed % devices.size()]);
        std::string why;
        {
            const Watch watch(title(seed), [&] { return text_of(program); });
            why = failure(program);
        }
        if (!why.empty()) FAIL(report(program, why));
        ++runs;
    }
    say_runs(runs);
}

}  // namespace heddle_test::programs::nodes
