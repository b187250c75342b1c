// Counts native executables of graphs.
#pragma once

namespace heddle_test {

/// Counts from its construction on, while it exists. One at a time.
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
