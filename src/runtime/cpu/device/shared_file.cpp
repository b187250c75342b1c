#include "cpu/device/shared_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/errors.hpp"

namespace heddle::detail::cpu {

namespace {

/// Returns the last part of an error message: the system's reason.
std::string why(int error) { return error != 0 ? formatted(" ({})", std::strerror(error)) : ""; }

void* map(int file, std::size_t bytes) noexcept {
    void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return base == MAP_FAILED ? nullptr : base;
}

constexpr const char* name_of_files = "heddle";
/// Prevents truncation, which would cause SIGBUS in processes that map the file.
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

/// Returns whether SharedFile made this file. By now the other process may have opened a different
/// file with that descriptor.
bool is_ours(int file, const std::string& path) noexcept {
    const int found = fcntl(file, F_GET_SEALS);
    if (found < 0 || (found & seals) != seals) return false;
    char target[64] = {};
    return readlink(path.c_str(), target, sizeof target - 1) > 0 &&
           std::string_view(target).starts_with(std::string("/memfd:") + name_of_files + " ");
}

/// Closes a descriptor at the end of its scope.
struct Descriptor {
    int value;
    ~Descriptor() {
        if (value >= 0) close(value);
    }
};

/// Returns a descriptor that only identifies the file (O_PATH), or -1 with errno set.
int find(const SharedFileName& name) {
    const std::string process = "/proc/" + std::to_string(name.process);
    const std::string file = "/fd/" + std::to_string(name.descriptor);
    int found = open((process + file).c_str(), O_PATH | O_CLOEXEC);
    if (found >= 0 || errno != ENOENT) return found;
    // The process's first thread may have ended. The other threads' directories still list the
    // process's files.
    std::error_code none;
    for (const auto& thread : std::filesystem::directory_iterator(process + "/task", none)) {
        found = open((thread.path().string() + file).c_str(), O_PATH | O_CLOEXEC);
        if (found >= 0) return found;
    }
    errno = ENOENT;
    return -1;
}

}  // namespace

SharedFile::SharedFile(std::size_t bytes, const char* call, const SourceLocation& where)
    : bytes_(bytes) {
    Descriptor file{memfd_create(name_of_files, MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    if (file.value >= 0 && ftruncate(file.value, static_cast<off_t>(bytes)) == 0 &&
        fcntl(file.value, F_ADD_SEALS, seals) == 0)
        data_ = map(file.value, bytes);
    if (data_ == nullptr)
        coded_error(
            errno == EMFILE || errno == ENFILE ? ErrorCode::native : ErrorCode::out_of_memory,
            ErrorSite(call, where).with_native(errno),
            "{} bytes of shared memory cannot be allocated{}: free memory or file descriptors, "
            "then retry",
            bytes, why(errno));
    descriptor_ = std::exchange(file.value, -1);
}

SharedFile::SharedFile(const SharedFileName& name, std::size_t bytes, const char* what,
                       const char* call, const SourceLocation& where)
    : bytes_(bytes) {
    const ErrorSite site{call, where};
    const auto is_gone = [&] {
        unsupported_error(site,
                          "{} no longer exists, because process {} has ended or has released it: "
                          "keep the exported object until it is imported",
                          what, name.process);
    };
    const auto refused = [&] {
        if (errno == ENOENT) is_gone();
        unsupported_error(
            site.with_native(errno),
            "{} cannot be opened, because process {} does not allow access{}: run both "
            "processes as the same user",
            what, name.process, why(errno));
    };
    // Inspects the file before opening it, because opening a device or a pipe can have side
    // effects.
    struct stat is {};
    const Descriptor seen{find(name)};
    if (seen.value < 0 || fstat(seen.value, &is) != 0) refused();
    if (is.st_dev != name.device || is.st_ino != name.inode ||
        static_cast<std::uint64_t>(is.st_size) < bytes)
        is_gone();
    const std::string own_path = "/proc/thread-self/fd/" + std::to_string(seen.value);
    const Descriptor file{S_ISREG(is.st_mode) ? open(own_path.c_str(), O_RDWR | O_CLOEXEC) : -1};
    if (S_ISREG(is.st_mode) && file.value < 0) refused();
    if (file.value < 0 || !is_ours(file.value, own_path))
        unsupported_error(
            site,
            "{} cannot be imported, because the file that the handle names in process "
            "{} is not shared memory of heddle: transfer all bytes of the handle "
            "unchanged",
            what, name.process);
    data_ = map(file.value, bytes);
    if (data_ == nullptr)
        coded_error(ErrorCode::out_of_memory, site.with_native(errno),
                    "{} cannot be mapped{}: free memory, then retry", what, why(errno));
}

SharedFile::SharedFile(SharedFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_) {}

SharedFile::~SharedFile() {
    if (data_ != nullptr) munmap(data_, bytes_);
    if (descriptor_ >= 0) close(descriptor_);
}

SharedFileName SharedFile::name(const char* call, const SourceLocation& where) const {
    if (descriptor_ < 0)
        usage_error({call, where},
                    "the array or event belongs to another process: export it in that process");
    struct stat is {};
    if (fstat(descriptor_, &is) != 0)
        coded_error(ErrorCode::native, ErrorSite(call, where).with_native(errno),
                    "the shared memory file of this array or event cannot be examined{}",
                    why(errno));
    return {static_cast<std::int32_t>(getpid()), descriptor_, is.st_dev, is.st_ino};
}

}  // namespace heddle::detail::cpu
