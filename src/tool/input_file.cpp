#include "input_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace heddle::tool {
namespace {

[[noreturn]] void throw_errno() { throw FileError(std::generic_category().message(errno)); }

/// Opens a path and returns the descriptor. Does not block on a pipe without a writer.
int open_path(const std::string& path) {
    if (path == "-")
        throw FileError("standard input is not supported, because the file is read at many places "
                        "at once: name a regular file");
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) throw_errno();
    return fd;
}

/// Returns whether the file is on a file system (such as /proc) that reports no real sizes.
bool is_made_up(int fd) noexcept {
    struct statfs system {};
    if (fstatfs(fd, &system) != 0) return false;
    switch (static_cast<unsigned long>(system.f_type)) {
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC:
    case SECURITYFS_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC: return true;
    default: return false;
    }
}

}  // namespace

InputFile::InputFile(const std::string& path) : fd_(open_path(path)) {
    try {
        struct stat status {};
        if (fstat(fd_, &status) != 0) throw_errno();
        if (S_ISDIR(status.st_mode)) throw FileError("is a directory");
        if (!S_ISREG(status.st_mode)) throw FileError("is not a regular file");
        size_ = static_cast<std::uint64_t>(status.st_size);
        if (size_ == 0 || is_made_up(fd_)) read_to_end();
        // This is just a hint to the kernel, so its result is ignored.
        posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
    } catch (...) {
        close(fd_);
        throw;
    }
}

void InputFile::read_to_end() {
    constexpr std::size_t most = 256 << 20, step = 1 << 16;
    is_kept_ = true;
    for (std::size_t end = 0;;) {
        contents_.resize(end + step);
        const ssize_t got = ::read(fd_, contents_.data() + end, step);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw_errno();
        end += static_cast<std::size_t>(got);
        contents_.resize(end);
        if (got == 0) break;
        if (end > most) throw FileError("does not report its size, and has more than 256 MiB");
    }
    size_ = contents_.size();
}

InputFile::~InputFile() { close(fd_); }

void InputFile::read(std::uint64_t offset, std::size_t bytes, std::uint8_t* to) const {
    if (is_kept_) {
        std::copy_n(contents_.data() + offset, bytes, to);
        return;
    }
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
