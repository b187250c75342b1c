// Random graphs of nodes that change between launches. The results must be those of the nodes in
// sequence. The environment variables of random_programs_test.cpp apply, too. The mode is `nodes`.
#include "nodes_program.hpp"
#include "reporting.hpp"
#include "support.hpp"

#include <string>

namespace heddle_test::programs::nodes {

TEST_CASE("random graphs of nodes that change come to what they say", "[random]") {
    if (!is_mode_wanted("nodes")) return;
    // If no other mode runs, this test has all the time.
    const double part = environment("HEDDLE_RANDOM_MODES") == "nodes" ? 1 : 0.15;
    const auto end = Time::now() + std::chrono::duration<double>(seconds() * part);
    std::size_t runs = 0;
    for (std::uint64_t seed = first_seed(); runs == 0 || Time::now() < end; seed = next(seed, 1)) {
        const std::vector<Device> devices = test_devices();
        const Program program = generate(seed, devices[seed % devices.size()]);
        require_success("seed " + std::to_string(seed) + ", mode nodes", program, failure,
                        shrunken);
        ++runs;
    }
    say_runs(runs);
}

}  // namespace heddle_test::programs::nodes
