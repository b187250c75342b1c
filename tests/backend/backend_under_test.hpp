// How heddle_backend_tests puts another backend in the place of the CPU backend. README.md
// describes how to test a backend.
#pragma once

#include "core/seam/backend.hpp"

namespace heddle_test {

/// Returns the backend that replaces the CPU backend in heddle_backend_tests. Each backend under
/// test defines this function. May be called before main(), so the backend must be constinit.
heddle::detail::Backend& backend_under_test() noexcept;

/// Returns the library's own CPU backend. Only programs that are linked with
/// --wrap=_ZN6heddle6detail11cpu_backendEv have this name of it: in them, cpu_backend() returns
/// backend_under_test().
heddle::detail::Backend& library_cpu_backend() noexcept
    __asm__("__real__ZN6heddle6detail11cpu_backendEv");

}  // namespace heddle_test
