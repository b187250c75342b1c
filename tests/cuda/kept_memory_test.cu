// Memory that streams cache after arrays were freed: with native handles and native captures, and
// on a GPU with hardly any free memory.
#include "../support.hpp"

#include <heddle/cuda.hpp>

using namespace heddle_test;

namespace {

Device gpu() { return Device("cuda:0"); }

// A number of ints. Other tests allocate no arrays of this size class.
constexpr std::size_t n = 88'888;

const int* free_one(StreamRef s) {
    const int* at = nullptr;
    {
        const Array<int> x = empty<int>(s, n);
        at = x.data();
    }
    return at;
}

/// Occupies memory of the GPU, so that other code cannot allocate it.
struct Ballast {
    void* data = nullptr;
    explicit Ballast(std::size_t left) {
        std::size_t free = 0, total = 0;
        check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
        if (free > left) check_cuda(cudaMalloc(&data, free - left), "cudaMalloc");
    }
    ~Ballast() { cudaFree(data); }
    Ballast(const Ballast&) = delete;
};

}  // namespace

CUDA_TEST_CASE("a stream whose native handle is out uses its own memory again, and no other does") {
    const Drained drained;
    const Stream s(gpu()), other(gpu());
    (void)native_handle(s);
    const int* const at = free_one(s);
    other.wait_stream(s);
    {
        const Array<int> of_other = empty<int>(other, n);
        CHECK(of_other.data() != at);
    }
    CHECK(free_one(s) == at);
}

CUDA_TEST_CASE(
    "memory that is freed in a native capture is not kept, and none that is kept is used") {
    const Drained drained;
    const Stream s(gpu());
    Array<int> x = zeros<int>(s, n);
    free_one(s);
    s.synchronize();
    const MemoryStats before = memory_stats(gpu());
    const cudaStream_t native = native_handle(s);
    check_cuda(cudaStreamBeginCapture(native, cudaStreamCaptureModeRelaxed),
               "cudaStreamBeginCapture");
    x.reset();
    const auto refused = error_of([&] { (void)empty<int>(s, n); });
    cudaGraph_t graph = nullptr;
    check_cuda(cudaStreamEndCapture(native, &graph), "cudaStreamEndCapture");
    if (graph != nullptr) cudaGraphDestroy(graph);
    REQUIRE(refused);
    CHECK(refused->code() == ErrorCode::unsupported);
    CHECK(memory_stats(gpu()).cached == before.cached);
    CHECK(memory_stats(gpu()).cache_hits == before.cache_hits);
}

CUDA_TEST_CASE("memory that streams keep is returned before an allocation fails on a GPU") {
    const Drained drained;
    constexpr std::size_t bytes = std::size_t{1} << 30;
    const Stream s(gpu()), other(gpu());
    synchronize();
    trim_pool(gpu());
    const Ballast ballast(3 * bytes);
    { const Array<std::byte> x = empty<std::byte>(other, bytes), y = empty<std::byte>(s, bytes); }
    CHECK(memory_stats(gpu()).cached >= 2 * bytes);
    const Array<std::byte> large = empty<std::byte>(s, 5 * bytes / 2);
    CHECK(memory_stats(gpu()).cached == 0);
    CHECK_THROWS_AS((void)empty<std::byte>(s, bytes), OutOfMemory);
}
