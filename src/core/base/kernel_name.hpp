// Readable names of kernels.
#pragma once

#include <string>
#include <string_view>

namespace heddle::detail {

/// Extracts the kernel's name ("Saxpy") from __PRETTY_FUNCTION__ of an operation's type. Returns
/// all of `pretty` if it finds none.
std::string_view kernel_name_in(const char* pretty) noexcept;
std::string kernel_name(const char* pretty);

}  // namespace heddle::detail
