#include "input_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace heddle::tool {
namespace {

[[noreturn]] void throw_errno() { throw FileError(std::generic_category().message(errno)); }

/// Opens a path; never waits for the other end of a pipe.
int open_path(const std::string& path) {
    if (path == "-")
        throw FileError("standard input is not supported: the file is read at many places at once");
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) throw_errno();
    return fd;
}

}  // namespace

InputFile::InputFile(const std::string& path) : fd_(open_path(path)) {
    try {
        struct stat status {};
        if (fstat(fd_, &status) != 0) throw_errno();
        if (S_ISDIR(status.st_mode)) throw FileError("is a directory");
        if (!S_ISREG(status.st_mode)) throw FileError("is not a regular file");
        size_ = static_cast<std::uint64_t>(status.st_size);
        posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL);  // a hint; whether it is taken does not matter
    } catch (...) {
        close(fd_);
        throw;
    }
}

InputFile::~InputFile() { close(fd_); }

void InputFile::read(std::uint64_t offset, std::size_t bytes, std::uint8_t* to) const {
    while (bytes > 0) {
        const ssize_t got = pread(fd_, to, bytes, static_cast<off_t>(offset));
        if (got < 0) {
            if (errno == EINTR) continue;
            throw_errno();
        }
        if (got == 0) throw FileError("became shorter while it was read");
        offset += static_cast<std::uint64_t>(got);
        bytes -= static_cast<std::size_t>(got);
        to += got;
    }
}

}  // namespace heddle::tool
