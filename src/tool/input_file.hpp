#pragma once

// A file to be read by several threads at once.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace heddle::tool {

/// What is wrong with a file, without its name: "No such file or directory".
struct FileError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A regular file, open for reading. Its size is what it was when it was opened. Files that the kernel makes up as they are read (/proc,
/// /sys) have no size before: they are read to their end when they are opened.
class InputFile {
public:
    /// Throws FileError for what cannot be opened or is not a regular file.
    explicit InputFile(const std::string& path);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    std::uint64_t size() const noexcept { return size_; }

    /// Reads `bytes` bytes at `offset`, all of them inside size(), to `to`. Throws FileError when that
    /// cannot be, as when the file has become shorter. May be called from many threads at once.
    void read(std::uint64_t offset, std::size_t bytes, std::uint8_t* to) const;

private:
    void read_to_end();

    int fd_;
    std::uint64_t size_ = 0;
    bool is_kept_ = false;  ///< the file is in contents_
    std::vector<std::uint8_t> contents_;
};

}  // namespace heddle::tool
