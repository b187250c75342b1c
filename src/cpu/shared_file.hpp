// Files without a name that other processes of the host open by way of this process's folder in /proc: what CPU devices share.
#pragma once

#include <cstddef>
#include <cstdint>

#include <heddle/error.hpp>

namespace heddle::detail::cpu {

/// What other processes need, as bytes.
struct SharedFileName {
    std::int32_t process = 0;
    std::int32_t descriptor = -1;
    std::uint64_t device = 0, inode = 0;  ///< so that another file in the same place is not taken for it
};

/// A file, mapped. Move-only; gives both up.
class SharedFile {
public:
    /// A new one, of zeros. Throws OutOfMemory, or NativeError where the process has too many files open.
    SharedFile(std::size_t bytes, const char* call, const SourceLocation& where);
    /// Another process's. Throws Unsupported where it is gone, or cannot be opened; the message begins with `what`.
    SharedFile(const SharedFileName& name, std::size_t bytes, const char* what, const char* call,
               const SourceLocation& where);
    SharedFile(SharedFile&& other) noexcept;
    SharedFile& operator=(SharedFile&&) = delete;
    ~SharedFile();

    void* data() const noexcept { return data_; }
    /// UsageError for a file of another process.
    SharedFileName name(const char* call, const SourceLocation& where) const;

private:
    int descriptor_ = -1;  ///< kept open only where the file was made
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace heddle::detail::cpu
