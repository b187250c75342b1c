// Views of the same bytes with another element type, views of rectangles, and views as host ranges.
#include "support.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <span>
#include <type_traits>

using namespace heddle_test;

namespace {
struct Pair {
    int a, b;
    bool operator==(const Pair&) const = default;
};
template <class V, class U>
concept Reinterprets = requires(V v) { v.template reinterpret<U>(); };
}  // namespace

TEST_CASE("a view of the same bytes as other elements has the same owner") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 100);
    const View<int> all = x;
    const View<Pair> pairs = all.reinterpret<Pair>();
    CHECK(pairs.size() == 50);
    CHECK(static_cast<const void*>(pairs.data()) == all.data());
    CHECK(detail::Access::block(pairs) == detail::Access::block(x));
    fill(s, pairs.last(49), Pair{1, 2});
    copy(s, pairs.first(1), std::vector<Pair>{{3, 4}});
    Ints expected;
    for (int i = 0; i < 50; ++i) expected.insert(expected.end(), {i == 0 ? 3 : 1, i == 0 ? 4 : 2});
    CHECK(to_host(s, x) == expected);
    CHECK(to_host(s, pairs.reinterpret<int>()) == expected);
    CHECK(all.first(0).reinterpret<Pair>().empty());
    CHECK(View<int>().reinterpret<double>().empty());
}

TEST_CASE("a reinterpreted view keeps const, or adds it") {
    const Stream s(test_device());
    const Array<float> x = full<float>(s, 4, 1.0f);
    const auto bits = x.view().reinterpret<const std::uint32_t>();
    static_assert(std::is_same_v<decltype(bits), const View<const std::uint32_t>>);
    CHECK(to_host(s, bits) == std::vector<std::uint32_t>(4, 0x3f800000));
    static_assert(Reinterprets<View<float>, const std::byte>);
    static_assert(Reinterprets<View<float>, std::byte>);
    static_assert(!Reinterprets<View<const float>, std::byte>);
    static_assert(!Reinterprets<View<float>, std::string>);
}

TEST_CASE("a view of bytes that are no whole elements, or not aligned for them, is refused") {
    const Stream s(test_device());
    Array<char> x = zeros<char>(s, 64);
    const View<char> all = x;
    const unsigned line = __LINE__ + 1;
    const Error error = thrown_by([&] { (void)all.first(10).reinterpret<int>(); });
    CHECK(error.code() == ErrorCode::usage);
    CHECK(error.where().line == line);
    CHECK(mentions(error, "10 bytes, which is not a multiple of the 4 bytes of an element"));
    CHECK(mentions(
        error_of([&] { (void)all.subview(2, 8).reinterpret<const int>(); }),
        "not a multiple of 4 bytes, the alignment of the new elements (the remainder is 2)"));
    s.synchronize();
}

TEST_CASE("a view and an array of host memory are ranges, and convert to and from std::span") {
    static_assert(std::ranges::view<View<int>> && std::ranges::borrowed_range<View<int>>);
    static_assert(std::ranges::contiguous_range<View<const int>>);
    static_assert(std::ranges::contiguous_range<Array<int>> &&
                  std::ranges::contiguous_range<const Array<int>>);
    static_assert(!std::ranges::view<Array<int>>);
    static_assert(std::is_convertible_v<View<int>, std::span<const int>>);
    static_assert(std::is_convertible_v<std::span<int>, View<const int>>);
    static_assert(!std::is_convertible_v<View<const int>, std::span<int>>);

    Array<int> x = pinned<int>(10);
    std::iota(x.begin(), x.end(), 0);
    const View<int> all = x;
    std::ranges::reverse(all.first(5));
    CHECK(Ints(x.begin(), x.end()) == Ints{4, 3, 2, 1, 0, 5, 6, 7, 8, 9});
    const std::span<const int> elements = all;
    CHECK((elements.data() == x.data() && elements.size() == 10));
    const std::span<int> of_array = x;
    CHECK(of_array.size() == 10);
    const View<int> of_span = of_array.last(3);
    CHECK(of_span[0] == 7);
}

#if !defined(__clang__) || __clang_major__ >= 16  // older ones do not compile libstdc++'s adaptors
TEST_CASE("views go into the adaptors of std::ranges, which look at a GPU's array as little") {
    Array<int> x = pinned<int>(6);
    std::iota(x.begin(), x.end(), 0);
    auto odd = x.view() | std::views::filter([](int i) { return i % 2 == 1; });
    CHECK(Ints(odd.begin(), odd.end()) == Ints{1, 3, 5});
    auto last = x | std::views::reverse | std::views::take(2);
    CHECK(Ints(last.begin(), last.end()) == Ints{5, 4});

    std::vector<int> values(10, 1);
    detail::Block block;
    block.device = detail::Access::device(DeviceKind::cuda, 3);
    const View<int> gpu = detail::Access::view(values.data(), values.size(), &block);
    CHECK(error_of([&] { (void)(gpu | std::views::take(2)).front(); }));
    CHECK(error_of([&] {
        for (const int i : gpu | std::views::reverse) FAIL("read " << i);
    }));
}
#endif

TEST_CASE("a constant expression may loop over a view") {
    static constexpr int values[] = {1, 2, 3};
    constexpr int sum = [] {
        int total = 0;
        for (const int i : View<const int>(values, 3)) total += i;
        return total;
    }();
    static_assert(sum == 6);
}

TEST_CASE("an array has the parts that its view has") {
    const Here here;
    Array<int> x = from_host({1, 2, 3, 4, 5});
    CHECK(to_host(x.first(2)) == Ints{1, 2});
    CHECK(to_host(std::as_const(x).last(2)) == Ints{4, 5});
    CHECK(to_host(x.subview(1, 3)) == Ints{2, 3, 4});
    CHECK(mentions(error_of([&] { (void)x.first(6); }), "5"));
    static_assert(std::is_same_v<decltype(std::as_const(x).first(1)), View<const int>>);
}

TEST_CASE("a view of memory that is known to be a GPU's is refused where the host begins with it") {
    std::vector<int> values(10, 1);
    detail::Block block;  // like an array of a GPU, but in memory that the host can read
    block.device = detail::Access::device(DeviceKind::cuda, 3);
    const View<int> x = detail::Access::view(values.data(), values.size(), &block);
    const unsigned line = __LINE__ + 2;
    const Error error = thrown_by([&] {
        for (const int i : x) FAIL("read " << i);
    });
    CHECK(error.code() == ErrorCode::usage);
    CHECK(error.where().line == line);
    CHECK(mentions(error, "cuda:3"));
    CHECK(mentions(error, "to_host()"));
    CHECK(error_of([&] { (void)std::span<const int>(x); }));
    CHECK(error_of([&] { (void)std::ranges::max(x); }));
    detail::Block pinned_block;
    pinned_block.device = block.device;
    pinned_block.kind = MemoryKind::pinned;
    const View<int> y = detail::Access::view(values.data(), values.size(), &pinned_block);
    CHECK(std::ranges::max(y) == 1);
}

TEST_CASE("memory of a GPU is no range of the host: that is said, and nothing is read") {
    if (test_device().is_cpu()) HEDDLE_SKIP("memory of CPU devices is memory of the host");
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    CHECK(error_of([&] {
        for (const int i : x.view()) FAIL("read " << i);
    }));
    CHECK(error_of([&] { (void)x.begin(); }));
    CHECK(error_of([&] { (void)std::as_const(x).begin(); }));
    CHECK(error_of([&] { (void)std::span<int>(x); }));
    CHECK(error_of([&] { (void)std::span<const int>(x.view()); }));
    CHECK(error_of([&] { (void)std::ranges::max(x.view().last(3)); }));
    s.synchronize();
}

TEST_CASE("elements of a rectangle are named by row and column") {
    std::vector<int> host(60);
    std::iota(host.begin(), host.end(), 0);
    const View<int> all = host;
    const View2D<int> part(all.subview(12, 33), 4, 3, 10);
    CHECK(part(0, 0) == 12);
    CHECK(part(3, 2) == 44);
    part(1, 1) = -1;
    CHECK(host[23] == -1);
    CHECK(part.data() == &host[12]);
    CHECK(Ints(part.row(2).begin(), part.row(2).end()) == Ints{32, 33, 34});
    const unsigned line = __LINE__ + 1;
    CHECK(thrown_by([&] { (void)part.row(4); }).where().line == line);
    static_assert(
        std::is_same_v<decltype(View2D<const int>(part.memory(), 1, 1)(0, 0)), const int&>);
}

TEST_CASE("a negative size is refused, with the number that was written") {
    const Stream s(test_device());
    const ScopedStream in{s};
    const int minus = -7;
    const auto as_size = static_cast<std::size_t>(minus);
    Array<char> x = zeros<char>(10);
    const auto refused = [](const std::string& call, const auto& function) {
        const Error error = thrown_by(function);
        CHECK(error.code() == ErrorCode::usage);
        CHECK(error.call() == call);
        CHECK_THAT(error.what(), contains("a size is -7") && contains("view_test.cpp"));
    };
    refused("Array", [&] { Array<char> none(as_size); });
    refused("Array", [&] { Array<char> none(s, as_size); });
    refused("empty", [&] { (void)empty<float>(as_size); });
    refused("zeros", [&] { (void)zeros<float>(as_size); });
    refused("zeros", [&] { (void)zeros<float>(test_device(), as_size); });
    refused("full", [&] { (void)full<float>(s, as_size, 1); });
    refused("pinned", [&] { (void)pinned<char>(as_size); });
    refused("pageable", [&] { (void)pageable<char>(as_size); });
    refused("shareable", [&] { (void)shareable<char>(test_device(), as_size); });
    refused("first", [&] { (void)x.first(as_size); });
    refused("last", [&] { (void)x.last(as_size); });
    refused("subview", [&] { (void)x.subview(as_size, 1); });
    refused("subview", [&] { (void)x.subview(1, as_size); });
    refused("View2D", [&] { View2D<char> none(x, as_size, 2); });
    refused("View2D", [&] { View2D<char> none(x, 2, as_size); });
    refused("fork_join_n", [&] { fork_join_n(s, as_size, [](std::size_t) {}); });
}

TEST_CASE("errors of views and copies name the call that was made, and count in elements") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 20), y = zeros<int>(s, 12);
    const View2D<int> wide(x, 2, 10), narrow(y, 3, 4);
    const auto refused = [](const std::string& call, const std::string& text,
                            const auto& function) {
        const Error error = thrown_by(function);
        CHECK(error.call() == call);
        CHECK_THAT(error.what(), contains(text) && contains("view_test.cpp"));
    };
    refused("first", "30 elements are requested, but the view has 20", [&] { (void)x.first(30); });
    refused("last", "21 elements are requested, but the view has 20", [&] { (void)x.last(21); });
    std::vector<int> unsized;
    refused("copy", "resize the destination, or use the vector that to_host() returns",
            [&] { copy(unsized, x); });
    refused("copy", "use fill() to repeat an element", [&] { copy(x, y.first(1)); });
    refused("subview", "8 elements from element 15 on are requested, but the view has 20",
            [&] { (void)x.subview(15, 8); });
    refused("View2D", "5 rows of 5 elements do not fit in the memory, which has 20 elements",
            [&] { View2D<int> none(x, 5, 5); });
    refused("View2D", "3 rows of 5 elements, with a pitch of 8 elements, do not fit in the memory",
            [&] { View2D<int> none(x, 3, 5, 8); });
    refused("row", "row 7 does not exist: the view has 2 rows", [&] { (void)wide.row(7); });
    refused("copy_2d", "the destination has 2 rows of 10 elements, but the source has 3 rows of 4",
            [&] { copy_2d(s, wide, narrow); });
    refused("copy_2d", "overlap", [&] { copy_2d(s, wide, wide); });
    refused("copy", "the destination has 20 elements, but the source has 12 elements",
            [&] { copy(s, x, y); });
    s.synchronize();
}

namespace {
struct SumRows {
    HEDDLE_FN void operator()(std::size_t row, View2D<const int> from, View<int> to) const {
        for (std::size_t i = 0; i < from.columns(); ++i) to[row] += from(row, i);
    }
};
}  // namespace

TEST_CASE("a rectangle converts to one that is only read") {
    std::vector<int> memory{1, 2, 3, 4, 5, 6, 7, 8};
    const View2D<int> all(View<int>(memory), 2, 3, 4);
    const View2D<const int> read = all;
    CHECK(read.data() == memory.data());
    CHECK(read.rows() == 2);
    CHECK(read.columns() == 3);
    CHECK(read.pitch() == 4);
    CHECK(read(1, 2) == 7);
    const Stream s(cpu_device());
    Array<int> sums = zeros<int>(s, 2);
    launch(s, SumRows{}, dim(2), all, sums);
    CHECK(to_host(s, sums) == std::vector<int>{6, 18});
}
