// Declares to AddressSanitizer that a program must not access memory which heddle caches. Has no
// effect unless heddle is compiled with -fsanitize=address.
#pragma once

#include <cstddef>

namespace heddle::detail::asan {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEDDLE_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(HEDDLE_ADDRESS_SANITIZER)
#define HEDDLE_ADDRESS_SANITIZER 1
#endif

#if defined(HEDDLE_ADDRESS_SANITIZER)
constexpr bool is_compiled_in = true;
#else
constexpr bool is_compiled_in = false;
#endif

// These functions are weak, so that they are null in a program without AddressSanitizer. The labels
// are the names in its run-time library.
[[gnu::weak]] void poison_region(const volatile void* data, std::size_t bytes) noexcept
    asm("__asan_poison_memory_region");
[[gnu::weak]] void unpoison_region(const volatile void* data, std::size_t bytes) noexcept
    asm("__asan_unpoison_memory_region");

/// Returns whether the program runs with AddressSanitizer.
static inline bool is_here() noexcept {
    if constexpr (!is_compiled_in) return false;
    else return poison_region != nullptr;
}
/// Makes every access to host memory an error, until unpoison().
static inline void poison([[maybe_unused]] const void* data,
                          [[maybe_unused]] std::size_t bytes) noexcept {
    if constexpr (is_compiled_in)
        if (is_here()) poison_region(data, bytes);
}
static inline void unpoison([[maybe_unused]] const void* data,
                            [[maybe_unused]] std::size_t bytes) noexcept {
    if constexpr (is_compiled_in)
        if (is_here()) unpoison_region(data, bytes);
}

}  // namespace heddle::detail::asan
