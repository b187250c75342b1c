// Notifications about bodies of conditional nodes, and about child graphs.
#include "kernels.hpp"
#include "operation/watch.hpp"

using namespace heddle_test;

namespace {

/// Stores the nodes of the last graph launch.
class Nodes final : public Observer {
public:
    struct Node {
        std::string name;
        OpKind kind;
        std::vector<std::uint32_t> after;
        std::uint32_t inside, alternative;
        std::vector<OpAccess> accesses;
        bool is_known, may_signal;
    };
    Nodes() { add_observer(*this, {.times = true}); }
    ~Nodes() { remove_observer(*this); }
    Nodes(const Nodes&) = delete;
    Nodes& operator=(const Nodes&) = delete;

    void on_op(const OpInfo& op) noexcept override {
        if (op.kind != OpKind::graph_launch || op.shape == nullptr) return;
        const std::lock_guard lock(mutex_);
        nodes_.clear();
        launch_ = op.id;
        for (const OpNode& one : op.shape->nodes)
            nodes_.push_back({one.name,
                              one.kind,
                              {one.after.begin(), one.after.end()},
                              one.inside,
                              one.alternative,
                              {one.accesses.begin(), one.accesses.end()},
                              one.accesses_known,
                              one.may_signal});
    }
    void on_run(const OpRun& run) noexcept override {
        const std::lock_guard lock(mutex_);
        runs_.push_back(run);
    }
    std::vector<Node> nodes() {
        const std::lock_guard lock(mutex_);
        return nodes_;
    }
    /// Returns how often each node of the last launch ran. The last number is for the whole graph.
    std::vector<int> runs() {
        const std::lock_guard lock(mutex_);
        std::vector<int> counts(nodes_.size() + 1);
        for (const OpRun& run : runs_)
            if (run.id == launch_)
                ++counts.at(run.node < 0 ? nodes_.size() : static_cast<std::size_t>(run.node));
        return counts;
    }

private:
    std::mutex mutex_;
    std::vector<Node> nodes_;
    std::uint64_t launch_ = 0;
    std::vector<OpRun> runs_;
};

using Indices = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("a graph launch names the nodes of bodies and child graphs, in their places") {
    const Here here;
    Array<int> x = zeros<int>(10), value = full<int>(1, 2);
    here.stream.synchronize();
    Nodes told;
    auto first = kernel_node(Add{}, dim(10), x, 1).name("first");
    auto add = kernel_node(Add{}, dim(10), x, 1).name("add");
    auto inner = if_node(value, add.build()).name("inner");
    auto count = kernel_node(Add{}, dim(1), value, -1).after(inner).name("count");
    auto loop = while_node(value, count.build()).after(first).name("loop");
    auto choice = if_else_node(value, kernel_node(Add{}, dim(10), x, 1).name("yes").build(),
                               kernel_node(Add{}, dim(10), x, 1).name("no").build())
                      .after(loop)
                      .name("choice");
    auto child =
        child_node(kernel_node(Add{}, dim(10), x, 1).name("step").build()).after(choice).name("c");
    Graph graph = child.build();
    graph.launch();
    here.stream.synchronize();
    const auto nodes = told.nodes();
    REQUIRE(nodes.size() == 10);
    const char* names[] = {"first",  "loop", "inner", "add",    "count",
                           "choice", "yes",  "no",    "c/step", "c"};
    for (std::size_t i = 0; i < nodes.size(); ++i) CHECK(nodes[i].name == names[i]);
    const std::uint32_t none = OpNode::no_node;
    const Indices inside{none, none, 1, 2, 1, none, 5, 5, none, none};
    for (std::size_t i = 0; i < nodes.size(); ++i) CHECK(nodes[i].inside == inside[i]);
    for (std::size_t i = 0; i < nodes.size(); ++i) CHECK(nodes[i].alternative == (i == 7 ? 1u : 0));
    CHECK(nodes[1].after == Indices{0});
    CHECK(nodes[3].after.empty());
    CHECK(nodes[4].after == Indices{2});
    CHECK(nodes[5].after == Indices{1});
    CHECK(nodes[8].after == Indices{5});
    CHECK(nodes[9].after == Indices{8});
    for (const Nodes::Node& one : nodes) CHECK(one.is_known);
    for (const std::size_t i : {1u, 2u, 5u}) {
        CHECK(nodes[i].kind == OpKind::graph_launch);
        REQUIRE(nodes[i].accesses.size() == 1);
        CHECK(nodes[i].accesses[0].data == value.data());
        CHECK(nodes[i].accesses[0].mode == AccessMode::read);
        CHECK(nodes[i].accesses[0].bytes == sizeof(int));
    }
    CHECK(nodes[9].accesses.empty());
    CHECK(nodes[3].accesses[0].data == x.data());
    CHECK(to_host(x) == Ints(10, 5));
    if (test_device().is_cpu())
        CHECK(told.runs() == std::vector<int>{1, 0, 0, 2, 2, 0, 0, 1, 1, 0, 1});
}
