// Copies without an explicit stream: which stream they run on, and which work they wait for.
#include "kernel_launches.hpp"
#include "support.hpp"

using namespace heddle_test;

namespace {

/// Collects the streams on which copies are enqueued while this object exists.
class CopyWatch final : public Observer {
public:
    CopyWatch() { add_observer(*this); }
    ~CopyWatch() { remove_observer(*this); }
    void on_op(const OpInfo& op) noexcept override {
        if (op.kind != OpKind::copy) return;
        const std::lock_guard lock(mutex_);
        ids_.push_back(op.stream.id());
    }
    std::vector<std::uint64_t> ids() const {
        const std::lock_guard lock(mutex_);
        return ids_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::uint64_t> ids_;
};

using Ids = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("without a stream a copy to a device runs on that device's current stream") {
    const Stream s(test_device());
    const ScopedStream in{s};
    Array<int> x = empty<int>(100), host = pinned<int>(100);
    std::fill(host.data(), host.data() + 100, 1);
    const CopyWatch watch;
    copy(x, host);
    CHECK(watch.ids() == Ids{s.id()});
    CHECK(to_host(s, x)[0] == 1);
}

TEST_CASE(
    "without a stream a copy from a device to host memory runs on that device's current stream") {
    const Stream s(test_device());
    const ScopedStream in{s};
    Array<int> x = full<int>(100, 1), host = pinned<int>(100);
    const CopyWatch watch;
    copy(host, x);
    CHECK(watch.ids() == Ids{s.id()});
    s.synchronize();
    CHECK(host[99] == 1);
}

TEST_CASE("the current device does not choose a copy's stream, the memory does") {
    if (devices().size() < 2) HEDDLE_SKIP("needs two devices");
    const Device mine = devices()[0], other = devices()[1];
    const Stream s(mine), elsewhere(other);
    const ScopedStream in{s}, current{elsewhere};
    Array<int> x = full<int>(s, 100, 1), y = empty<int>(s, 100);
    const CopyWatch watch;
    copy(y, x);
    CHECK(watch.ids() == Ids{s.id()});
    CHECK(to_host(s, y)[99] == 1);
}

CUDA_TEST_CASE("a GPU's side of a copy chooses the stream, the destination first", "[cross]") {
    const Stream cpu(cpu_device()), cuda(Device("cuda:0"));
    const ScopedStream in_cpu{cpu}, in_cuda{cuda};
    Array<int> there = full<int>(cuda, 100, 1), here = full<int>(cpu, 100, 2);
    const CopyWatch watch;
    copy(there, here);
    copy(here, there);
    CHECK(watch.ids() == Ids{cuda.id(), cuda.id()});
    CHECK(to_host(cuda, there)[0] == 2);
}

TEST_CASE("a copy between devices comes after earlier work of the source's stream", "[multi]") {
    if (test_devices().size() < 2) HEDDLE_SKIP("needs two devices of one kind");
    DrainedGate gate;
    const Stream a(test_devices()[0]), b(test_devices()[1]);
    const ScopedStream in_a{a}, in_b{b};
    Array<int> x = zeros<int>(a, 1000), y = zeros<int>(b, 1000);
    a.synchronize();
    b.synchronize();
    gate.hold(a);
    launch(a, Add{}, dim(1000), x, 5);
    copy(y, x);
    finish_work(b.device());
    gate.open();
    CHECK(to_host(b, y) == std::vector<int>(1000, 5));
}

TEST_CASE("a copy between devices comes after earlier work of the destination's stream",
          "[multi]") {
    if (test_devices().size() < 2) HEDDLE_SKIP("needs two devices of one kind");
    DrainedGate gate;
    const Stream a(test_devices()[0]), b(test_devices()[1]);
    const ScopedStream in_a{a}, in_b{b};
    Array<int> x = full<int>(a, 1000, 1), y = zeros<int>(b, 1000), before = zeros<int>(b, 1000);
    a.synchronize();
    b.synchronize();
    gate.hold(b);
    copy(b, before, y);
    copy(y, x);
    finish_work(a.device());
    finish_work(b.device());
    gate.open();
    CHECK(to_host(b, before) == std::vector<int>(1000, 0));
    CHECK(to_host(b, y) == std::vector<int>(1000, 1));
}

TEST_CASE("later work of both devices' streams comes after a copy", "[multi]") {
    if (test_devices().size() < 2) HEDDLE_SKIP("needs two devices of one kind");
    DrainedGate gate;
    const Stream a(test_devices()[0]), b(test_devices()[1]);
    const ScopedStream in_a{a}, in_b{b};
    Array<int> x = full<int>(a, 1000, 1), y = zeros<int>(b, 1000);
    a.synchronize();
    b.synchronize();
    gate.hold(b);
    copy(y, x);
    fill(a, x, 9);  // would overwrite the source too early, without a wait
    launch(b, Add{}, dim(1000), y, 10);
    finish_work(a.device());
    gate.open();
    CHECK(to_host(b, y) == std::vector<int>(1000, 11));
    CHECK(to_host(a, x) == std::vector<int>(1000, 9));
}

TEST_CASE("a copy with a stream is ordered with that stream only", "[multi]") {
    if (test_devices().size() < 2) HEDDLE_SKIP("needs two devices of one kind");
    DrainedGate gate;
    const Stream a(test_devices()[0]), b(test_devices()[1]), c(test_devices()[1]);
    Array<int> x = full<int>(a, 1000, 1), y = zeros<int>(b, 1000);
    a.synchronize();
    b.synchronize();
    const ScopedStream in_a{a}, in_b{b};
    gate.hold(a);
    gate.hold(b);
    const OpCounter counted;
    copy(c, y, x);
    CHECK(counted.stats().waits_inserted == 0);
    c.synchronize();  // would block if it waited for a or b
    CHECK(to_host(c, y) == std::vector<int>(1000, 1));
}

TEST_CASE("a large copy between devices arrives", "[multi]") {
    if (test_devices().size() < 2) HEDDLE_SKIP("needs two devices of one kind");
    const std::size_t n = 3'000'001;
    const Stream a(test_devices()[0]), b(test_devices()[1]);
    const ScopedStream in_a{a}, in_b{b};
    Array<int> x = empty<int>(a, n), y = empty<int>(b, n), z = zeros<int>(a, n);
    launch(a, Iota{}, dim(n), x);
    copy(y, x);
    copy(z, y);
    CHECK(to_host(a, z) == to_host(a, x));
    CHECK(to_host(a, z)[n - 1] == static_cast<int>(n - 1));
}

TEST_CASE("to_host without a stream uses the array's device and its current stream") {
    const Drained drained;
    const Stream s(test_devices().back());
    Array<int> x = ready_zeros<int>(s, 100);
    const ScopedStream in{s};
    const ScopedDevice elsewhere{cpu_device()};
    fill(s, x, 3);
    CHECK(to_host(x) ==
          std::vector<int>(100, 3));  // follows the fill, although another device is current
}

TEST_CASE("to_host waits for its own stream and for no other") {
    DrainedGate gate;
    const Stream held(test_device()), s(test_device());
    gate.hold(held);
    launch_host(held, [] {});
    CHECK(to_host(s, full<int>(s, 10, 1)) == std::vector<int>(10, 1));  // the copy is not delayed
}
