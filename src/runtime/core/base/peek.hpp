// Reads the process's own memory as a debugger does: without locks, and without a fault at unmapped
// addresses.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>

namespace heddle::detail {

/// Copies memory that other threads may change or free at the same time. The copy may be torn:
/// check it before use. Returns false if the memory is unmapped or reading is refused.
/// Async-signal-safe. Thread-safe; invisible to sanitizers.
bool peek(const void* from, void* to, std::size_t bytes) noexcept;

/// Copies a pointer like peek().
template <class T> bool peek_pointer(const void* from, T*& to) noexcept {
    return peek(from, reinterpret_cast<void*>(&to), sizeof(void*));
}

/// Returns the null-terminated text at `from`, truncated where readable memory ends, or "?" if none
/// of it can be read.
std::string peek_text(const char* from);

/// A function that copies memory like peek(). Tests replace it by functions that return torn
/// copies.
using PeekFunction = bool (*)(const void* from, void* to, std::size_t bytes) noexcept;

/// A copy of an object's bytes, without its type. So no member function can be called, and no
/// pointer in the copy can be followed before it is checked.
template <class T> class PeekedBytes {
public:
    bool read(PeekFunction from, const void* address) noexcept {
        return from(address, bytes_, sizeof bytes_);
    }
    /// Returns the word at this offset. An atomic word is read as its value type, which has the
    /// same layout.
    template <class W> W at(std::size_t offset) const noexcept {
        static_assert(std::is_trivially_copyable_v<W>);
        W word;
        // W may be a pointer type. NOLINTNEXTLINE(bugprone-sizeof-expression)
        std::memcpy(reinterpret_cast<void*>(&word), bytes_ + offset, sizeof(W));
        return word;
    }

private:
    std::byte bytes_[sizeof(T)];
};

}  // namespace heddle::detail
