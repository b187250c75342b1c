#include "cuda/device/backend.hpp"

#include "core/base/made_once.hpp"

namespace heddle::detail {

namespace cu {

namespace {
constinit NeverDestroyed<CudaBackend> instance;
}
CudaBackend& the_backend() noexcept { return instance.get(); }

}  // namespace cu

Backend& cuda_backend() noexcept { return cu::the_backend(); }

}  // namespace heddle::detail
