// Declares to AddressSanitizer which memory a program must not access: memory that heddle caches,
// and memory beyond the end of an array. The program has to be compiled with -fsanitize=address;
// heddle need not be.
#pragma once

#include <cstddef>

namespace heddle::detail::asan {

// These functions are weak, so that they are null in a program without AddressSanitizer. The asm
// labels are their names in AddressSanitizer's run-time library.
[[gnu::weak]] void poison_region(const volatile void* data, std::size_t bytes) noexcept
    asm("__asan_poison_memory_region");
[[gnu::weak]] void unpoison_region(const volatile void* data, std::size_t bytes) noexcept
    asm("__asan_unpoison_memory_region");

/// Returns whether the program runs with AddressSanitizer.
static inline bool is_here() noexcept { return poison_region != nullptr; }
/// Makes every access to this range of host memory an error, until unpoison().
static inline void poison(const void* data, std::size_t bytes) noexcept {
    if (is_here()) poison_region(data, bytes);
}
static inline void unpoison(const void* data, std::size_t bytes) noexcept {
    if (is_here()) unpoison_region(data, bytes);
}

}  // namespace heddle::detail::asan
