// Uses PyTorch's C++ interface on heddle's streams, and heddle on PyTorch's current stream, as
// docs/guide/26 describes. `run` in this folder compiles it. Exits with 77 without a GPU.
#include "../want.hpp"

#include <ATen/ATen.h>
#include <ATen/DLConvertor.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <heddle/cuda.hpp>
#include <heddle/with/dlpack.hpp>

#include <atomic>
#include <optional>

using namespace heddle;

namespace {

constexpr int n = 100'000;

at::Tensor tensor_of(Array<float>& x) {
    return at::from_blob(x.data(), {static_cast<std::int64_t>(x.size())},
                         at::TensorOptions().device(at::kCUDA, 0).dtype(at::kFloat));
}

/// Holds a stream until the gate is opened.
class Gate {
public:
    explicit Gate(StreamRef s) {
        launch_host(s, [this] { is_open_.wait(false); });
    }
    void open() {
        is_open_ = true;
        is_open_.notify_all();
    }

private:
    std::atomic<bool> is_open_{false};
};

void torch_on_heddles_stream(Device gpu) {
    for (const bool is_held : {false, true}) {
        const Stream s(gpu);
        Array<float> x = zeros<float>(s, n);
        std::optional<Gate> gate;
        if (is_held) gate.emplace(s);
        fill(s, x, 1.0f);
        at::Tensor sum;
        with_native(
            s,
            [&](cudaStream_t native) {
                const c10::cuda::CUDAStreamGuard on(c10::cuda::getStreamFromExternal(native, 0));
                at::Tensor t = tensor_of(x);
                t.add_(2);
                sum = t.sum();
            },
            writes(x));
        Array<float> y(s, n);
        copy(s, y, x);
        if (gate) want(!s.is_complete(), "torch's work on a stream of heddle's does not block");
        if (gate) gate->open();
        want(to_host(s, y)[n - 1] == 3, "it runs between heddle's");
        want(sum.item<float>() == 3.0f * n, "torch's result");
        sum.reset();  // PyTorch's allocator has assigned this memory to s
        c10::cuda::CUDACachingAllocator::emptyCache();
    }
}

void heddle_on_torchs_stream(Device gpu) {
    for (const bool is_held : {false, true}) {
        const c10::cuda::CUDAStreamGuard on(c10::cuda::getStreamFromPool());
        at::Tensor t = at::zeros({n}, at::TensorOptions().device(at::kCUDA, 0).dtype(at::kFloat));
        const Stream current = wrap_stream(c10::cuda::getCurrentCUDAStream().stream(), gpu);
        std::optional<Gate> gate;
        if (is_held) gate.emplace(current);
        t.fill_(1);
        {
            const ScopedStream in(current);
            Array<float> x = from_dlpack<float>(current, at::toDLPack(t));
            want(x.data() == t.data_ptr<float>(), "torch's memory is heddle's, without a copy");
            fill(x.view().first(10), 5.0f);
        }
        t.add_(1);
        if (gate) want(!current.is_complete(), "heddle's work on torch's stream does not block");
        if (gate) gate->open();
        want(t.sum().item<float>() == 2.0f * n + 40, "heddle's work is between torch's");
    }
}

}  // namespace

/// Called by Python, after it has imported torch. Returns the status of the program.
extern "C" int torch_streams() {
    if (device_count(DeviceKind::cuda) == 0 || !at::hasCUDA()) return 77;
    const Device gpu("cuda:0");
    torch_on_heddles_stream(gpu);
    heddle_on_torchs_stream(gpu);
    finish_adopted();
    std::printf("torch's C++ interface: %s\n", bad != 0 ? "FAILED" : "all ok");
    std::fflush(stdout);
    return bad != 0;
}
