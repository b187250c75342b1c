// heddle with CUB: temporary memory of a stream, and environments (CCCL 3.2 or newer).
#include "want.hpp"

#include <heddle/heddle.hpp>
#include <heddle/with/cub.hpp>

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

using namespace heddle;

int main() {
    if (device_count(DeviceKind::cuda) == 0) return 77;
    const Device device("cuda:0");
    const int n = 100000;
    Stream s{device}, t{device};
    Array<int> x = full<int>(s, n, 1), sum = zeros<int>(s, 1), all = zeros<int>(s, n);
    const OpCounter counting;
    t.wait_stream(s);
    with_temporary(
        s,
        [&](void* memory, std::size_t& bytes, cudaStream_t native) {
            return cub::DeviceReduce::Sum(memory, bytes, x.data(), sum.data(), n, native);
        },
        reads(x), writes(sum));
    with_temporary(s, [&](void* memory, std::size_t& bytes, cudaStream_t native) {
        return cub::DeviceScan::InclusiveSum(memory, bytes, x.data(), all.data(), n, native);
    });
    want_one_wait(t, s, "a wait for the work");
    want(to_host(t, sum)[0] == n, "the sum");
    want(to_host(t, all)[n - 1] == n, "the scan");

    try {
        with_temporary(s, [](void*, std::size_t&, cudaStream_t) { return cudaErrorInvalidValue; });
        want(false, "CUB's error is thrown");
    } catch (const Error& error) {
        want(error.native_code() == cudaErrorInvalidValue, "with its code");
    }

#if CCCL_VERSION >= 3002000
    fill(s, sum, 0);
    const OpCounter counter;
    check_cuda(
        cub::DeviceReduce::Sum(x.data(), sum.data(), n, cub_environment(s, reads(x), writes(sum))),
        "cub::DeviceReduce::Sum");
    want(counter.stats().allocations > 0, "temporaries are arrays of the stream");
    want_one_wait(t, s, "a wait for the work in an environment");
    want(to_host(t, sum)[0] == n, "the sum by an environment");
#endif
    return bad != 0;
}
