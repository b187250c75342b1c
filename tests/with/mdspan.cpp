// Kernels with mdspans and spans of CCCL, and of the standard library if it has std::mdspan. The
// program checks the accesses that an observer sees. It runs on CPU devices. Compiled by g++,
// clang++ and nvcc with every CCCL (scripts/check_cccl).
#include "want.hpp"

#include <heddle/by_data.hpp>
#include <heddle/with/mdspan.hpp>

#include <cuda/std/mdspan>
#include <cuda/std/span>

#include <span>
#include <type_traits>
#include <vector>
#if __has_include(<mdspan>)
#include <mdspan>
#endif

using namespace heddle;

static_assert(std::is_convertible_v<Array<float>&, cuda::std::span<float>>);
static_assert(std::is_convertible_v<View<float>, cuda::std::span<float>>);
static_assert(std::is_convertible_v<View<float>&, cuda::std::span<const float>>);
static_assert(!std::is_convertible_v<View<const float>, cuda::std::span<float>>);
static_assert(std::is_convertible_v<cuda::std::span<float>, View<float>>);
static_assert(!std::is_convertible_v<cuda::std::span<const float>, View<float>>);

namespace {

using cuda::std::dextents;
using Image = cuda::std::mdspan<float, dextents<int, 2>>;
using ConstImage = cuda::std::mdspan<const float, dextents<int, 2>>;
using Padded = cuda::std::mdspan<float, dextents<int, 2>, cuda::std::layout_stride>;
using Volume = cuda::std::mdspan<float, dextents<int, 4>, cuda::std::layout_left>;
using Checked =
    cuda::std::mdspan<float, dextents<int, 2>, cuda::std::layout_right, bounds_accessor<float>>;

/// out = in, transposed
struct Transpose {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, ConstImage in, Image out) const {
        out(static_cast<int>(x), static_cast<int>(y)) =
            in(static_cast<int>(y), static_cast<int>(x));
    }
};
/// m(y, x) = value
struct SetImage {
    template <class M>
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, M m, float value) const {
        m(static_cast<int>(y), static_cast<int>(x)) = value;
    }
};
struct SetVolume {
    HEDDLE_FN void operator()(std::size_t i, Volume m) const {
        m.data_handle()[i] = static_cast<float>(i);
    }
};
struct AddSpan {
    HEDDLE_FN void operator()(std::size_t i, cuda::std::span<const float> x,
                              cuda::std::span<float> y) const {
        y[i] += x[i];
    }
};

/// Stores the accesses of the last launch.
class Seen final : public Observer {
public:
    Seen() { add_observer(*this); }
    ~Seen() { remove_observer(*this); }
    void on_op(const OpInfo& op) noexcept override {
        if (op.kind != OpKind::launch) return;
        count = 0;
        for (const OpAccess& one : op.accesses)
            if (count < 4) all[count++] = one;
    }
    bool has(std::size_t i, const void* data, std::size_t elements, AccessMode mode) const {
        return i < count && all[i].data == data && all[i].bytes == elements * sizeof(float) &&
               all[i].mode == mode && all[i].argument == static_cast<int>(i) &&
               all[i].allocation != 0;
    }
    OpAccess all[4];
    std::size_t count = 0;
};

constexpr int width = 40, height = 30;

void transpose(const Stream& s) {
    std::vector<float> values(width * height);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const Array<float> x = from_host(s, values);
    Array<float> y = zeros<float>(s, values.size());
    Seen seen;
    const auto in = spanning<ConstImage>(x, height, width);
    launch(s, Transpose{}, dim(in), in, spanning<Image>(y, width, height));
    want(seen.has(0, x.view().data(), values.size(), AccessMode::read), "the input's access");
    want(seen.has(1, y.view().data(), values.size(), AccessMode::read_write),
         "the output's access");
    s.synchronize();
    const auto out = as<Image>(y, width, height);
    bool holds = true;
    for (int row = 0; row < height; ++row)
        for (int column = 0; column < width; ++column)
            holds = holds && out(column, row) == static_cast<float>(row * width + column);
    want(holds, "the transposed image");
}

void layouts(const Stream& s) {
    Array<float> x = zeros<float>(s, 100);
    Seen seen;
    const Padded::mapping_type rows(Padded::extents_type(3, 4), cuda::std::array<int, 2>{10, 1});
    const auto padded = spanning<Padded>(x.subview(5, 50), rows);
    launch(s, SetImage{}, dim(padded), padded, 2.0f);
    want(seen.has(0, x.view().data() + 5, 24, AccessMode::read_write), "the span with padding");
    launch(s, SetVolume{}, dim(24), spanning<Volume>(x, 2, 3, 1, 4));
    want(seen.has(0, x.view().data(), 24, AccessMode::read_write), "four dimensions");
    const auto checked = spanning<Checked>(x, 2, 2);
    launch(s, SetImage{}, dim(checked), checked.mdspan(), 1.0f);
    want(seen.has(0, x.view().data(), 4, AccessMode::read_write), "the plain mdspan");
    const std::vector<float> got = to_host(s, x);
    want(got[3] == 1 && got[4] == 4 && got[18] == 18 && got[28] == 2 && got[29] == 0,
         "the elements");
    want(is_refused([&] { (void)spanning<Image>(x, 10, 11); }), "extents that do not fit");
    want(is_refused([&] { (void)spanning<Image>(x, -1, 11); }), "a negative extent");
}

void spans(const Stream& s) {
    Array<float> x = full<float>(s, 10, 1), y = zeros<float>(s, 10);
    Seen seen;
    launch(s, AddSpan{}, dim(10), x, y.view());
    want(seen.has(0, x.view().data(), 10, AccessMode::read), "an array for a span");
    want(seen.has(1, y.view().data(), 10, AccessMode::read_write), "a view for a span");
    const cuda::std::span<float> part = y.last(5);
    launch(s, AddSpan{}, dim(5), std::span<const float>(x.view().data(), 5), part);
    want(seen.has(0, x.view().data(), 5, AccessMode::read), "a std::span");
    want(seen.has(1, y.view().data() + 5, 5, AccessMode::read_write), "a cuda::std::span");
    const std::vector<float> got = to_host(s, y);
    want(got[0] == 1 && got[9] == 2, "the sums");
}

void by_data() {
    DataOrder order(Device("cpu"));
    Array<float> x = full<float>(order, 12, 1), y = zeros<float>(order, 12);
    for (int i = 0; i < 10; ++i) {
        launch(order, SetImage{}, dim(4, 3), spanning<Image>(x, 3, 4), static_cast<float>(i));
        launch(order, Transpose{}, dim(4, 3), spanning<ConstImage>(x, 3, 4),
               spanning<Image>(y, 4, 3));
    }
    want(to_host(order, y) == std::vector<float>(12, 9), "the order by data");
}

#ifdef __cpp_lib_mdspan
using Standard = std::mdspan<float, std::dextents<std::size_t, 2>>;
void standard(const Stream& s) {
    Array<float> x = zeros<float>(s, 12);
    Seen seen;
    const auto m = spanning<Standard>(x, 3, 4);
    launch(
        s, [](std::size_t column, std::size_t row, Standard to) { to[row, column] = 3; }, dim(m),
        m);
    want(seen.has(0, x.view().data(), 12, AccessMode::read_write), "a std::mdspan");
    want(to_host(s, x) == std::vector<float>(12, 3), "the elements of a std::mdspan");
}
#else
void standard(const Stream&) {}
#endif

}  // namespace

int main() {
    const Stream s{Device("cpu")};
    transpose(s);
    layouts(s);
    spans(s);
    by_data();
    standard(s);
    s.synchronize();
    return bad != 0;
}
