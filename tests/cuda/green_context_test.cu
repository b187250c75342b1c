// Streams of green contexts, wrapped. A green context has some of the GPU's multiprocessors, and is
// current to at most one thread.
#include "../support.hpp"

#include <heddle/cuda.hpp>

#include <cuda.h>
#include <cudaTypedefs.h>

#include <set>
#include <thread>

using namespace heddle_test;

namespace {

template <class F> F driver(const char* name, unsigned version) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    check_cuda(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result),
               name);
    REQUIRE(found != nullptr);
    return reinterpret_cast<F>(found);
}
#define DRIVER(name, version) driver<PFN_##name##_v##version>(#name, version)

void check_driver(CUresult code, const char* call) {
    check_cuda(static_cast<cudaError_t>(code), call);
}

/// A green context with as few multiprocessors as possible, and a stream of it.
class Green {
public:
    Green() {
        check_cuda(cudaSetDevice(0), "cudaSetDevice");
        CUdevResource all{}, few{};
        check_driver(DRIVER(cuDeviceGetDevResource, 12040)(0, &all, CU_DEV_RESOURCE_TYPE_SM),
                     "cuDeviceGetDevResource");
        unsigned groups = 1;
        check_driver(DRIVER(cuDevSmResourceSplitByCount, 12040)(&few, &groups, &all, nullptr, 0, 1),
                     "cuDevSmResourceSplitByCount");
        processors = few.sm.smCount;
        CUdevResourceDesc described = nullptr;
        check_driver(DRIVER(cuDevResourceGenerateDesc, 12040)(&described, &few, 1),
                     "cuDevResourceGenerateDesc");
        check_driver(
            DRIVER(cuGreenCtxCreate, 12040)(&green_, described, 0, CU_GREEN_CTX_DEFAULT_STREAM),
            "cuGreenCtxCreate");
        check_driver(DRIVER(cuCtxFromGreenCtx, 12040)(&context, green_), "cuCtxFromGreenCtx");
        CUstream made = nullptr;
        check_driver(
            DRIVER(cuGreenCtxStreamCreate, 12050)(&made, green_, CU_STREAM_NON_BLOCKING, 0),
            "cuGreenCtxStreamCreate");
        stream = made;
    }
    ~Green() {
        cudaStreamDestroy(stream);
        DRIVER(cuGreenCtxDestroy, 12040)(green_);
    }
    Green(const Green&) = delete;

    cudaStream_t stream = nullptr;
    CUcontext context = nullptr;
    unsigned processors = 0;

private:
    CUgreenCtx green_ = nullptr;
};

CUcontext current_context() {
    CUcontext context = nullptr;
    check_driver(DRIVER(cuCtxGetCurrent, 4000)(&context), "cuCtxGetCurrent");
    return context;
}

/// Makes a context current for its lifetime.
class Current {
public:
    explicit Current(CUcontext context) {
        check_driver(DRIVER(cuCtxPushCurrent, 4000)(context), "cuCtxPushCurrent");
    }
    ~Current() {
        CUcontext popped = nullptr;
        DRIVER(cuCtxPopCurrent, 4000)(&popped);
    }
    Current(const Current&) = delete;
};

/// Notes the multiprocessor of each block.
__global__ void note_processor(int* processors) {
    unsigned id = 0;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
    if (threadIdx.x == 0) processors[blockIdx.x] = static_cast<int>(id);
}

/// Wraps the stream, and checks that heddle's work on it is ordered, and runs in the green context.
void check_works(const Green& green) {
    const CUcontext before = current_context();
    const Stream s = wrap_stream(green.stream);
    CHECK(s.device() == Device("cuda:0"));
    CHECK(wrap_stream(green.stream) == s);
    CHECK(wrap_stream(green.stream, Device("cuda:0")) == s);
    const Stream first(s.device()), last(s.device());
    constexpr std::size_t blocks = 4096;
    Array<int> x = full<int>(first, blocks, -1), y(s, blocks);
    s.wait_stream(first);
    launch(s, note_processor, grid(dim3(blocks), dim3(32)), x);
    copy(s, y, x);
    last.wait_stream(s);
    const Ints used = to_host(last, y);
    const std::set<int> processors(used.begin(), used.end());
    CHECK(processors.count(-1) == 0);
    // The context's kernels may use two more multiprocessors (CUDA driver API, green contexts).
    CHECK(processors.size() <= green.processors + 2);
    Event done = s.record_event();
    done.synchronize();
    CHECK(done.is_complete());
    CHECK(current_context() == before);
}

}  // namespace

CUDA_TEST_CASE("a stream of a green context is wrapped, and its work is ordered") {
    const Green green;
    check_works(green);
}

CUDA_TEST_CASE("a green stream is wrapped while its context is current to this thread") {
    const Green green;
    const Current here(green.context);
    check_works(green);
    CHECK(current_context() == green.context);
}

CUDA_TEST_CASE("a green stream is wrapped while its context is current to another thread") {
    const Green green;
    const Flag is_current, used;
    std::thread other([&] {
        const Current there(green.context);
        is_current.set();
        (void)used.wait();
    });
    CHECK(is_current.wait());
    check_works(green);
    used.set();
    other.join();
}

CUDA_TEST_CASE("a green stream is wrapped by a thread without a context, which stays so") {
    const Green green;
    Device device("cuda:0");
    CUcontext after = green.context;
    std::thread other([&] {
        const Stream s = wrap_stream(green.stream);
        device = s.device();
        after = current_context();
    });
    other.join();
    CHECK(device == Device("cuda:0"));
    CHECK(after == nullptr);
}

CUDA_TEST_CASE("two threads wrap one green stream, and have the same stream") {
    const Green green;
    const Stream here = wrap_stream(green.stream);
    bool is_same = false;
    std::thread other([&] { is_same = wrap_stream(green.stream) == here; });
    other.join();
    CHECK(is_same);
}

CUDA_TEST_CASE("the default stream of a green context is refused") {
    const Green green;
    const Current here(green.context);
    for (cudaStream_t native : {cudaStream_t{nullptr}, cudaStreamLegacy, cudaStreamPerThread}) {
        const Error error = thrown_by([&] { (void)wrap_stream(native, Device("cuda:0")); });
        CHECK(error.code() == ErrorCode::usage);
    }
    CHECK(current_context() == green.context);
}
