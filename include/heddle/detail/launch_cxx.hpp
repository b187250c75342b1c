// Portable kernels in code that nvcc did not compile: a launch on a CUDA device throws.
#pragma once

#include <cstddef>
#include <type_traits>

#include <heddle/detail/graph_work.hpp>
#include <heddle/detail/stream_state.hpp>

namespace heddle::detail {

[[noreturn]] void throw_not_compiled_for_cuda(const StreamState& stream, const char* pretty,
                                              Where where);
[[noreturn]] void throw_not_compiled_for_cuda(const char* pretty, Where where);

inline namespace compiled_by_cxx {

inline constexpr bool has_cuda_code = false;

inline void wait_for_primary() noexcept {}
inline void trigger_dependents() noexcept {}

template <class K> inline constexpr bool is_copied_as_bytes = std::is_trivially_copyable_v<K>;

template <int N, class K, class... P>
void launch_on_cuda(StreamState& stream, const char* pretty, const SourceLocation& where, const K&,
                    const std::size_t*, const GivenOptions&, const P&...) {
    throw_not_compiled_for_cuda(stream, pretty, where);
}

template <class K, int N, class... P>
void portable_form(void*, unsigned, const LaunchOptions&, KernelForm&,
                   const SourceLocation& where) {
    throw_not_compiled_for_cuda(PortableOp<K, N, P...>::pretty(), where);
}

}  // namespace compiled_by_cxx
}  // namespace heddle::detail
