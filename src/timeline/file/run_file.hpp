// Names the file of a process's recording where several processes use the same name.
#pragma once

#include <string>

namespace heddle::detail {

/// Returns the name under which the process first writes its file: "run-1234.html" for "run.html",
/// with the process's number. The file keeps that name if it cannot be renamed.
std::string process_file(const std::string& file);

/// Renames a complete file to `file`, unless another process has written `file` since this one
/// began. So each process of a run keeps a file, because processes of a run begin before others
/// end. Returns the resulting name. Reports no error: a file that cannot be renamed keeps its name.
std::string take_file_name(const std::string& own, const std::string& file) noexcept;

}  // namespace heddle::detail
