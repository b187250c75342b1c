#include "catch.hpp"

#include <string>

#include <heddle/version.hpp>

TEST_CASE("the version is the same as a number and as text") {
    const int major = HEDDLE_VERSION / 10000;
    const int minor = HEDDLE_VERSION / 100 % 100;
    const int patch = HEDDLE_VERSION % 100;
    CHECK(std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch) ==
          HEDDLE_VERSION_TEXT);
}
