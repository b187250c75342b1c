// bench_turns: oneTBB. A stream is a node of a flow graph that runs one message after the other.
#include <memory>
#include <vector>

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/task_arena.h>

#include "spin.hpp"
#include "turns/parts.hpp"

namespace bench {

namespace flow = oneapi::tbb::flow;

namespace {

class BusyTbb final : public Busy {
public:
    BusyTbb(int streams, int workers, std::uint64_t ns)
        : ns_(ns), arena_(workers, 0), streams_(static_cast<std::size_t>(streams)) {}
    ~BusyTbb() override { end(); }

    void begin() override {
        stop_ = false;
        served_ = begun_ = 0;
        arena_.execute([&] { graph_ = std::make_unique<flow::graph>(); });
        nodes_.clear();
        for (std::size_t i = 0; i < streams_; ++i)
            nodes_.push_back(std::make_unique<Node>(*graph_, flow::serial, [this, i](int) {
                if (stop_) return;
                nodes_[i]->try_put(0);
                begun_ = 1;
                begun_.notify_all();
                spin_for(ns_);
            }));
        small_ = std::make_unique<Node>(*graph_, flow::serial, [this](int mine) {
            served_ = mine;
            served_.notify_all();
        });
        for (const std::unique_ptr<Node>& one : nodes_)
            for (int i = 0; i < 4; ++i) one->try_put(0);
        begun_.wait(0);
    }
    void request() override {
        const int before = served_;
        small_->try_put(before + 1);
        served_.wait(before);
    }
    void end() override {
        stop_ = true;
        if (graph_ != nullptr) arena_.execute([&] { graph_->wait_for_all(); });
        nodes_.clear();
        small_.reset();
        graph_.reset();
    }

private:
    using Node = flow::function_node<int>;

    std::uint64_t ns_;
    oneapi::tbb::task_arena arena_;
    std::size_t streams_;
    std::atomic<bool> stop_{false};
    std::atomic<int> served_{0}, begun_{0};
    std::unique_ptr<flow::graph> graph_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::unique_ptr<Node> small_;
};

}  // namespace

std::vector<Peer> busy_tbb(int streams, int workers, std::uint64_t ns) {
    return {{"oneTBB, serial function_nodes",
             side_of([=] { return new BusyTbb(streams, workers, ns); })}};
}

}  // namespace bench
