// Files that appear under their final name only when they are complete.
#pragma once

#include <fstream>
#include <string>

#include "core/base/errors.hpp"

namespace heddle::detail {

/// A file that is written under a temporary name in the same folder until it is complete.
class NewFile {
public:
    /// Creates the temporary file. Throws NativeError if that fails. Throws UsageError if `path`
    /// names something other than a regular file. If `path` is a symbolic link, the link stays and
    /// its target is replaced.
    NewFile(const std::string& path, const ErrorSite& site);
    /// Removes the file unless keep() was called.
    ~NewFile();
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    std::ostream& stream() noexcept { return stream_; }
    /// Renames the file to its final name. Call it once, after everything was written. Throws
    /// NativeError if the file could not be written.
    void keep();

private:
    [[noreturn]] void fail() const;

    const std::string path_;
    const ErrorSite site_;
    std::string target_;     ///< path_, with links resolved
    std::string temporary_;  ///< empty after keep()
    std::ofstream stream_;
};

}  // namespace heddle::detail
