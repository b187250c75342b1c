#include "cpu/device/backend.hpp"

#include "core/base/made_once.hpp"

namespace heddle::detail {

namespace {
constinit NeverDestroyed<cpu::CpuBackend> instance;
}
Backend& cpu_backend() noexcept { return instance.get(); }

}  // namespace heddle::detail
