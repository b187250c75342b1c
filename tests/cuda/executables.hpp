// Counts the native executables that CUDA creates from graphs.
#pragma once

namespace heddle_test {

/// Counts while this object exists. Only one may exist at a time.
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
