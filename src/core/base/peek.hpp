// Reads the process's own memory as a debugger does: without locks, and without a fault where there
// is none.
#pragma once

#include <cstddef>
#include <cstring>
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

/// Copies memory like peek(). Tests put others in its place, which tear what they copy.
using PeekFunction = bool (*)(const void* from, void* to, std::size_t bytes) noexcept;

/// The bytes of an object. It is no object: no member of it is called, and nothing that it points
/// to is followed before it is known to be whole.
template <class T> class PeekedBytes {
public:
    bool read(PeekFunction from, const void* address) noexcept {
        return from(address, bytes_, sizeof bytes_);
    }
    /// Returns the word at this offset. An atomic one has the layout of what it holds.
    template <class W> W at(std::size_t offset) const noexcept {
        static_assert(std::is_trivially_copyable_v<W>);
        W word;
        // W may be a pointer.
        // NOLINTNEXTLINE(bugprone-sizeof-expression)
        std::memcpy(reinterpret_cast<void*>(&word), bytes_ + offset, sizeof(W));
        return word;
    }

private:
    std::byte bytes_[sizeof(T)];
};

}  // namespace heddle::detail
