// The ends of graphs with captured native work, whose native graphs are shared by clones.
#include "../child.hpp"
#include "../support.hpp"
#include "faults.hpp"

#include <heddle/cuda.hpp>

#include <thread>

using namespace heddle_test;

namespace {

Device gpu() { return Device("cuda:0"); }

__global__ void add(int* data, int value) { data[threadIdx.x] += value; }

/// A graph that adds 1 to 32 elements.
Graph captured_add(StreamRef s, Array<int>& x) {
    return capture(s, [&] {
        with_native(
            s, [&](cudaStream_t native) { add<<<1, 32, 0, native>>>(x.data(), 1); }, writes(x));
    });
}

}  // namespace

CUDA_TEST_CASE("graphs that share captured native work end on two threads at once") {
    const Stream s(gpu());
    Array<int> x = zeros<int>(s, 32);
    constexpr int rounds = 500;
    for (int i = 0; i < rounds; ++i) {
        Graph graph = captured_add(s, x);
        Graph other = graph.clone();
        graph.launch(s);
        other.launch(s);
        s.synchronize();
        std::thread ends([&] { const Graph ended = std::move(other); });
        { const Graph ended = std::move(graph); }
        ends.join();
    }
    CHECK(to_host(s, x) == Ints(32, 2 * rounds));
}

// Needs a process of its own, because native calls stay replaced.
TEST_CASE("child: a graph with captured native work ends in a host function", "[.child]") {
    end_if_it_hangs();
    install_faults();
    const Stream s(gpu());
    Array<int> x = zeros<int>(s, 32);
    const long before = objects_alive()["graphs"];
    Graph graph = captured_add(s, x);
    graph.launch(s);
    s.synchronize();
    CHECK(objects_alive()["graphs"] > before);
    const Reports reports;
    std::string made;  // the first CUDA call that the host function made
    launch_host(s, [&] {
        fail_call(1, int{cudaErrorUnknown}, OfThread::mine);
        graph.reset();
        made = failed_call();
        fail_call(0, 0, OfThread::mine);
    });
    s.synchronize();
    CHECK(made.empty());
    CHECK(eventually([&] {
        (void)Stream(gpu());  // runs deferred cleanups
        return objects_alive()["graphs"] == before;
    }));
    CHECK(reports.count() == 0);
    CHECK(to_host(s, x) == Ints(32, 1));
}

CUDA_TEST_CASE("in a host function, no graph with captured native work is destroyed", "[faults]") {
    check_test_case("child: a graph with captured native work ends in a host function");
}
