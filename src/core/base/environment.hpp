// Numbers that the user can set in environment variables.
#pragma once

#include <atomic>
#include <string>

namespace heddle::detail {

/// An integer from an environment variable, read once, at construction. An empty variable counts as
/// unset.
class EnvironmentNumber {
public:
    /// Uses `otherwise` if the variable is unset or is not an integer. Clamps other values to
    /// [least, most].
    EnvironmentNumber(const char* name, int least, int most, int otherwise) noexcept;

    /// Returns the number. The first call reports a value that was rejected or clamped.
    /// Thread-safe; a report hook may call it.
    int get() noexcept;

private:
    int number_;
    std::string complaint_;  ///< empty: nothing to report
    std::atomic<bool> reported_{false};
};

}  // namespace heddle::detail
