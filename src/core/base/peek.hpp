// Reads the process's own memory as a debugger does: without locks, and without a fault where there
// is none.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

namespace heddle::detail {

/// Copies memory that other threads may change or free meanwhile. The copy may be torn: look at
/// what tells whether it is. Returns false if the memory is gone, or reading is refused.
/// Async-signal-safe. Thread-safe; sanitizers do not see it.
bool peek(const void* from, void* to, std::size_t bytes) noexcept;

/// The same for a pointer.
template <class T> bool peek_pointer(const void* from, T*& to) noexcept {
    return peek(from, reinterpret_cast<void*>(&to), sizeof(void*));
}

/// Returns a text that ends in a zero, cut where its memory ends; "?" if there is none.
std::string peek_text(const char* from);

/// A copy of an object, which is neither constructed nor destroyed.
template <class T> class Peeked {
public:
    bool read(const void* from) noexcept { return peek(from, room_, sizeof room_); }
    T& operator*() noexcept { return *reinterpret_cast<T*>(room_); }
    T* operator->() noexcept { return reinterpret_cast<T*>(room_); }

private:
    alignas(T) std::byte room_[sizeof(T)];
};

}  // namespace heddle::detail
