// Compiled like a released program: views do not check their indices.
#undef HEDDLE_BOUNDS
#define HEDDLE_BOUNDS 0
#include "launch/bounds.hpp"

namespace heddle_test {

struct AddUnchecked {
    HEDDLE_FN void operator()(std::size_t i, heddle::View<int> to) const { to[i] += 1; }
};

int element_unchecked(heddle::View<int> view, std::size_t index) { return view[index]; }

void launch_unchecked(heddle::StreamRef stream, heddle::View<int> view, std::size_t count) {
    if (stream.device().is_cpu()) heddle::launch(stream, AddUnchecked{}, heddle::dim(count), view);
}

}  // namespace heddle_test
