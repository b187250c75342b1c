// The functions of host_loops.hpp. HOST_LOOPS is the name of their namespace.
#include "observing/host_loops.hpp"

namespace bench::HOST_LOOPS {

float sum_by_index(const heddle::Array<float>& x) {
    float sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i];
    return sum;
}

void add_by_index(heddle::Array<float>& x, const heddle::Array<float>& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

float sum_by_range(const heddle::Array<float>& x) {
    float sum = 0;
    for (const float value : x) sum += value;
    return sum;
}

}  // namespace bench::HOST_LOOPS
