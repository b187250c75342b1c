#include "backend/backend_under_test.hpp"

namespace heddle_test {

/// The function that the linker calls in place of heddle::detail::cpu_backend().
heddle::detail::Backend& replaced_cpu_backend() noexcept
    __asm__("__wrap__ZN6heddle6detail11cpu_backendEv");

heddle::detail::Backend& replaced_cpu_backend() noexcept { return backend_under_test(); }

}  // namespace heddle_test
