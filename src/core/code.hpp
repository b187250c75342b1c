// What backends tell core of code that was loaded.
#pragma once

namespace heddle::detail {

/// A launch loaded a kernel's code while its device was busy.
void count_load_while_busy() noexcept;

}  // namespace heddle::detail
