// Operations that may create order unseen by the checker, on the device under test.
#include "check/checked.hpp"
#include "check/unseen.hpp"
#include "kernels.hpp"
#include "support.hpp"

#include <atomic>

using namespace heddle_test;

namespace {

constexpr std::size_t size = 100;

/// Launches a graph on each of two streams. Calls `between` with the first stream after its launch.
template <class F> check::Summary race_across(F&& between) {
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    Array<int> x = zeros<int>(a, size);
    a.synchronize();
    Checked checked;
    {
        const ScopedStream in(a);
        kernel_node(Add{}, dim(size), x, 1).build().launch(a);
        between(a);
    }
    wait_unseen(a);
    kernel_node(Add{}, dim(size), x, 1).build().launch(b);
    wait_unseen(b);
    const check::Summary found = checked.end();
    CHECK(found.certain + found.possible == 1);
    return found;
}

struct Calls {
    void operator()() {}
};

/// Function objects: one that holds a pointer, and others that cannot.
struct Holding {
    int* flag;
    HEDDLE_FN void operator()(std::size_t, View<int>) const {}
};
struct Numbers {
    double factor;
    long more[2];
    HEDDLE_FN void operator()(std::size_t i, View<int> x) const {
        x[i] = static_cast<int>(factor) + static_cast<int>(more[1]);
    }
};

}  // namespace

TEST_CASE("a host function with state may make an order, one without or a quiet one does not") {
    int state = 0;
    const auto count = [&state] { ++state; };
    Array<int> y = zeros<int>(size);
    synchronize();
    CHECK(race_across([&](StreamRef s) { launch_host(s, count); }).possible == 1);
    CHECK(race_across([&](StreamRef s) { launch_host(s, signals_nothing(count)); }).certain == 1);
    CHECK(race_across([&](StreamRef) { launch_host(signals_nothing(count)); }).certain == 1);
    CHECK(race_across([&](StreamRef s) { launch_host(s, count, reads(y)); }).possible == 1);
    CHECK(race_across([&](StreamRef s) {
              launch_host(s, signals_nothing(count), reads(y));
          }).certain == 1);
    CHECK(race_across([&](StreamRef) { launch_host(signals_nothing(count), writes(y)); }).certain ==
          1);
    CHECK(race_across([&](StreamRef s) { launch_host(s, Calls{}); }).certain == 1);
    CHECK(race_across([&](StreamRef s) { launch_host(s, +[] {}); }).possible == 1);
    CHECK(state == 6);
}

TEST_CASE("signals_nothing() works for functions that are moved only, and are told of by their own "
          "name") {
    struct Name final : Observer {
        std::string name;
        bool may_signal = true;
        void on_op(const OpInfo& op) noexcept override {
            if (op.kind != OpKind::host_function) return;
            name = op.name;
            may_signal = op.may_signal;
        }
    } seen;
    add_observer(seen);
    const Stream s(test_device());
    launch_host(s, signals_nothing(Calls{}));
    CHECK_THAT(seen.name, contains("Calls"));
    CHECK(seen.name.find("SignalsNothing") == std::string::npos);
    int value = 0;
    launch_host(s, signals_nothing([&value, owned = std::make_unique<int>(7)] { value = *owned; }));
    CHECK_FALSE(seen.may_signal);
    on_completion(s, [&value](const std::exception_ptr&) { ++value; });
    CHECK(seen.may_signal);
    on_completion(s, signals_nothing([&value](const std::exception_ptr&) { ++value; }));
    CHECK_FALSE(seen.may_signal);
    s.synchronize();
    remove_observer(seen);
    CHECK(value == 9);
}

TEST_CASE("quiet host nodes make no order but the graph's") {
    int state = 0;
    const auto count = [&state] { ++state; };
    const Device device = test_device();
    CHECK(race_across([&](StreamRef s) { host_node(device, count).build().launch(s); }).possible ==
          1);
    CHECK(race_across([&](StreamRef s) {
              host_node(device, signals_nothing(count)).build().launch(s);
          }).certain == 1);
    CHECK(race_across([&](StreamRef s) {
              auto node = host_node(device, count);
              Graph graph = node.build();
              node.call(signals_nothing(count));
              graph.launch(s);
          }).certain == 1);
    CHECK(race_across([&](StreamRef s) {
              ScopedCapture capture(s);
              launch_host(s, signals_nothing(count));
              capture.end().launch(s);
          }).certain == 1);
    CHECK(state == 4);
}

TEST_CASE("pinned memory that is used again comes after its users") {
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    Array<int> x = zeros<int>(a, size);
    a.synchronize();
    struct Sources final : Observer {
        std::atomic<int> from_cache{0};
        void on_op(const OpInfo& op) noexcept override {
            if (op.kind == OpKind::allocate && op.from_own_cache) ++from_cache;
        }
    } sources;
    add_observer(sources);
    Checked checked({.strict = true});
    for (int round = 0; round < 20; ++round) {
        Array<int> staging = pinned<int>(size);
        const Stream& s = round % 2 == 0 ? a : b;
        copy(s, staging, x);
        staging.reset();
        wait_unseen(s);
    }
    const check::Summary found = checked.end();
    remove_observer(sources);
    CHECK(found.certain + found.possible + found.faults == 0);
    // Without a GPU, the system's allocator caches the memory, and heddle does not.
    if (device_count(DeviceKind::cuda) == 0) CHECK(sources.from_cache == 0);
}

TEST_CASE("a kernel on a host thread that may hold a pointer may make an order") {
    Array<int> y = zeros<int>(size);
    synchronize();
    const bool on_host = test_device().is_cpu();
    int flag = 0;
    const auto with = [&](const auto& kernel, auto&... arguments) {
        return race_across([&](StreamRef s) { launch(s, kernel, dim(size), arguments...); });
    };
    CHECK(with(Holding{&flag}, y).possible == (on_host ? 1u : 0u));
    CHECK(with(Numbers{1.5, {1, 2}}, y).certain == 1);
    CHECK(race_across([&](StreamRef s) {
              kernel_node(Holding{&flag}, dim(size), y).build().launch(s);
          }).possible == (on_host ? 1u : 0u));
}
