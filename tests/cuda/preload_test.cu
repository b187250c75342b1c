// First launches of kernels while another kernel runs. Preloaded code need not wait for it.
#include "../support.hpp"

#include <heddle/cuda.hpp>

using namespace heddle_test;

namespace {

/// Runs until the host sets *flag.
__global__ void wait_for(const volatile int* flag) {
    while (*flag == 0) {}
}
__global__ void first_global(int* data) { data[threadIdx.x] = 7; }

struct FirstPortable {
    HEDDLE_FN void operator()(std::size_t i, View<int> y) const { y[i] = 8; }
};

}  // namespace

CUDA_TEST_CASE("with a kernel running, preloaded kernels are launched and run") {
    const Device gpu("cuda:0");
    const Drained drained;
    const Stream busy(gpu), s(gpu);
    Array<int> flag = pinned<int>(1);
    volatile int* const open = flag.data();
    *open = 0;
    Array<int> x = zeros<int>(s, 32), y = zeros<int>(s, 32);
    auto back = pinned<int>(64);
    preload(gpu, wait_for, first_global);
    preload(gpu, FirstPortable{});
    synchronize_device(gpu);
    launch(busy, wait_for, grid(1, 1), flag.data());
    launch(s, first_global, grid(1, 32), x);
    launch(s, FirstPortable{}, dim(32), y);
    copy(s, back.view().first(32), x);
    copy(s, back.view().subview(32, 32), y);
    s.synchronize();  // would block if it waited for the other kernel, which is still running
    CHECK_FALSE(busy.is_complete());
    CHECK(back.view()[0] == 7);
    CHECK(back.view()[63] == 8);
    *open = 1;
    busy.synchronize();
}
