// Names the file of a process's recording where several processes use the same name.
#pragma once

#include <string>

namespace heddle::detail {

/// Returns the name under which the process first writes its file: "run-1234.html" for "run.html",
/// with the process's number. The file keeps that name if it cannot be renamed.
std::string process_file(const std::string& file);

/// Renames the complete file `own` to `file`, unless `file` was written after this process began.
/// So of processes that run at the same time, none overwrites another's file. Returns the resulting
/// name. Reports no error: a file that cannot be renamed keeps its name.
std::string take_file_name(const std::string& own, const std::string& file) noexcept;

}  // namespace heddle::detail
