// Counts the native executables of graphs.
#pragma once

namespace heddle_test {

/// Counts during its lifetime. At most one may exist.
class CountedExecutables {
public:
    CountedExecutables();
    ~CountedExecutables();
    CountedExecutables(const CountedExecutables&) = delete;
    CountedExecutables& operator=(const CountedExecutables&) = delete;

    static int made() noexcept;
    static int destroyed() noexcept;
};

}  // namespace heddle_test
