// heddle with Thrust: algorithms on a stream, with its memory.
#include "want.hpp"

#include <heddle/by_data.hpp>
#include <heddle/heddle.hpp>
#include <heddle/with/thrust.hpp>

#include <thrust/functional.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include <algorithm>
#include <numeric>
#include <vector>

using namespace heddle;

struct Twice {
    __host__ __device__ int operator()(int x) const { return 2 * x; }
};

int main() {
    if (device_count(DeviceKind::cuda) == 0) return 77;
    const Device device("cuda:0");
    const int n = 100000;
    Stream s{device}, t{device};
    std::vector<int> numbers(n);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::reverse(numbers.begin(), numbers.end());
    Array<int> x = empty<int>(s, n);
    copy(s, x, numbers);

    const OpCounter counting;
    t.wait_stream(s);
    thrust::sort(thrust_policy(s, writes(x)), x.data(), x.data() + n);
    want_one_wait(t, s, "a wait for the algorithm");
    want(to_host(t, x) == std::vector<int>(numbers.rbegin(), numbers.rend()), "sorted");

    thrust::transform(thrust_policy(s, writes(x)), x.data(), x.data() + n, x.data(), Twice{});
    const OpCounter counter;
    const int sum = thrust::reduce(thrust_policy(s, reads(x)), x.data(), x.data() + 1000, 0,
                                   thrust::plus<int>());
    want(sum == 999 * 1000, "2 * (0 + ... + 999)");
    want(counter.stats().allocations > 0, "temporaries are arrays of the stream");

    // The same transform() in a capture.
    Array<int> y = full<int>(s, n, 1);
    s.synchronize();
    Graph graph = capture(s, [&] {
        thrust::transform(thrust_policy(s, writes(y)), y.data(), y.data() + n, y.data(), Twice{});
    });
    graph.launch(s), graph.launch(s);
    want(to_host(s, y)[n - 1] == 4, "captured, launched twice");
    return bad != 0;
}
