// Names the file of a process's recording, if several processes were to write the same file.
#pragma once

#include <string>

namespace heddle::detail {

/// Returns the name under which the process first writes its file, for example "run-1234.html" for
/// "run.html" and a process with number 1234. If the file cannot be renamed later, it keeps this
/// name.
std::string process_file(const std::string& file);

/// Renames the complete file `own` to `file`, unless another process wrote `file` after this
/// process began. So processes that run at the same time do not overwrite each other's files.
/// Returns the resulting name. Reports no error: a file that cannot be renamed keeps its name.
std::string take_file_name(const std::string& own, const std::string& file) noexcept;

}  // namespace heddle::detail
