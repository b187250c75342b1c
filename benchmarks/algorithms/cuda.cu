#include <memory>

#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include <heddle/algorithms.hpp>
#include <heddle/cuda.hpp>

#include "algorithms/parts.hpp"
#include "raw_cuda.cuh"

using namespace heddle;

namespace bench {

namespace {

struct IsLess {
    HEDDLE_FN bool operator()(float a, float b) const { return a < b; }
};

/// Runs `enqueue` repeatedly. Waits at the end only.
template <class F> Side to_end(StreamRef s, F enqueue) {
    return {.run = [s, enqueue](int calls) {
        for (int i = 0; i < calls; ++i) enqueue();
        s.synchronize();
    }};
}
Side with_restored(Side side, const DeviceNumbers& numbers) {
    side.prepare = [numbers] {
        copy(numbers.stream, View<float>(numbers.out), numbers.in);
        numbers.stream.synchronize();
    };
    return side;
}

/// Calls CUB as its documentation shows: with memory that is allocated once.
template <class F> Side by_hand(StreamRef s, F call) {
    const cudaStream_t native = native_handle(s);
    std::size_t bytes = 0;
    check_cuda(call(nullptr, bytes, native), "CUB");
    const auto memory = std::make_shared<Array<std::byte>>(s, bytes + 1);
    return to_end(s, [=] {
        std::size_t size = bytes;
        check_cuda(call(memory->view().data(), size, native), "CUB");
    });
}

}  // namespace

Side algorithm_on_gpu(Job job, const DeviceNumbers& numbers) {
    const StreamRef s = numbers.stream;
    const View<const float> in = numbers.in;
    const View<float> out = numbers.out;
    switch (job) {
    case Job::sort: return with_restored(to_end(s, [=] { sort(s, View<float>(out)); }), numbers);
    case Job::sort_by_function:
        return with_restored(to_end(s, [=] { sort(s, View<float>(out), IsLess()); }), numbers);
    case Job::reduce: return to_end(s, [=] { reduce(s, in, out.first(1)); });
    default: return to_end(s, [=] { inclusive_scan(s, in, View<float>(out)); });
    }
}

Side algorithm_by_cub(Job job, const DeviceNumbers& numbers) {
    const StreamRef s = numbers.stream;
    const float* const in = numbers.in.data();
    float* const out = numbers.out.data();
    const std::size_t n = numbers.in.size();
    switch (job) {
    case Job::sort: {
        const auto other = std::make_shared<Array<float>>(s, n);
        return with_restored(by_hand(s,
                                     [=](void* memory, std::size_t& bytes, cudaStream_t native) {
                                         cub::DoubleBuffer<float> keys(out, other->view().data());
                                         return cub::DeviceRadixSort::SortKeys(memory, bytes, keys,
                                                                               n, 0, 32, native);
                                     }),
                             numbers);
    }
    case Job::sort_by_function:
        return with_restored(by_hand(s,
                                     [=](void* memory, std::size_t& bytes, cudaStream_t native) {
                                         return cub::DeviceMergeSort::StableSortKeys(
                                             memory, bytes, out, n, IsLess(), native);
                                     }),
                             numbers);
    case Job::reduce:
        return by_hand(s, [=](void* memory, std::size_t& bytes, cudaStream_t native) {
            return cub::DeviceReduce::Sum(memory, bytes, in, out, n, native);
        });
    default:
        return by_hand(s, [=](void* memory, std::size_t& bytes, cudaStream_t native) {
            return cub::DeviceScan::InclusiveSum(memory, bytes, in, out, n, native);
        });
    }
}

}  // namespace bench
