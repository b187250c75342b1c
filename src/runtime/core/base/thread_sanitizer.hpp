// Declares orders between threads that ThreadSanitizer cannot detect itself. Has no effect unless
// heddle is compiled with -fsanitize=thread. (docs/adr/0031)
#pragma once

namespace heddle::detail::tsan {

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HEDDLE_THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) && !defined(HEDDLE_THREAD_SANITIZER)
#define HEDDLE_THREAD_SANITIZER 1
#endif

// The constant and the inline functions below have internal linkage, because they differ between
// files with and without instrumentation.
#if defined(HEDDLE_THREAD_SANITIZER)
constexpr bool is_compiled_in = true;
#else
constexpr bool is_compiled_in = false;
#endif

// These functions are weak, so that they are null in a program without ThreadSanitizer. The asm
// labels are their names in ThreadSanitizer's run-time library.
[[gnu::weak]] void acquire_address(void* address) noexcept asm("__tsan_acquire");
[[gnu::weak]] void release_address(void* address) noexcept asm("__tsan_release");

/// Returns whether HEDDLE_TSAN_STREAMS is not 0.
bool is_wanted() noexcept;

/// Returns whether the program runs with ThreadSanitizer, and HEDDLE_TSAN_STREAMS is not 0.
static inline bool is_here() noexcept {
    if constexpr (!is_compiled_in) return false;
    else return acquire_address != nullptr && is_wanted();
}

/// Orders all earlier work of this thread (or fiber), including work that it has acquired, before
/// later work of threads that acquire() the same address. Several releases of one address
/// accumulate. The memory at the address is not accessed. It should be newly allocated, because
/// earlier releases of its address count as well.
static inline void release([[maybe_unused]] const void* address) noexcept {
    if constexpr (is_compiled_in)
        if (address != nullptr && is_here()) release_address(const_cast<void*>(address));
}
static inline void acquire([[maybe_unused]] const void* address) noexcept {
    if constexpr (is_compiled_in)
        if (address != nullptr && is_here()) acquire_address(const_cast<void*>(address));
}

}  // namespace heddle::detail::tsan
