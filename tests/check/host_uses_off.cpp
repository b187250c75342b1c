// Compiled like a released program: arrays do not report accesses by the host to the checker.
#undef HEDDLE_HOST_ACCESSES
#define HEDDLE_HOST_ACCESSES 0
#include "check/host_uses_off.hpp"

namespace heddle_test {

int sum_untold(const heddle::Array<int>& x) {
    int sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i];
    for (const int value : x) sum += value;
    return sum + *x.data();
}

heddle::Array<int> add_untold(heddle::Array<int> x, int value) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += value;
    for (int& one : x) one += value;
    *x.data() += value;
    return x;
}

}  // namespace heddle_test
