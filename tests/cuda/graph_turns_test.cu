// Host functions in CUDA graphs: if a launch fails, the next launch must not run its functions.
#include "../child.hpp"
#include "../support.hpp"
#include "faults.hpp"

#include <heddle/cuda.hpp>

using namespace heddle_test;

// Needs a process of its own, because native calls stay replaced.
TEST_CASE("child: a graph with a host function whose launch fails", "[.child]") {
    end_if_it_hangs();
    install_faults();
    const OrderLog seen;
    const Device gpu("cuda:0");
    const Stream s(gpu), other(gpu);
    auto node = host_node(gpu, [seen] { seen.add("first"); });
    Graph graph = node.build();
    graph.launch(s);
    s.synchronize();
    node.call([seen] { seen.add("of the launch that failed"); });
    graph.instantiate();
    bool failed = false;
    for (std::uint64_t k = 1; k < 50 && !failed; ++k) {
        fail_call(k, int{cudaErrorMemoryAllocation}, OfThread::mine);
        const std::optional<Error> error = error_of([&] { graph.launch(s); });
        failed = failed_call() == "cuGraphLaunch";
        fail_call(0, int{cudaErrorMemoryAllocation}, OfThread::mine);
        CHECK(error.has_value() == !failed_call().empty());
    }
    REQUIRE(failed);
    s.synchronize();
    const std::size_t before = seen.seen().size();
    node.call([seen] { seen.add("next"); });
    graph.launch(other);
    other.synchronize();
    node.call([seen] { seen.add("last"); });
    graph.launch(s);
    s.synchronize();
    const Strings all = seen.seen();
    CHECK(Strings(all.begin() + static_cast<std::ptrdiff_t>(before), all.end()) ==
          Strings{"next", "last"});
}

CUDA_TEST_CASE("a launch of a graph that throws leaves no turn of a host function behind",
               "[faults]") {
    check_test_case("child: a graph with a host function whose launch "
                    "fails");
}
