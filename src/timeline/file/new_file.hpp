// Files that appear when they are complete.
#pragma once

#include <fstream>
#include <string>

#include "core/base/errors.hpp"

namespace heddle::detail {

/// A file being written, under another name beside its own until it is complete.
class NewFile {
public:
    /// Throws NativeError if there can be no file of that name, UsageError if there is something
    /// else than a file. A link stays, and what it leads to is replaced.
    NewFile(const std::string& path, const ErrorSite& site);
    /// Removes what was written unless it was kept.
    ~NewFile();
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    std::ostream& stream() noexcept { return stream_; }
    /// Gives the file its name. Call once, last. Throws NativeError if it could not be written.
    void keep();

private:
    [[noreturn]] void fail() const;

    const std::string path_;
    const ErrorSite site_;
    std::string target_;     ///< what path_ leads to
    std::string temporary_;  ///< "" if there is none
    std::ofstream stream_;
};

}  // namespace heddle::detail
