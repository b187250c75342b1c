// Portable kernels in code that nvcc did not compile: a launch on a CUDA device throws.
#pragma once

#include <type_traits>

#include <heddle/detail/visible.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {

struct PortableCode;

/// Whether the code being compiled runs on host threads.
inline constexpr bool runs_on_host = true;

inline namespace HEDDLE_COMPILED_BY {

/// Whether kernels on GPUs check the indices of views.
inline constexpr bool gpus_check_bounds = false;

inline void wait_for_primary() noexcept {}
inline void trigger_dependents() noexcept {}

template <class K> inline constexpr bool is_copied_as_bytes = std::is_trivially_copyable_v<K>;

/// Null: there is no code for CUDA devices.
template <int N, class K, class... P>
inline constexpr PortableCode (*portable_code)() noexcept = nullptr;

}  // namespace HEDDLE_COMPILED_BY
}  // namespace detail
}  // namespace heddle
