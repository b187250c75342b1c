// Views of the same bytes as elements of another type.
#include "support.hpp"

#include <cstddef>
#include <cstdint>
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
    CHECK(static_cast<const void*>(pairs.data()) == x.data());
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
    const auto error = error_of([&] { (void)all.first(10).reinterpret<int>(); });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::usage);
    CHECK(error->where().line == line);
    CHECK(mentions(error, "10 bytes, which is not a multiple of the 4 of an element"));
    CHECK(mentions(error_of([&] { (void)all.subview(2, 8).reinterpret<const int>(); }),
                   "begins 2 bytes behind a multiple of 4"));
    s.synchronize();
}
