#pragma once

// A file that several threads read at once.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace heddle::tool {

/// An error about a file. The text does not name the file, for example "No such file or directory".
struct FileError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A regular file that is open for reading. The constructor determines the file's size. The kernel
/// reports no size for files that it generates (/proc, /sys). So the constructor reads such a file
/// to its end, and keeps the contents.
class InputFile {
public:
    /// Throws FileError if the path cannot be opened or is not a regular file.
    explicit InputFile(const std::string& path);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    std::uint64_t size() const noexcept { return size_; }

    /// Reads `bytes` bytes at `offset` into `to`. The range must be inside size(). Throws FileError
    /// if reading fails, for example because the file has become shorter. Thread-safe.
    void read(std::uint64_t offset, std::size_t bytes, std::uint8_t* to) const;

private:
    void read_to_end();

    int fd_;
    std::uint64_t size_ = 0;
    bool is_kept_ = false;  ///< whether contents_ contains the file
    std::vector<std::uint8_t> contents_;
};

}  // namespace heddle::tool
