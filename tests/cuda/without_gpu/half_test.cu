// Reductions of CUDA's 16-bit types. Programs compiled by nvcc can also reduce them on CPU devices.
#include "collective/collective.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

using namespace heddle_test;

TEST_CASE("__half and __nv_bfloat16 are reduced", "[multi][collective]") {
    const std::vector<Device> devices = first_devices(4);
    const std::vector<Stream> streams = streams_of(devices);
    const auto sum_of = [&](auto one) {
        using T = decltype(one);
        DeviceGroup group(devices);  // uses NCCL if it is available
        std::vector<Array<T>> arrays;
        for (const Stream& s : streams) arrays.push_back(full<T>(s, 1001, one));
        group.all_reduce(streams, ReduceOp::sum, arrays);
        const std::vector<T> got = to_host(streams.back(), arrays.back());
        return std::pair<float, float>(static_cast<float>(got.front()),
                                       static_cast<float>(got.back()));
    };
    const float wanted = 1.5f * static_cast<float>(devices.size());
    CHECK(sum_of(__float2half(1.5f)) == std::pair(wanted, wanted));
    CHECK(sum_of(__float2bfloat16(1.5f)) == std::pair(wanted, wanted));
}
