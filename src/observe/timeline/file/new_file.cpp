#include "timeline/file/new_file.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace heddle::detail {

namespace {

/// Creates an empty file with a new, unique name beside `target`. Returns its name. If that fails,
/// returns "" and sets errno.
std::string make_beside(const std::string& target) {
    static std::atomic<std::uint64_t> count{0};
    for (;;) {
        std::string name = detail::formatted("{}.{}-{}.part", target, getpid(), count.fetch_add(1));
        const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        // A process that was killed has left a file of this name.
        if (file < 0 && errno == EEXIST) continue;
        if (file < 0) return "";
        ::close(file);
        return name;
    }
}

}  // namespace

NewFile::NewFile(const std::string& path, const ErrorSite& site)
    : path_(path), site_(site), target_(path) {
    std::error_code none;
    if (std::filesystem::is_symlink(path, none))
        target_ = std::filesystem::weakly_canonical(path, none).string();
    const auto there = std::filesystem::status(target_, none);
    if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
        usage_error(site,
                    "\"{}\" is not a regular file: name a new file, or a regular file to replace",
                    path);
    errno = 0;
    temporary_ = make_beside(target_);
    if (temporary_.empty()) fail();
    stream_.open(temporary_, std::ios::binary);
    if (!stream_) fail();
}

NewFile::~NewFile() {
    if (!temporary_.empty()) std::remove(temporary_.c_str());
}

void NewFile::keep() {
    stream_.close();
    if (!stream_ || std::rename(temporary_.c_str(), target_.c_str()) != 0) fail();
    temporary_.clear();
}

void NewFile::fail() const {
    const int code = errno != 0 ? errno : EIO;
    coded_error(ErrorCode::native, site_.with_native(code), "\"{}\" cannot be written: {}", path_,
                std::generic_category().message(code));
}

}  // namespace heddle::detail
