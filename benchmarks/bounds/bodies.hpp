// bench_bounds: the kernels, in the namespace BOUNDS. No include guard: each source has its own.
#include "bounds/parts.hpp"

namespace bench::BOUNDS {

struct Saxpy {
    HEDDLE_FN void operator()(std::size_t i, float a, heddle::View<const float> x,
                              heddle::View<float> y) const {
        y[i] += a * x[i];
    }
};
struct Stencil {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, heddle::View2D<const float> from,
                              heddle::View2D<float> to) const {
        to(y + 1, x + 1) =
            0.25f * (from(y + 1, x) + from(y + 1, x + 2) + from(y, x + 1) + from(y + 2, x + 1));
    }
};

void saxpy(heddle::StreamRef s, std::size_t n, heddle::View<const float> x, heddle::View<float> y) {
    heddle::launch(s, Saxpy{}, heddle::dim(n), 2.0f, x, y);
}
void stencil(heddle::StreamRef s, const heddle::View2D<const float>& from,
             const heddle::View2D<float>& to) {
    heddle::launch(s, Stencil{}, heddle::dim(from.columns() - 2, from.rows() - 2), from, to);
}

}  // namespace bench::BOUNDS
