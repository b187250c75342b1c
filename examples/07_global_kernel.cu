// CUDA's own kernels, and other CUDA code, on streams of heddle. Needs a CUDA device.
// Usage: example_07_global_kernel [DEVICE]
#include <heddle/cuda.hpp>

#include <cstdio>

#include "device_argument.hpp"

using namespace heddle;

__global__ void add_neighbours(std::size_t n, const float* x, float* y) {
    extern __shared__ float tile[];
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (i < n) y[i] = tile[threadIdx.x] + tile[threadIdx.x ^ 1u];
}

__global__ void negate(std::size_t n, float* y) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < n) y[i] = -y[i];
}

/// Represents a function of another library that uses a native stream.
void negate_all(cudaStream_t stream, float* y, std::size_t n) {
    negate<<<static_cast<unsigned>((n + 127) / 128), 128, 0, stream>>>(n, y);
    check_cuda(cudaGetLastError(), "negate");  // throws an exception if the code is an error
}

int main(int argc, char** argv) {
    if (device_count(DeviceKind::cuda) == 0) {
        std::printf("no CUDA device: %s\n", cuda_unavailable_reason().c_str());
        return 77;  // tests count this status as skipped
    }
    constexpr std::size_t n = 1 << 16, block = 256;
    const Device device = argc > 1 ? device_argument(argc, argv) : Device("cuda");
    const ScopedDevice on{device};
    Array<float> x = full<float>(n, 3), y = empty<float>(n);

    // Arrays are passed for the kernel's pointers. The number and the types of arguments are
    // checked at compile time.
    launch(add_neighbours, grid(n / block, block, block * sizeof(float)), n, x, y);

    // Lends a stream of heddle to other code for a call. Declares the use of y, so that y is not
    // freed before the other code's work.
    const Stream side{device};
    side.wait_stream(current_stream());
    negate_all(borrow(side, writes(y)), y.data(), n);

    // Uses another library's stream through heddle.
    cudaStream_t native = nullptr;
    check_cuda(cudaStreamCreateWithFlags(&native, cudaStreamNonBlocking),
               "cudaStreamCreateWithFlags");
    float last = 0;
    {
        const Stream theirs = wrap_stream(native);
        theirs.wait_stream(side);
        last = to_host(theirs, y).back();
    }
    check_cuda(cudaStreamDestroy(native), "cudaStreamDestroy");
    std::printf("%s: %g\n", device.name().c_str(), static_cast<double>(last));
    return last == -6.0f ? 0 : 1;
}
