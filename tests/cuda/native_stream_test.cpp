// Native handles of streams that no longer exist.
#include "cuda/device/context.hpp"
#include "cuda/device/native_event.hpp"
#include "support.hpp"

#include "core/seam/records.hpp"
#include "cuda/device/backend.hpp"

using namespace heddle_test;
namespace cu = heddle::detail::cu;

CUDA_TEST_CASE(
    "a closed stream has no native handle, and is not taken for the legacy default stream") {
    const Device device("cuda:0");
    std::optional<Stream> stream(device);
    heddle::detail::StreamRecord& record = heddle::detail::record_of(*stream);
    CHECK(cu::native_of(record) != nullptr);
    stream.reset();
    CHECK(thrown_by([&] { (void)cu::native_of(record); }).code() == ErrorCode::usage);
    CHECK(cu::capture_of(record) == 0);

    CHECK_FALSE(cu::is_default_handle(nullptr));
    cu::Gpu& gpu = cu::gpu(0, Where());
    const cudaEvent_t event = cu::take_event(gpu, Where());
    CHECK(cu::record_on(gpu, event, nullptr) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(cu::wait_on(gpu, nullptr, event) == CUDA_ERROR_INVALID_HANDLE);
    cu::give_event(gpu, event);
}
