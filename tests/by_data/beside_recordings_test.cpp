// A DataOrder, while other threads capture or batch the stream that all threads share, and
// within captures and batches of its own thread.
#include "kernels.hpp"
#include "noted.hpp"

#include <thread>

using namespace heddle_test;
using namespace heddle_test::by_data;

namespace {

/// A thread that records the device's default stream until end() is called. Constructs a `Scope`
/// from the arguments `made` and that stream.
class Neighbour {
public:
    template <class Scope, class... A> explicit Neighbour(std::in_place_type_t<Scope>, A&... made) {
        thread_ = std::thread([this, &made...] {
            Array<int> other = zeros<int>(test_device(), n);
            Scope scope(made..., default_stream(test_device()));
            fill(default_stream(test_device()), other, 1);
            began_.set();
            (void)may_end_.wait();
        });
        is_there_ = began_.wait();
    }
    ~Neighbour() { end(); }
    Neighbour(const Neighbour&) = delete;
    Neighbour& operator=(const Neighbour&) = delete;

    bool is_there() const { return is_there_; }
    void end() {
        may_end_.set();
        if (thread_.joinable()) thread_.join();
    }

private:
    Flag began_, may_end_;
    std::thread thread_;
    bool is_there_ = false;
};

/// Destroys a DataOrder while a gate holds its work. Then enqueues more work.
void end_beside(Neighbour& neighbour, Gate& gate, std::optional<DataOrder>& order,
                const Array<int>& x, Array<int>& y) {
    const Reports reports;
    order.reset();
    CHECK(reports.all().empty());
    neighbour.end();
    launch(default_stream(test_device()), CopyKernel{}, dim(n), x, y);
    gate.open();
    CHECK(to_host(default_stream(test_device()), y) == constant(7));
}

struct Held {
    Held() {
        default_stream(test_device()).synchronize();
        order.emplace(test_device());
        order->task({writes(x)}, [&](StreamRef s) { gate.hold(s); });
        launch(*order, Set{}, dim(n), x, 7);
    }
    const ScopedDevice on{test_device()};
    Array<int> x = zeros<int>(test_device(), n), y = zeros<int>(test_device(), n);
    Drained drained;
    Gate gate;
    std::optional<DataOrder> order;
};

}  // namespace

TEST_CASE("by data: beside another thread's batch an order ends as it does without that",
          "[by_data]") {
    Held held;
    Batch batch({.on_cpu = true});
    Neighbour neighbour(std::in_place_type<ScopedBatch>, batch);
    REQUIRE(neighbour.is_there());
    end_beside(neighbour, held.gate, held.order, held.x, held.y);
}

TEST_CASE("by data: beside another thread's capture an order ends as it does without that",
          "[by_data]") {
    Held held;
    Neighbour neighbour(std::in_place_type<ScopedCapture>);
    REQUIRE(neighbour.is_there());
    end_beside(neighbour, held.gate, held.order, held.x, held.y);
}

TEST_CASE("by data: beside another thread's batch an order comes after what that has recorded",
          "[by_data]") {
    Held held;
    Batch batch({.on_cpu = true});
    Neighbour neighbour(std::in_place_type<ScopedBatch>, batch);
    REQUIRE(neighbour.is_there());
    held.order->join();
    // This becomes a part of the batch, like all work on its stream.
    launch(default_stream(test_device()), CopyKernel{}, dim(n), held.x, held.y);
    DataOrder second(test_device());
    Array<int> z = zeros<int>(second, n);
    launch(second, CopyKernel{}, dim(n), held.y, z);
    held.gate.open();
    CHECK(to_host(second, z) == constant(7));
}

TEST_CASE("by data: beside another thread's capture an order is made and joined", "[by_data]") {
    Held held;
    Neighbour neighbour(std::in_place_type<ScopedCapture>);
    REQUIRE(neighbour.is_there());
    held.order->join();
    {
        DataOrder second(test_device());
        launch(second, CopyKernel{}, dim(n), held.x, held.y);
    }
    neighbour.end();
    held.gate.open();
    CHECK(to_host(default_stream(test_device()), held.y) == constant(7));
}

TEST_CASE("by data: a join beside another thread's capture brings a failure", "[by_data]") {
    Held held;
    Neighbour neighbour(std::in_place_type<ScopedCapture>);
    REQUIRE(neighbour.is_there());
    launch_host(*held.order, [] { throw Boom("by data"); }, writes(held.x));
    held.order->join();
    neighbour.end();
    held.gate.open();
    CHECK(mentions(error_of([] { default_stream(test_device()).synchronize(); }), "by data"));
    held.order.reset();
    CHECK(default_stream(test_device()).clear_error() != nullptr);
}

TEST_CASE("by data: an order is refused in its own thread's capture or batch, and says so",
          "[by_data]") {
    const Here here;
    const std::string said = "this thread's capture or batch";
    DataOrder outside(test_device());
    const auto is_refused = [&] {
        CHECK(mentions(error_of([] { const DataOrder order(test_device()); }), said));
        CHECK(mentions(error_of([&] { outside.join(); }), said));
    };
    {
        const ScopedCapture in(here.stream);
        is_refused();
    }
    Batch batch({.on_cpu = true});
    {
        const ScopedBatch in(batch, here.stream);
        is_refused();
        const ScopedCapture inside(here.stream);
        is_refused();
    }
}
