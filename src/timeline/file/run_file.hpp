// The file that a process's recording goes to, where several processes have the same name for it.
#pragma once

#include <string>

namespace heddle::detail {

/// Returns the name that a file has before it gets its own, and keeps if it cannot have that:
/// "run-1234.html" for "run.html", with the process's number.
std::string process_file(const std::string& file);

/// Renames a complete file to `file`, unless another process has written that since this one began.
/// Among the processes of a run, which begin before others end, each keeps a file so. Returns the
/// name that the file has then. Reports nothing: a file that cannot be renamed keeps its name.
std::string take_file_name(const std::string& own, const std::string& file) noexcept;

}  // namespace heddle::detail
