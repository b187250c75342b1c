// Readable names of kernels.
#pragma once

#include <string>
#include <string_view>

namespace heddle::detail {

/// Extracts the kernel's name ("Saxpy") from the __PRETTY_FUNCTION__ of an operation's type.
/// Returns all of `pretty` if it contains no name.
std::string_view kernel_name_in(const char* pretty) noexcept;
/// Returns kernel_name_in(`pretty`), made readable if it is a mangled name. Leaves out nvcc's names
/// of anonymous namespaces.
std::string kernel_name(const char* pretty);
/// Returns the name that a mangled symbol stands for. Returns other symbols unchanged.
std::string demangled(const std::string& symbol);
/// Returns "my::scale<float>", for example, for a kernel's mangled name.
std::string readable_kernel_name(const std::string& mangled);

/// Returns a kernel's name as it appears in reports. For a lambda, returns the function or the
/// place that contains it.
std::string readable_name(const std::string& name);

/// Returns kernel_name() with a terminating null. The name stays valid for the life of the process;
/// each name is made once. Returns `pretty` itself if memory is exhausted. Costs a few nanoseconds
/// for a name that this thread has looked up recently.
const char* kept_kernel_name(const char* pretty) noexcept;

}  // namespace heddle::detail
