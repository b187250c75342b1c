// Pseudo-random numbers that are the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace heddle_test {

/// Returns random numbers below a limit. The standard defines the sequence of this engine.
class Random {
public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}
    /// Returns a remainder, because std::uniform_int_distribution differs between standard
    /// libraries. The probabilities are equal, up to n / 2^64.
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }

private:
    std::mt19937_64 engine_;
};

}  // namespace heddle_test
