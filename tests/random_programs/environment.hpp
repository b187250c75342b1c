// Environment variables that control runs of random programs. See random_programs_test.cpp.
#pragma once

#include "catch.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

namespace heddle_test::programs {

using Time = std::chrono::steady_clock;

inline std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

inline double seconds() {
    const std::string text = environment("HEDDLE_RANDOM_SECONDS");
    return text.empty() ? 10 : std::stod(text);
}

inline std::uint64_t first_seed() {
    const std::string text = environment("HEDDLE_RANDOM_SEED");
    if (text == "clock")
        return static_cast<std::uint64_t>(
                   std::chrono::system_clock::now().time_since_epoch().count()) %
               1000000007;
    return text.empty() ? 1 : std::stoull(text);
}

inline int pests_for(std::uint64_t seed) {
    const std::string text = environment("HEDDLE_RANDOM_PESTS");
    return text.empty() ? static_cast<int>(seed / 7 % 3) : std::stoi(text);
}

inline std::uint64_t next(std::uint64_t seed, std::uint64_t step) {
    return environment("HEDDLE_RANDOM_STAY").empty() ? seed + step : seed;
}

inline bool is_mode_wanted(std::string_view mode) {
    std::istringstream wanted(environment("HEDDLE_RANDOM_MODES"));
    std::string name;
    bool all = true;
    for (; std::getline(wanted, name, ','); all = false)
        if (name == mode) return true;
    return all;
}

inline void say_runs(std::size_t runs) {
    SUCCEED(runs << " runs");
    if (!environment("HEDDLE_RANDOM_SECONDS").empty())
        std::cout << runs << " runs of random programs" << std::endl;
}

}  // namespace heddle_test::programs
