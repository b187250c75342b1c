// Pseudo-random numbers that are the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle_test {

/// A xorshift generator.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
    std::size_t below(std::size_t n) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<std::size_t>(state_ >> 16) % n;
    }

private:
    std::uint64_t state_;
};

}  // namespace heddle_test
