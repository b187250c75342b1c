#pragma once

// A file that several threads read at once.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace heddle::tool {

/// An error about a file, without its name: "No such file or directory".
struct FileError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A regular file, open for reading. Its size is fixed when it is opened. Files that the kernel
/// generates when they are read (/proc, /sys) report no size: opening them reads them to their end.
class InputFile {
public:
    /// Throws FileError if the path cannot be opened or is not a regular file.
    explicit InputFile(const std::string& path);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    std::uint64_t size() const noexcept { return size_; }

    /// Reads `bytes` bytes at `offset` into `to`. The range must be inside size(). Throws FileError
    /// if that fails, for example because the file has become shorter. Thread-safe.
    void read(std::uint64_t offset, std::size_t bytes, std::uint8_t* to) const;

private:
    void read_to_end();

    int fd_;
    std::uint64_t size_ = 0;
    bool is_kept_ = false;  ///< whether contents_ holds the file
    std::vector<std::uint8_t> contents_;
};

}  // namespace heddle::tool
