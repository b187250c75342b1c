// to_dlpack(): tensors of heddle's memory, for consumers with and without a stream.
#include "kernels.hpp"
#include "memory/foreign_tensor.hpp"
#include "support.hpp"

#include <heddle/by_data.hpp>

#include <algorithm>
#include <complex>
#include <thread>

using namespace heddle_test;

namespace {

constexpr std::size_t n = 12;

template <class T> bool has_element(std::uint8_t code, std::uint8_t bits) {
    const Stream s(test_device());
    const DlpackPtr tensor = to_dlpack(empty<T>(s, n));
    return tensor->tensor.code == code && tensor->tensor.bits == bits && tensor->tensor.lanes == 1;
}

}  // namespace

TEST_CASE("a tensor describes an array's memory") {
    const Stream s(test_device());
    Array<float> x(s, n);
    const DlpackPtr managed = to_dlpack(x, {3, 4});
    CHECK(managed->major == 1);
    CHECK(managed->minor == 0);
    CHECK(managed->flags == 0);
    const DLTensor& tensor = managed->tensor;
    CHECK(tensor.data == x.data());
    CHECK(tensor.device_type == (test_device().is_cuda() ? 2 : 1));
    CHECK(tensor.device_id == (test_device().is_cuda() ? test_device().index() : 0));
    CHECK(tensor.byte_offset == 0);
    CHECK((tensor.code == 2 && tensor.bits == 32 && tensor.lanes == 1));
    REQUIRE(tensor.ndim == 2);
    CHECK((tensor.shape[0] == 3 && tensor.shape[1] == 4));
    CHECK((tensor.strides[0] == 4 && tensor.strides[1] == 1));
}

TEST_CASE("an unversioned tensor describes the same") {
    const Stream s(test_device());
    Array<int> x(s, n);
    const auto managed = to_dlpack<DLManagedTensor>(s, x);
    CHECK(managed->tensor.data == x.data());
    CHECK((managed->tensor.ndim == 1 && managed->tensor.shape[0] == n));
    CHECK((managed->tensor.code == 0 && managed->tensor.bits == 32));
}

TEST_CASE("a tensor of a view begins at the view, with an offset of 0") {
    const Stream s(test_device());
    Array<int> x(s, n);
    const DlpackPtr managed = to_dlpack(x.subview(3, 5));
    CHECK(managed->tensor.data == x.data() + 3);
    CHECK(managed->tensor.byte_offset == 0);
    CHECK(managed->tensor.shape[0] == 5);
    // The address alone is enough to find the array.
    CHECK(to_dlpack(View<int>(x.data() + 1, 2))->tensor.data == x.data() + 1);
}

TEST_CASE("elements have DLPack's types") {
    CHECK(has_element<bool>(6, 8));
    CHECK(has_element<std::byte>(1, 8));
    CHECK(has_element<signed char>(0, 8));
    CHECK(has_element<std::uint16_t>(1, 16));
    CHECK(has_element<std::int64_t>(0, 64));
    CHECK(has_element<double>(2, 64));
    CHECK(has_element<std::complex<float>>(5, 64));
}

TEST_CASE("a tensor of const elements is read-only") {
    const Stream s(test_device());
    Array<int> x(s, n);
    CHECK(to_dlpack(std::as_const(x))->flags == 1);
    CHECK(to_dlpack(View<const int>(x))->flags == 1);
    CHECK(to_dlpack(Array<int>(s, n))->flags == 0);
}

TEST_CASE("a shape has as many elements as the array") {
    const Stream s(test_device());
    Array<int> x(s, n);
    CHECK(mentions(error_of([&] { (void)to_dlpack(x, {3, 5}); }),
                   "the shape has 15 elements, but the array has 12"));
    CHECK(mentions(error_of([&] { (void)to_dlpack(x, {-3, -4}); }), "a dimension has -3 elements"));
    const std::int64_t huge = std::int64_t{1} << 40;
    CHECK(mentions(error_of([&] { (void)to_dlpack(s, x, {huge, huge}); }), "too many elements"));
    const std::vector<std::int64_t> sizes{2, 2, 3};
    CHECK(to_dlpack(x, DlpackShape(sizes))->tensor.strides[0] == 6);
}

TEST_CASE("a tensor without elements has no address") {
    const Stream s(test_device());
    Array<int> x(s, 0);
    const DlpackPtr managed = to_dlpack(s, x, {4, 0});
    CHECK(managed->tensor.data == nullptr);
    CHECK(managed->tensor.device_type == (test_device().is_cuda() ? 2 : 1));
    CHECK((managed->tensor.shape[0] == 4 && managed->tensor.shape[1] == 0));
    Array<int> y(s, n);
    CHECK(to_dlpack(y.first(0))->tensor.data == nullptr);
}

TEST_CASE("host arrays are memory of the CPU, and pinned ones of CUDA's host") {
    const bool gpus = device_count(DeviceKind::cuda) > 0;
    Array<int> plain = pageable<int>(n), locked = pinned<int>(n);
    CHECK(to_dlpack(plain)->tensor.device_type == 1);
    CHECK(to_dlpack(locked)->tensor.device_type == (gpus ? 3 : 1));
}

TEST_CASE("a tensor shares its memory with the array, and may be the last owner") {
    const Stream s(test_device());
    Array<int> x(s, n);
    const View<int> there = x;
    DlpackPtr first = to_dlpack(x), second = to_dlpack(s, x);
    x.reset();
    CHECK(is_there(s, there));
    first.reset();
    CHECK(is_there(s, there));
    std::thread([&] { second.reset(); }).join();  // a deleter may be called by any thread
    CHECK_FALSE(is_there(s, there));
}

TEST_CASE("memory that no array owns cannot be shared") {
    std::vector<int> plain(n);
    CHECK(mentions(error_of([&] { (void)to_dlpack(View<int>(plain)); }),
                   "no array owns the view's memory"));
    const Stream s(test_device());
    Array<int> x(s, n);
    const View<int> dead = x;
    x.reset();
    CHECK(mentions(error_of([&] { (void)to_dlpack(dead); }), "outlived"));
}

TEST_CASE("lent memory, and const memory without a mark for it, are not exported") {
    const Stream s(cpu_device());
    std::vector<int> plain(n);
    Loan loan;
    Array<int> lent = loan.lend(cpu_device(), plain);
    CHECK(mentions(error_of([&] { (void)to_dlpack(lent); }), "could outlive its Loan"));
    const Array<int> x(s, n);
    CHECK(mentions(error_of([&] { (void)to_dlpack<DLManagedTensor>(s, x); }), "as read-only"));
}

TEST_CASE("a tensor for a consumer without a stream is made when the work is done") {
    const Stream s(test_device());
    Array<int> x(s, n);
    const Flag done;
    DrainedGate gate(s);
    fill(s, x, 7);
    launch_host(s, [done] { done.set(); }, writes(x));
    std::thread opener([&] { gate.open(); });
    const DlpackPtr managed = to_dlpack(x);
    CHECK(done.is_set());
    opener.join();
}

TEST_CASE("a consumer's stream is ordered after the work on the memory") {
    const Stream s(test_device()), consumer(test_device());
    Array<int> x(s, n);
    const OrderLog seen;
    DrainedGate gate(s);
    fill(s, x, 7);
    seen.note(s, "work");
    x.used_on(s);
    const DlpackPtr managed = to_dlpack(consumer, x);
    seen.note(consumer, "consumer");
    CHECK(seen.seen().empty());
    check_opened(seen, gate, consumer, {"work", "consumer"});
}

TEST_CASE("memory whose tensor ends is freed after the consumer's pending work") {
    const Stream s(test_device()), consumer(test_device());
    Array<int> x(s, n);
    int* const data = x.data();
    DrainedGate gate;
    DlpackPtr managed = to_dlpack(consumer, x);
    gate.hold(consumer);
    launch_host(consumer, [] {});
    x.reset();
    managed.reset();
    std::vector<Array<int>> others;
    for (int i = 0; i < 4; ++i) others.emplace_back(s, n);
    CHECK(std::ranges::none_of(others, [&](const Array<int>& y) { return y.data() == data; }));
}

TEST_CASE("a failure of work on the memory reaches the consumer") {
    const Stream s(test_device()), consumer(test_device());
    Array<int> x(s, n);
    fill(s, x, 1);
    poison(s);
    x.used_on(s);
    CHECK(error_of([&] { (void)to_dlpack(x); }));
    const DlpackPtr managed = to_dlpack(consumer, x);
    CHECK(error_of([&] { consumer.synchronize(); }));
    consumer.clear_error();
    s.clear_error();
}

TEST_CASE("a tensor is made after the recorded work of a batch") {
    const Stream s(test_device()), consumer(test_device());
    Array<int> x = zeros<int>(s, n);
    Batch steps;
    ScopedBatch batch(steps, s);
    launch(s, Set{}, dim(n), x, 7);
    const DlpackPtr managed = to_dlpack(x);
    if (test_device().is_cpu()) CHECK(static_cast<int*>(managed->tensor.data)[n - 1] == 7);
    launch(s, Set{}, dim(n), x, 8);
    const DlpackPtr ordered = to_dlpack(consumer, x);
    CHECK(to_host(consumer, x) == Ints(n, 8));
}

TEST_CASE("an array of an open capture has no tensor") {
    const Stream s(test_device());
    Array<int> before = zeros<int>(s, n);
    Graph graph;
    {
        ScopedCapture capture(s);
        Array<int> x(s, n);
        CHECK(mentions(error_of([&] { (void)to_dlpack(x); }), "a capture that is still open"));
        fill(s, x, 1);
        CHECK(mentions(error_of([&] { (void)to_dlpack(x); }), "a capture that is still open"));
        capture_if(s, x.view().first(1), [&] {
            CHECK(mentions(error_of([&] { (void)to_dlpack(x); }), "a capture that is still open"));
            launch(s, Add{}, dim(n), x, 0);
        });
        CHECK(mentions(error_of([&] { (void)to_dlpack(s, x); }), "a capture that is still open"));
        copy(s, before, x);
        graph = capture.end();
    }
    const DlpackPtr managed = to_dlpack(before);
    before.reset();
    graph.launch(s);
    s.synchronize();
    if (test_device().is_cpu()) CHECK(static_cast<int*>(managed->tensor.data)[0] == 1);
}

TEST_CASE("a tensor is made after work by data") {
    const Stream consumer(test_device());
    DataOrder order(test_device());
    Array<int> x = zeros<int>(order, n);
    launch(order, Add{}, dim(n), x, 3);
    const DlpackPtr managed = to_dlpack(x);
    if (test_device().is_cpu()) CHECK(static_cast<int*>(managed->tensor.data)[0] == 3);
    launch(order, Add{}, dim(n), x, 4);
    const DlpackPtr ordered = to_dlpack(consumer, x);
    CHECK(to_host(consumer, x) == Ints(n, 7));
}

TEST_CASE("a host function makes no tensor of memory in use") {
    const Stream s(test_device()), other(test_device());
    Array<int> x(s, n);
    std::optional<Error> error;
    DrainedGate gate;
    other.wait_stream(s);
    gate.hold(other);
    fill(other, x, 1);
    launch_host(s, [&] { error = error_of([&] { (void)to_dlpack(x); }); });
    s.synchronize();
    CHECK(error);
}
