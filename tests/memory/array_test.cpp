// Arrays: ownership, creation, and views.
#include "kernel_launches.hpp"
#include "support.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>

using namespace heddle_test;

TEST_CASE("an array made on a stream is memory of that stream's device") {
    for (Device d : test_devices()) {
        const Stream s(d);
        Array<float> x = empty<float>(s, 10);
        CHECK(x.device() == d);
        CHECK(x.kind() == MemoryKind::device);
        CHECK(x.size() == 10);
        CHECK(x.size_bytes() == 40);
        CHECK_FALSE(x.empty());
        CHECK(x.data() != nullptr);
    }
}

TEST_CASE(
    "an array made without a stream is on the current stream's device, in that stream's order") {
    DrainedGate gate;
    const Stream s(test_devices().back());
    gate.hold(s);
    const ScopedStream in{s};
    Array<int> x = full<int>(5, 3);
    CHECK(x.device() == test_devices().back());
    CHECK_FALSE(s.is_complete());  // the gate delays the fill
    gate.open();
    CHECK(to_host(x) == std::vector<int>(5, 3));
}

TEST_CASE("zeros are zero and full is full, for every type") {
    const Stream s(test_device());
    CHECK(to_host(s, zeros<double>(s, 7)) == std::vector<double>(7, 0.0));
    CHECK(to_host(s, full<std::uint8_t>(s, 7, 200)) == std::vector<std::uint8_t>(7, 200));
    CHECK(to_host(s, full<std::int16_t>(s, 7, -5)) == std::vector<std::int16_t>(7, -5));
    CHECK(to_host(s, full<float>(s, 7, 1.5f)) == std::vector<float>(7, 1.5f));
    CHECK(to_host(s, full<std::uint64_t>(s, 7, 1ull << 60)) ==
          std::vector<std::uint64_t>(7, 1ull << 60));
}

TEST_CASE("memory that comes back from an earlier array is zeroed anew") {
    const Stream s(test_device());
    for (int i = 0; i < 10; ++i) {
        Array<int> x = zeros<int>(s, 5000);
        CHECK(to_host(s, x) == std::vector<int>(5000, 0));
        fill(s, x, -1);
    }
}

TEST_CASE("host ranges of all sorts become arrays") {
    const Stream s(test_device());
    const ScopedStream in{s};
    const std::vector<int> vector{1, 2, 3};
    const std::array<int, 3> fixed{4, 5, 6};
    int plain[] = {7, 8};
    CHECK(to_host(from_host(vector)) == vector);
    CHECK(to_host(from_host(fixed)) == std::vector<int>{4, 5, 6});
    CHECK(to_host(from_host(std::span<const int>(vector).subspan(1))) == std::vector<int>{2, 3});
    CHECK(to_host(from_host(plain)) == std::vector<int>{7, 8});
    CHECK(to_host(from_host({9, 10})) == std::vector<int>{9, 10});
    CHECK(to_host(from_host(s, vector)) == vector);
}

TEST_CASE("a host range may be changed as soon as it has become an array") {
    const Stream s(test_device());
    std::vector<int> source(1000, 1);
    Array<int> x = from_host(s, source);
    std::fill(source.begin(), source.end(), 2);
    CHECK(to_host(s, x) == std::vector<int>(1000, 1));
}

TEST_CASE("an array that holds nothing is refused wherever it is used, by call and place") {
    const Stream s(test_device());
    const ScopedStream in{s};
    Array<int> none, x = zeros<int>(10), moved = std::move(x);
    std::vector<int> host(10);
    const auto refused = [](const std::string& name, const auto& call) {
        const Error error = thrown_by(call);
        CHECK(error.call() == name);
        CHECK(mentions(error, "this array has no memory"));
        CHECK(mentions(error, "array_test.cpp"));
    };
    refused("fill", [&] { fill(none, 1); });
    refused("fill", [&] { fill(s, x, 1); });
    refused("fill_zero", [&] { fill_zero(x); });
    refused("fill_zero", [&] { fill_zero(s, x); });
    refused("copy", [&] { copy(none, x); });
    refused("copy", [&] { copy(s, host, x); });
    refused("copy", [&] { copy(s, x, moved); });
    refused("to_host", [&] { (void)to_host(x); });
    refused("to_host", [&] { (void)to_host(s, x); });
    refused("fill_node", [&] { fill_node(none, 1); });
    refused("copy_node", [&] { copy_node(moved, none); });
    refused("launch", [&] { launch(Iota{}, dim(10), x); });
    refused("touching", [&] { (void)touching(x, ViewPart(moved.view())); });
    refused("concurrent", [&] { (void)concurrent(x); });
    DeviceGroup group({test_device()}, {.transport = Transport::copies});
    std::vector<Array<int>> of_ranks(1);
    refused("DeviceGroup::all_reduce", [&] { group.all_reduce(ReduceOp::sum, of_ranks); });
    CHECK(to_host(moved) == Ints(10, 0));
}

TEST_CASE("arrays may be empty") {
    const Stream s(test_device());
    const ScopedStream in{s};
    Array<int> none, zero = empty<int>(0), filled = zeros<int>(0);
    CHECK(none.empty());
    for (Array<int>* x : {&zero, &filled}) {
        CHECK(x->empty());
        CHECK(x->size() == 0);
        CHECK(x->size_bytes() == 0);
        CHECK(x->view().empty());
        fill(s, *x, 1);
        launch(Iota{}, dim(x->size()), *x);
        CHECK(to_host(s, *x).empty());
    }
    copy(zero, filled);
    CHECK(from_host(std::vector<int>()).empty());
    s.synchronize();
}

TEST_CASE("an array moves, and leaves an empty one behind") {
    const Stream s(test_device());
    Array<int> a = full<int>(s, 10, 1), b = full<int>(s, 20, 2);
    const int* const data = a.view().data();
    Array<int> c = std::move(a);
    CHECK(a.empty());
    CHECK(a.data() == nullptr);
    CHECK(c.view().data() == data);
    b = std::move(c);
    CHECK(b.view().data() == data);
    CHECK(b.size() == 10);
    CHECK(to_host(s, b) == std::vector<int>(10, 1));
    b.reset();
    CHECK(b.empty());
    CHECK(b.data() == nullptr);
    b.reset();
}

TEST_CASE("arrays of one stream do not overlap") {
    const Stream s(test_device());
    std::vector<Array<int>> arrays;
    for (int i = 0; i < 50; ++i)
        arrays.push_back(full<int>(s, 100 + static_cast<std::size_t>(i), i));
    int wrong = 0;
    for (int i = 0; i < 50; ++i)
        wrong += to_host(s, arrays[static_cast<std::size_t>(i)]) !=
                 std::vector<int>(100 + static_cast<std::size_t>(i), i);
    CHECK(wrong == 0);
}

namespace {
struct alignas(256) Tile {
    int values[64];
};
template <class T> bool is_aligned(const Array<T>& array) {
    return reinterpret_cast<std::uintptr_t>(array.data()) % 256 == 0;
}
}  // namespace

TEST_CASE("all memory is aligned to 256 bytes, as CUDA's is") {
    const Stream s(test_device());
    for (int round = 0; round < 3; ++round) {  // also tests memory that is reused
        for (const std::size_t size : {1u, 3u, 100u, 300u, 5000u, 100'000u}) {
            const Array<char> a = empty<char>(s, size), b = empty<char>(s, size);
            CHECK((is_aligned(a) && is_aligned(b)));
            CHECK(is_aligned(pinned<char>(size)));
            CHECK(is_aligned(pageable<char>(size)));
            CHECK(is_aligned(shareable<char>(test_device(), size)));
        }
        const Array<Tile> tiles = empty<Tile>(s, 3);
        CHECK(is_aligned(tiles));
    }
}

TEST_CASE("what a batch and a captured graph allocate is aligned to 256 bytes") {
    const Stream s(test_device());
    Batch batch({.on_cpu = true});
    for (int round = 0; round < 3; ++round) {
        const ScopedBatch in(batch, s);
        const Array<Tile> a = empty<Tile>(s, 1), b = empty<Tile>(s, 2);
        CHECK((is_aligned(a) && is_aligned(b)));
    }
    const Graph graph = capture(s, [&] {
        const Array<char> odd = zeros<char>(s, 3);
        const Array<Tile> a = empty<Tile>(s, 1);
        CHECK((is_aligned(odd) && is_aligned(a)));
    });
    (void)graph;
}

TEST_CASE("host arrays are read and written by index") {
    for (MemoryKind kind : {MemoryKind::pinned, MemoryKind::pageable}) {
        Array<int> x = kind == MemoryKind::pinned ? pinned<int>(10) : pageable<int>(10);
        CHECK(x.kind() == kind);
        CHECK(x.device() == cpu_device());
        for (std::size_t i = 0; i < 10; ++i) x[i] = static_cast<int>(i * i);
        const Array<int>& same = x;
        CHECK(same[9] == 81);
        CHECK(same.data() == x.data());
    }
}

TEST_CASE("a host array becomes a device array") {
    const Stream s(test_device());
    for (MemoryKind kind : {MemoryKind::pinned, MemoryKind::pageable}) {
        Array<int> x = kind == MemoryKind::pinned ? pinned<int>(100) : pageable<int>(100);
        std::iota(x.begin(), x.end(), 0);
        Array<int> y = from_host(s, x.view());
        CHECK(to_host(s, y) == to_host(s, x));
    }
}

TEST_CASE("too much memory is OutOfMemory, and everything still works") {
    const Stream s(test_device());
    const std::size_t much = std::numeric_limits<std::size_t>::max() / 64;
    const unsigned line = __LINE__ + 1;
    const Error error = thrown_by([&] { (void)empty<double>(s, much); });
    CHECK(error.code() == ErrorCode::out_of_memory);
    CHECK(error.where().line == line);
    CHECK(error.device() == test_device());
    CHECK_THROWS_AS(pageable<double>(much), OutOfMemory);
    CHECK_THROWS_AS(pinned<double>(much), OutOfMemory);
    const Error of_zeros = thrown_by([&] { (void)zeros<double>(s, much); });
    CHECK(of_zeros.code() == ErrorCode::out_of_memory);
    if (!test_device().is_cuda()) CHECK(of_zeros.call() == "zeros");  // on GPUs: the native call
    CHECK_FALSE(s.is_poisoned());
    CHECK(to_host(s, full<int>(s, 100, 7)) == std::vector<int>(100, 7));
}

TEST_CASE("a size whose bytes do not fit a number is OutOfMemory, not a small allocation") {
    const Stream s(test_device());
    const std::size_t wraps = std::numeric_limits<std::size_t>::max() / 8 + 2;  // wraps * 8 == 8
    CHECK_THROWS_AS(empty<double>(s, wraps), OutOfMemory);
    CHECK_THROWS_AS(pageable<double>(wraps), OutOfMemory);
    CHECK_THROWS_AS(pinned<double>(wraps), OutOfMemory);
}

TEST_CASE("parts of a view refer to the same memory") {
    const Stream s(test_device());
    Array<int> x = empty<int>(s, 10);
    const View<int> all = x;
    CHECK(all.data() == x.data());
    CHECK(all.size() == 10);
    CHECK(all.first(3).data() == x.data());
    CHECK(all.first(3).size() == 3);
    CHECK(all.last(4).data() == x.data() + 6);
    CHECK(all.last(4).size() == 4);
    CHECK(all.subview(2, 5).data() == x.data() + 2);
    CHECK(all.subview(2, 5).size_bytes() == 20);
    CHECK(detail::Access::block(all.subview(2, 5)) == detail::Access::block(all));
    CHECK(all.first(10).size() == 10);
    CHECK(all.subview(10, 0).empty());
}

TEST_CASE("a part that is not in the view is a usage error which says how large it is") {
    std::vector<int> memory(10);
    const View<int> all(memory);
    CHECK_THROWS_AS(all.first(11), UsageError);
    CHECK_THROWS_AS(all.last(11), UsageError);
    CHECK_THROWS_AS(all.subview(5, 6), UsageError);
    CHECK_THROWS_AS(all.subview(11, 0), UsageError);
    CHECK_THROWS_AS(all.subview(1, std::numeric_limits<std::size_t>::max()), UsageError);
    const unsigned line = __LINE__ + 1;
    const Error error = thrown_by([&] { all.first(123); });
    CHECK(error.where().line == line);
    CHECK_THAT(error.what(), contains("123"));
    CHECK_THAT(error.what(), contains("10"));
}

TEST_CASE("views of host ranges see the range") {
    std::vector<int> vector{1, 2, 3};
    const View<int> v(vector);
    v[1] = 20;
    CHECK(vector[1] == 20);
    const View<const int> c = v;
    CHECK(std::accumulate(c.begin(), c.end(), 0) == 24);
    CHECK(detail::Access::block(c) == nullptr);
}

TEST_CASE("reading a view that outlived its array says so, and where") {
    const Stream s(test_device());
    View<int> view;
    {
        Array<int> x = zeros<int>(s, 100);
        view = x.view();
    }
    const Error error = thrown_by([&] { (void)to_host(view); });
    CHECK(error.call() == "to_host");
    CHECK(std::string(error.where().file).find("array_test") != std::string::npos);
}
