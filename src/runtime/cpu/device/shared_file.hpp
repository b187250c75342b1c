// Unnamed files that other processes of this host open through this process's directory in /proc.
// CPU devices share memory and events through them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <heddle/error.hpp>

namespace heddle::detail::cpu {

/// Identifies a SharedFile to other processes. Trivially copyable.
struct SharedFileName {
    std::int32_t process = 0;
    std::int32_t descriptor = -1;
    /// Distinguish this file from later files that have the same descriptor.
    std::uint64_t device = 0, inode = 0;
};

/// A mapped file. Move-only. The destructor unmaps and closes it.
class SharedFile {
public:
    /// Creates a file of zeros. Throws OutOfMemory, or NativeError if too many files are open.
    SharedFile(std::size_t bytes, const char* call, const SourceLocation& where);
    /// Opens another process's file. Throws Unsupported if the file no longer exists or cannot be
    /// opened, and OutOfMemory if it cannot be mapped. The message begins with the third parameter.
    SharedFile(const SharedFileName& name, std::size_t bytes, const char* what, const char* call,
               const SourceLocation& where);
    SharedFile(SharedFile&& other) noexcept;
    SharedFile& operator=(SharedFile&&) = delete;
    ~SharedFile();

    void* data() const noexcept { return data_; }
    /// Returns the file's name for other processes. Throws UsageError if another process made the
    /// file.
    SharedFileName name(const char* call, const SourceLocation& where) const;

private:
    int descriptor_ = -1;  ///< open only in the process that made the file
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

}  // namespace heddle::detail::cpu
