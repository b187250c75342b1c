// Memory that tests adopt.
#pragma once

#include "support.hpp"

#include <atomic>
#include <cstddef>

namespace heddle_test {

inline constexpr std::size_t n = 1000;

/// Host memory that tests adopt, and the number of calls of `end`. Construct it before the arrays
/// that use this memory.
struct Lender {
    alignas(256) int data[n] = {};
    std::atomic<int> ended{0};

    ~Lender() { finish_adopted(); }  // pending calls of `end` refer to this object
    Array<int> give() {
        return adopt(cpu_device(), data, n, [this](int* p) { ended += p == data; });
    }
};

}  // namespace heddle_test
