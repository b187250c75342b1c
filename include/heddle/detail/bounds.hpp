// Checks of the indices of views, in files that are compiled with HEDDLE_BOUNDS=1.
#pragma once

#include <cstddef>
#include <type_traits>

#include <heddle/detail/bounds_report.hpp>
#include <heddle/kernel.hpp>
#if defined(__CUDACC__) && HEDDLE_BOUNDS
#include <heddle/detail/bounds_nvcc.hpp>
#endif

namespace heddle::detail {

/// Notes a bad index of the work that this thread runs. Only the first one counts; the work then
/// fails when it ends. Outside of work, passes the index to the report hook instead.
void note_bad_index(const BadIndex& index) noexcept;
/// Returns the bad index that the running work noted, or null if there is none.
BadIndex* noted_bad_index() noexcept;

/// The element that replaces elements outside a view. Each host thread has its own.
template <class T> struct DummyElement {
    alignas(T) std::byte bytes[sizeof(T)];
};

#if HEDDLE_BOUNDS
/// Makes the symbols of members differ between files with and without checks, so that both link.
#define HEDDLE_BOUNDS_TAG [[gnu::abi_tag("heddle_bounds")]]
#else
#define HEDDLE_BOUNDS_TAG
#endif

inline namespace HEDDLE_COMPILED_BY {

/// Notes a bad index. Returns the dummy element, whose value is unspecified.
template <class T>
[[gnu::cold, gnu::noinline]] HEDDLE_FN T& dummy_element(const BadIndex& index) noexcept {
    using Element = std::remove_const_t<T>;
#ifdef __CUDA_ARCH__
    static DummyElement<Element> dummy;
    detail::report_bad_index(index);
#else
    static thread_local DummyElement<Element> dummy{};
    detail::note_bad_index(index);
#endif
    return *reinterpret_cast<Element*>(dummy.bytes);
}

template <class T>
HEDDLE_FN T& dummy_element(const void* data, std::size_t i, std::size_t size) noexcept {
    return detail::dummy_element<T>({data, {i, 0}, {size, 0}, 1});
}

}  // namespace HEDDLE_COMPILED_BY
}  // namespace heddle::detail
