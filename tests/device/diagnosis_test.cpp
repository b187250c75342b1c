#include <heddle/device/diagnosis.hpp>

#include "../support.hpp"

#include <algorithm>
#include <cstdlib>

using namespace heddle_test;

namespace {

/// Returns the part with this name, or null.
const RuntimePart* part_of(const std::vector<RuntimePart>& parts, std::string_view name) {
    const auto found = std::ranges::find(parts, name, &RuntimePart::name);
    return found == parts.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("every part was found or has a reason", "[diagnosis]") {
    const std::vector<RuntimePart> parts = runtime_parts();
    for (const RuntimePart& part : parts) {
        CAPTURE(part.name);
        CHECK_FALSE(part.name.empty());
        CHECK_FALSE((part.found.empty() && part.problem.empty()));
    }
    for (const char* name : {"CPU workers", "CPU caches", "NCCL"}) {
        CAPTURE(name);
        CHECK(part_of(parts, name) != nullptr);
    }
    CHECK(part_of(parts, "CPU workers")->problem.empty());
}

TEST_CASE("a missing GPU is the problem of the driver, or of CUDA", "[diagnosis]") {
    const std::vector<RuntimePart> parts = runtime_parts();
    const RuntimePart* cuda = part_of(parts, "CUDA driver");
    if (cuda == nullptr) cuda = part_of(parts, "CUDA");  // a build without CUDA
    REQUIRE(cuda != nullptr);
    CHECK(cuda->problem == cuda_unavailable_reason());
}

TEST_CASE("variables of the environment are listed by name", "[diagnosis]") {
    const auto set = [](const char* name, const char* value) { setenv(name, value, 1); };
    set("HEDDLE_ZZZ_ANOTHER", "b=c");
    set("HEDDLE_CHEKC", "1");
    set("HEDDLE_ZZZ_EMPTY", "");
    const std::vector<EnvironmentVariable> all = environment_variables();
    for (const char* name : {"HEDDLE_ZZZ_ANOTHER", "HEDDLE_CHEKC", "HEDDLE_ZZZ_EMPTY"})
        unsetenv(name);
    CHECK(std::ranges::is_sorted(all, {}, &EnvironmentVariable::name));
    const auto find = [&](std::string_view name) {
        return std::ranges::find(all, name, &EnvironmentVariable::name);
    };
    CHECK(find("HEDDLE_ZZZ_EMPTY") == all.end());
    const auto misspelt = find("HEDDLE_CHEKC");
    REQUIRE(misspelt != all.end());
    CHECK_FALSE(misspelt->is_read);
    CHECK(misspelt->meant == "HEDDLE_CHECK");
    const auto other = find("HEDDLE_ZZZ_ANOTHER");
    REQUIRE(other != all.end());
    CHECK(other->value == "b=c");
    CHECK_FALSE(other->is_read);
    CHECK(other->meant.empty());
}
