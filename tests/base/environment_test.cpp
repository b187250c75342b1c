// Misspelt environment variables of heddle: how they are recognised and reported.
#include "child.hpp"
#include "support.hpp"

#include <string>

#include "core/base/environment.hpp"

using namespace heddle_test;

namespace {
std::string meant(const char* name) {
    const char* const found = heddle::detail::meant_variable(name);
    return found != nullptr ? found : "";
}
}  // namespace

TEST_CASE("a variable with a typing mistake is recognised") {
    CHECK(meant("HEDDLE_CHEKC") == "HEDDLE_CHECK");
    CHECK(meant("HEDDLE_CHECKS") == "HEDDLE_CHECK");
    CHECK(meant("HEDDLE_check") == "HEDDLE_CHECK");
    CHECK(meant("HEDDLE_DEVICES") == "HEDDLE_DEVICE");
    CHECK(meant("HEDDLE_TIME_LINE") == "HEDDLE_TIMELINE");
    CHECK(meant("HEDDLE_CPU_DEVICE") == "HEDDLE_CPU_DEVICES");
    CHECK(meant("HEDDLE_CPU_TREADS") == "HEDDLE_CPU_THREADS");
    CHECK(meant("HEDDLE_CACHE_MB") == "HEDDLE_CACHE_MIB");
    CHECK(meant("HEDDLE_NVTXS") == "HEDDLE_NVTX");
    CHECK(meant("HEDDLE_NVTRC") == "HEDDLE_NVRTC");
}

TEST_CASE("known variables, options of the build and a program's own names are left alone") {
    for (const char* name : {"HEDDLE_CHECK",
                             "HEDDLE_NVTX",
                             "HEDDLE_NVRTC",
                             "HEDDLE_CPU_DEVICES",
                             "HEDDLE_CUDA",
                             "HEDDLE_NVCC",
                             "HEDDLE_INSTALL",
                             "HEDDLE_WERROR",
                             "HEDDLE_SANITIZE",
                             "HEDDLE_SOURCE",
                             "HEDDLE_BUILD_TESTS",
                             "HEDDLE_TEST_DEVICE",
                             "HEDDLE_TEST_TSAN",
                             "HEDDLE_RANDOM_SEED",
                             "HEDDLE_NVIDIA_SMI",
                             "HEDDLE_VERSION",
                             "HEDDLE_ROOT",
                             "HEDDLE_DIR",
                             "HEDDLE_",
                             "heddle_check",
                             "CHECK",
                             ""}) {
        CAPTURE(name);
        CHECK(meant(name) == "");
    }
}

TEST_CASE("a variable that was meant to be heddle's is named once, with the one that was meant") {
    const auto output_with = [](const std::vector<std::string>& environment) {
        const auto child = run_test_case("child: says what devices there are", environment);
        CHECK(child.status == 0);
        CHECK_THAT(child.output, contains("works\n"));
        return child.output;
    };
    const auto count = [](const std::string& text, const std::string& part) {
        int found = 0;
        for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
            ++found;
        return found;
    };
    const std::string told = output_with({"HEDDLE_NVTXS=0", "HEDDLE_CASHE_DIR=/tmp"});
    INFO(told);
    CHECK(count(told, "HEDDLE_NVTXS") == 1);
    CHECK(count(told, "heddle: HEDDLE_NVTXS in the environment is not a variable of heddle: did "
                      "you mean HEDDLE_NVTX?\n") == 1);
    CHECK(count(told, "HEDDLE_CASHE_DIR in the environment is not a variable of heddle: did you "
                      "mean HEDDLE_CACHE_DIR?") == 1);
    // Not reported if the correct variable is set too, or if the unknown variable is empty.
    CHECK(count(output_with({"HEDDLE_NVTXS=0", "HEDDLE_NVTX=0"}), "is not a variable") == 0);
    CHECK(count(output_with({"HEDDLE_NVTXS="}), "is not a variable") == 0);
}
