// Numbers that the user may give in the environment.
#pragma once

#include <atomic>
#include <string>

namespace heddle::detail {

/// A whole number from a variable of the environment, read once, when it is made. An empty variable counts as none.
class EnvironmentNumber {
public:
    /// `otherwise` is taken where the variable is not set or holds no whole number; what is below `least` or above `most` is
    /// clamped.
    EnvironmentNumber(const char* name, int least, int most, int otherwise) noexcept;

    /// The number. The first call reports a value that was not taken as it is. Thread-safe; a report hook may call it.
    int get() noexcept;

private:
    int number_;
    std::string complaint_;  ///< empty: nothing to report
    std::atomic<bool> reported_{false};
};

}  // namespace heddle::detail
