// Conditional nodes (graphConditionalNodes): a graph that makes decisions while it runs. One graph
// is captured from ordinary calls: a loop with a branch, which counts the steps of a Collatz
// sequence. Another graph, with a switch, is built from nodes.
// Usage: example_recipe_conditional_nodes [DEVICE]
#include <heddle/heddle.hpp>

#include <cstdio>
#include <vector>

#include "../device_argument.hpp"

namespace hd = heddle;

struct Halve {
    HEDDLE_FN void operator()(std::size_t, hd::View<int> x) const { x[0] /= 2; }
};
struct TripleAndOne {
    HEDDLE_FN void operator()(std::size_t, hd::View<int> x) const { x[0] = 3 * x[0] + 1; }
};
struct Look {  // writes the ints that conditional nodes read
    HEDDLE_FN void operator()(std::size_t, hd::View<const int> x, hd::View<int> odd,
                              hd::View<int> on) const {
        odd[0] = x[0] % 2;
        on[0] = x[0] != 1;
    }
};
struct CountUp {
    HEDDLE_FN void operator()(std::size_t, hd::View<int> count) const { ++count[0]; }
};

int steps_of(int x) {
    int steps = 0;
    for (; x != 1; ++steps) x = x % 2 == 1 ? 3 * x + 1 : x / 2;
    return steps;
}

int main(int argc, char** argv) {
    const hd::ScopedDevice on{device_argument(argc, argv)};
    hd::Array<int> x = hd::zeros<int>(1), odd = hd::zeros<int>(1), goes_on = hd::zeros<int>(1);
    hd::Array<int> steps = hd::zeros<int>(1);

    hd::Graph collatz = hd::capture([&] {  // calls each body once; later, the graph decides
        hd::fill(steps, 0);
        hd::launch(Look{}, hd::dim(1), x, odd, goes_on);
        hd::capture_while(goes_on, [&] {
            hd::capture_if(
                odd, [&] { hd::launch(TripleAndOne{}, hd::dim(1), x); },
                [&] { hd::launch(Halve{}, hd::dim(1), x); });
            hd::launch(CountUp{}, hd::dim(1), steps);
            hd::launch(Look{}, hd::dim(1), x, odd, goes_on);
        });
    });
    bool is_right = true;
    for (const int start : {1, 6, 27}) {
        hd::fill(x, start);
        collatz.launch();  // the host does no work between iterations
        const int count = hd::to_host(steps)[0];
        std::printf("%s: %d reaches 1 in %d steps\n", hd::current_device().name().c_str(), start,
                    count);
        is_right = is_right && count == steps_of(start);
    }

    hd::Array<int> choice = hd::zeros<int>(1), result = hd::zeros<int>(1);
    std::vector<hd::Graph> bodies;
    for (const int value : {10, 20, 30}) bodies.push_back(hd::fill_node(result, value).build());
    hd::Graph choose = hd::switch_node(choice, {bodies[0], bodies[1], bodies[2]}).build();
    for (const int chosen : {2, 0, 7}) {  // 7 is out of range, so no body runs
        hd::fill(choice, chosen);
        hd::fill(result, -1);
        choose.launch();
        is_right = is_right && hd::to_host(result)[0] == (chosen < 3 ? 10 * (chosen + 1) : -1);
    }
    return is_right ? 0 : 1;
}
