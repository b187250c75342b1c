// A program may use `using namespace heddle`, CUB, Thrust and libcu++ in the same file. In the
// scope of that directive, nvcc's generated code names cuda::std, cub and thrust without leading
// colons. Therefore, no name of heddle may conflict with them.
#include <heddle/cuda.hpp>

using namespace heddle;  // before the other headers, so that conflicts are most likely

#include <cub/cub.cuh>

#include <cuda/atomic>
#include <cuda/functional>
#include <cuda/std/array>
#include <cuda/std/functional>
#include <cuda/std/utility>

#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include "support.hpp"

#include <cstddef>
#include <functional>

namespace {

using heddle_test::Ints;
using heddle_test::test_device;

/// A kernel with parameters of libcu++ types. nvcc's generated host code names these types.
template <class F> __global__ void combine(F f, cuda::std::array<int, 2> addends, int* sum) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    cuda::atomic_ref<int, cuda::thread_scope_device> shared(*sum);
    shared.fetch_add(f(addends[0], addends[1]) + i, cuda::std::memory_order_relaxed);
}

struct Square {
    HEDDLE_FN int operator()(int x) const { return x * x; }
};

/// A portable kernel that takes a libcu++ function object.
struct Apply {
    template <class F> HEDDLE_FN void operator()(std::size_t i, F f, View<int> x) const {
        x[i] = f(x[i], 1);
    }
};

bool is_on_cuda() { return test_device().is_cuda(); }

}  // namespace

TEST_CASE("kernels whose parameters are of libcu++ are launched beside `using namespace heddle`") {
    if (!is_on_cuda()) HEDDLE_SKIP("libcu++'s kernels need a CUDA device");
    const Stream s(test_device());
    Array<int> sum = zeros<int>(s, 1);
    const cuda::std::array<int, 2> addends{3, 4};
    launch(s, combine<cuda::std::plus<int>>, grid(dim3(1), dim3(2)), cuda::std::plus<int>{},
           addends, sum);
    combine<<<1, 2, 0, native_handle(s)>>>(cuda::std::multiplies<int>{}, addends, sum.data());
    check_cuda(cudaGetLastError(), "combine");
    launch(s, Apply{}, dim(1), cuda::std::plus<>{}, sum);
    CHECK(to_host(s, sum) == Ints{3 + 4 + 3 + 5 + 12 + 13 + 1});
}

TEST_CASE("CUB's algorithms run on heddle's streams and arrays") {
    if (!is_on_cuda()) HEDDLE_SKIP("CUB needs a CUDA device");
    const Stream s(test_device());
    const Array<int> x = full<int>(s, 1000, 2);
    Array<int> sum = zeros<int>(s, 1);
    std::size_t bytes = 0;
    check_cuda(cub::DeviceReduce::Sum(nullptr, bytes, x.data(), sum.data(), 1000, native_handle(s)),
               "cub::DeviceReduce::Sum");
    Array<unsigned char> scratch = zeros<unsigned char>(s, bytes);
    check_cuda(
        cub::DeviceReduce::Sum(scratch.data(), bytes, x.data(), sum.data(), 1000, native_handle(s)),
        "cub::DeviceReduce::Sum");
    CHECK(to_host(s, sum) == Ints{2000});
}

TEST_CASE("Thrust's algorithms run on heddle's streams and arrays") {
    if (!is_on_cuda()) HEDDLE_SKIP("Thrust's device policy needs a CUDA device");
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 4);
    const auto policy = thrust::cuda::par.on(native_handle(s));
    const auto first = thrust::device_pointer_cast(x.data());
    thrust::transform(policy, thrust::counting_iterator<int>(0), thrust::counting_iterator<int>(4),
                      first, Square{});
    thrust::sort(policy, first, first + 4, thrust::greater<int>{});
    CHECK(thrust::reduce(policy, first, first + 4, 0, thrust::plus<int>{}) == 0 + 1 + 4 + 9);
    CHECK(to_host(s, x) == Ints{9, 4, 1, 0});
}
