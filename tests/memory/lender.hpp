// Memory that tests adopt.
#pragma once

#include "support.hpp"

#include <atomic>
#include <cstddef>

namespace heddle_test {

inline constexpr std::size_t n = 1000;

/// Host memory, and how often its end was called. Make it before the arrays of it.
struct Lender {
    alignas(256) int data[n] = {};
    std::atomic<int> ended{0};

    ~Lender() { finish_adopted(); }  // its ends refer to it
    Array<int> give() {
        return adopt(cpu_device(), data, n, [this](int* p) { ended += p == data; });
    }
};

}  // namespace heddle_test
