#include "timeline/file/run_file.hpp"

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <tuple>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace heddle::detail {

namespace {

/// The time at which this process began, by the clock that file systems use for their timestamps.
const timespec began = [] {
    timespec now{};
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return now;
}();

bool is_written_since_begin(const std::string& file) noexcept {
    struct stat found {};
    if (::stat(file.c_str(), &found) != 0) return false;
    return std::tuple(found.st_ctim.tv_sec, found.st_ctim.tv_nsec) >
           std::tuple(began.tv_sec, began.tv_nsec);
}

/// Locks a folder, so that no other process renames files in it at the same time. On a file system
/// that cannot lock, does nothing.
class FolderLock {
public:
    explicit FolderLock(const std::string& folder) noexcept
        : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
        if (folder_ >= 0) (void)::flock(folder_, LOCK_EX);
    }
    ~FolderLock() {
        if (folder_ >= 0) ::close(folder_);
    }
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;

private:
    const int folder_;
};

}  // namespace

std::string process_file(const std::string& file) {
    const std::filesystem::path path(file);
    std::filesystem::path own = path.parent_path() / path.stem();
    own += "-" + std::to_string(getpid()) + path.extension().string();
    return own.string();
}

std::string take_file_name(const std::string& own, const std::string& file) noexcept try {
    const FolderLock lock(std::filesystem::path(file).parent_path().string());
    if (is_written_since_begin(file)) return own;
    return std::rename(own.c_str(), file.c_str()) == 0 ? file : own;
} catch (...) {  // memory is exhausted: the file keeps its name
    return own;
}

}  // namespace heddle::detail
