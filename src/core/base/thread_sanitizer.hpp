// What heddle tells ThreadSanitizer about order that it cannot see. Without ThreadSanitizer in the
// program all of it is one predictable branch. (docs/adr/0031)
#pragma once

namespace heddle::detail::tsan {

// Weak, so that they are null in a program without ThreadSanitizer. The labels are the names in its
// run-time library.
[[gnu::weak]] void acquire_address(void* address) noexcept asm("__tsan_acquire");
[[gnu::weak]] void release_address(void* address) noexcept asm("__tsan_release");

/// Returns whether the program runs under ThreadSanitizer.
inline bool is_here() noexcept { return acquire_address != nullptr; }

/// All that this thread (or fiber) has done or seen is ordered before what follows an acquire() of
/// the same address. Several releases add up. The memory at the address is not accessed. It should
/// be fresh from the heap: what was released there before counts too.
inline void release(const void* address) noexcept {
    if (address != nullptr && is_here()) release_address(const_cast<void*>(address));
}
inline void acquire(const void* address) noexcept {
    if (address != nullptr && is_here()) acquire_address(const_cast<void*>(address));
}

}  // namespace heddle::detail::tsan
