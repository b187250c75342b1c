// 16-bit floating-point numbers: conversions and reductions.
#include "collective/collective.hpp"
#include "collective/float16.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace heddle_test;
using detail::BFloat16;
using detail::Float16;

namespace {

/// A user's own type. The library only knows its bits.
struct MyHalf {
    std::uint16_t bits;
    bool operator==(const MyHalf&) const = default;
};
struct MyBrain {
    std::uint16_t bits;
    bool operator==(const MyBrain&) const = default;
};

/// Rounds `x` to a format with `precision` bits and the least exponent `least`. Ties are rounded to
/// even. The library uses another algorithm.
double nearest(double x, int precision, int least) {
    if (x == 0 || !std::isfinite(x)) return x;
    const int exponent = std::max(std::ilogb(x), least);
    const double unit = std::ldexp(1.0, exponent - precision + 1);
    return std::nearbyint(x / unit) * unit;
}

template <class T> void check_round_trip() {
    int wrong = 0;
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        const T x{static_cast<std::uint16_t>(bits)};
        const T again = T::of(x.value());
        if (std::isnan(x.value()) ? !std::isnan(again.value()) : again.bits != x.bits) ++wrong;
    }
    CHECK(wrong == 0);
}

template <class T> void check_rounding(int precision, int least, double largest) {
    std::mt19937 random(7);
    int wrong = 0;
    for (int i = 0; i < 300'000; ++i) {
        const auto bits = static_cast<std::uint32_t>(random());
        float x = 0;
        std::memcpy(&x, &bits, sizeof x);
        if (i % 3 != 0)
            x = std::ldexp(static_cast<float>(bits % 8192), static_cast<int>(bits >> 13) % 40 - 30);
        if (std::isnan(x)) continue;
        const double wanted = nearest(x, precision, least);
        const double got = T::of(x).value();
        const bool right = std::fabs(wanted) > largest
                               ? std::isinf(got) && std::signbit(got) == std::signbit(x)
                               : got == wanted && std::signbit(got) == std::signbit(x);
        if (!right) ++wrong;
    }
    CHECK(wrong == 0);
    CHECK(std::isnan(T::of(std::numeric_limits<float>::quiet_NaN()).value()));
    CHECK(std::isinf(T::of(std::numeric_limits<float>::infinity()).value()));
    CHECK(T::of(1.5f).value() == 1.5f);
}

}  // namespace

template <> inline constexpr HalfKind heddle::half_kind<MyHalf> = HalfKind::ieee;
template <> inline constexpr HalfKind heddle::half_kind<MyBrain> = HalfKind::brain;

TEST_CASE("all numbers of 16 bits become floats and come back") {
    check_round_trip<Float16>();
    check_round_trip<BFloat16>();
}

TEST_CASE("floats become the nearest number of 16 bits, ties to even") {
    check_rounding<Float16>(11, -14, 65504);
    check_rounding<BFloat16>(8, -126, 0x1.fep127);
    CHECK(Float16::of(1.0f).bits == 0x3c00);
    CHECK(Float16::of(-2.0f).bits == 0xc000);
    CHECK(Float16::of(65519.9f).bits == 0x7bff);
    CHECK(Float16::of(65520.0f).bits == 0x7c00);
    CHECK(Float16::of(0x1p-24f).bits == 1);
    CHECK(Float16::of(0x1p-25f).bits == 0);
    CHECK(BFloat16::of(1.0f).bits == 0x3f80);
}

TEST_CASE("numbers of 16 bits are reduced as floats, and rounded once", "[multi][collective]") {
    const std::vector<Device> devices = first_devices(4);
    const std::vector<Stream> streams = streams_of(devices);
    const auto reduced = [&](ReduceOp op, auto make, std::size_t count) {
        using T = decltype(make(1.0f));
        DeviceGroup group = by_copies(devices);
        std::vector<Array<T>> arrays;
        for (std::size_t i = 0; i < devices.size(); ++i)
            arrays.push_back(full<T>(streams[i], count, make(i == 0 ? 2048.0f : 1.0f)));
        group.all_reduce(streams, op, arrays);
        for (std::size_t i = 1; i < devices.size(); ++i)
            CHECK(to_host(streams[i], arrays[i]) == to_host(streams[0], arrays[0]));
        const std::vector<T> got = to_host(streams[0], arrays[0]);
        CHECK(got == std::vector<T>(count, got[0]));
        return got[0];
    };
    const auto half = [](float x) { return MyHalf{Float16::of(x).bits}; };
    const auto brain = [](float x) { return MyBrain{BFloat16::of(x).bits}; };
    const auto others = static_cast<float>(devices.size() - 1);
    // A half cannot represent 2048 + 1. If each addition were rounded, the sum would stay at 2048.
    for (const std::size_t count : {1u, 1003u, 300'000u}) {
        CHECK(reduced(ReduceOp::sum, half, count) == half(2048.0f + others));
        CHECK(reduced(ReduceOp::sum, brain, count) == brain(2048.0f + others));
    }
    CHECK(reduced(ReduceOp::max, half, 100) == half(2048.0f));
    CHECK(reduced(ReduceOp::min, brain, 100) == brain(others == 0 ? 2048.0f : 1.0f));
    CHECK(reduced(ReduceOp::product, half, 100) == half(2048.0f));
    CHECK(reduced(ReduceOp::average, half, 100) == half((2048.0f + others) / (others + 1)));
}
