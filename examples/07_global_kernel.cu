// CUDA's own kernels, and other CUDA code, on streams of heddle. Needs a CUDA device.
// Usage: example_07_global_kernel [DEVICE]
#include <heddle/cuda.hpp>

#include <cstdio>

#include "device_argument.hpp"

namespace hd = heddle;

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
    hd::check_cuda(cudaGetLastError(), "negate");  // throws an exception if the code is an error
}

int main(int argc, char** argv) {
    if (hd::device_count(hd::DeviceKind::cuda) == 0) {
        std::printf("no CUDA device: %s\n", hd::cuda_unavailable_reason().c_str());
        return 77;  // tests count this status as skipped
    }
    constexpr std::size_t n = 1 << 16, block = 256;
    const hd::Device device = argc > 1 ? device_argument(argc, argv) : hd::Device("cuda");
    const hd::ScopedDevice on{device};
    hd::Array<float> x = hd::full<float>(n, 3), y = hd::empty<float>(n);

    // Arrays are passed for the kernel's pointers. The number and the types of arguments are
    // checked at compile time.
    hd::launch(add_neighbours, hd::grid(n / block, block, block * sizeof(float)), n, x, y);

    // Lends a stream of heddle to other code for a call. Declares the use of y, so that y is not
    // freed before the other code's work.
    const hd::Stream side{device};
    side.wait_stream(hd::current_stream());
    negate_all(hd::borrow(side, hd::writes(y)), y.data(), n);

    // Uses another library's stream through heddle.
    cudaStream_t native = nullptr;
    hd::check_cuda(cudaStreamCreateWithFlags(&native, cudaStreamNonBlocking),
                   "cudaStreamCreateWithFlags");
    float last = 0;
    {
        const hd::Stream theirs = hd::wrap_stream(native);
        theirs.wait_stream(side);
        last = hd::to_host(theirs, y).back();
    }
    hd::check_cuda(cudaStreamDestroy(native), "cudaStreamDestroy");
    std::printf("%s: %g\n", device.name().c_str(), static_cast<double>(last));
    return last == -6.0f ? 0 : 1;
}
