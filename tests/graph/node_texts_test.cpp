// The texts of errors about nodes: the fact and the remedy.
#include "kernels.hpp"
#include "support.hpp"

using namespace heddle_test;

namespace node_texts {
struct Waits {
    static constexpr bool waits_for_primary = true;
    HEDDLE_FN void operator()(std::size_t i, View<int> x) const {
        wait_for_primary();
        x[i] += 1;
    }
};
}  // namespace node_texts

TEST_CASE("an error of a node says what to do instead") {
    const Here here;
    Array<int> x = zeros<int>(10);
    const auto copied = copy_node(x.view().first(5), x.view().last(5)).name("copied");
    auto add = kernel_node(node_texts::Waits{}, dim(10), x).name("add");
    CHECK(mentions(error_of([&] { add.dependent_on(copied); }),
                   "cannot depend on copy 'copied', which is not a kernel of the same device: use "
                   "after()"));
    Graph first = add.build(), second = fill_node(x, 2).name("other").build();
    const Stream s(test_device());
    CHECK(mentions(
        error_of([&] { capture_into(first, s, [&] { fill(s, x, 1); }, {second.node("other")}); }),
        "is not a node of the graph that end_into() adds to"));
}

TEST_CASE("a node that gets memory of another device says which is its own") {
    const std::vector<Device> devices = test_devices();
    if (devices.size() < 2) HEDDLE_SKIP("needs two devices");
    Array<int> x = zeros<int>(Stream(devices[0]), 10), y = zeros<int>(Stream(devices[1]), 10);
    auto fill = fill_node(x, 1).name("fill");
    CHECK(mentions(error_of([&] { fill.with(y, 1); }),
                   "runs on " + devices[0].name() + ", but its memory is on " + devices[1].name() +
                       ": pass memory of the node's device, or make a new node"));
}

TEST_CASE("a conditional whose value's array is gone says how long to keep it") {
    const Here here;
    Array<int> x = zeros<int>(10);
    const Graph body = kernel_node(Add{}, dim(10), x, 1).build();
    View<int> value;
    {
        Array<int> gone = full<int>(1, 1);
        value = gone.view();
    }
    CHECK(mentions(
        error_of([&] { (void)if_node(value, body).build(); }),
        "has a value whose array was destroyed: keep the array at least as long as the graph"));
}

TEST_CASE("the text of a kernel's node has the name that was set, or the kernel's") {
    const Here here;
    Array<int> x = zeros<int>(10);
    auto set = kernel_node(Set{}, dim(10), x, 1).name("ones");
    auto add = kernel_node(Add{}, dim(10), x, 1).after(set);
    const std::string on = " on " + test_device().name();
    CHECK(to_string(set) == "kernel 'ones'" + on);
    Graph graph = add.build();
    CHECK_THAT(to_string(add), contains("kernel 'heddle_test::Add 1'" + on));
}
