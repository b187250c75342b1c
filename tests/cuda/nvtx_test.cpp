// HEDDLE_NVTX: the notifications for an NVIDIA tool, without a GPU. A test library replaces the
// tool and prints the notifications.
#include "child.hpp"
#include "support.hpp"

#include <cstdio>
#include <sstream>

using namespace heddle_test;

TEST_CASE("child: calls for a tool", "[.child]") {
    const Stream s(cpu_device());
    std::printf("line %d\n", __LINE__);
    launch_host(s, [] {});
    s.synchronize();
    CHECK_THROWS_AS(s.wait_stream(StreamRef()), UsageError);
}

TEST_CASE("HEDDLE_NVTX gives tools a range for each call, also for calls that throw") {
    const ChildResult child =
        run_test_case("child: calls for a tool",
                      {"HEDDLE_NVTX=1", "NVTX_INJECTION64_PATH=" HEDDLE_TEST_NVTX_TOOL});
    INFO(child.output);
    CHECK(child.status == 0);
    CHECK_THAT(child.output, contains("domain heddle\n"));
    CHECK_THAT(child.output, contains("thread main\n"));
    const std::size_t at = child.output.find("line ");
    REQUIRE(at != std::string::npos);
    const int first = std::stoi(child.output.substr(at + 5));
    const auto range = [&](const char* call, int offset) {
        return "push " + std::string(call) + " nvtx_test.cpp:" + std::to_string(first + offset) +
               "\npop\n";
    };
    CHECK_THAT(child.output, contains(range("launch_host", 1)));
    CHECK_THAT(child.output, contains(range("synchronize", 2)));
    CHECK_THAT(child.output, contains(range("wait_stream", 3)));
    int depth = 0;  // each call must also end
    std::istringstream lines(child.output);
    for (std::string line; std::getline(lines, line);) {
        if (line.rfind("push ", 0) == 0) ++depth;
        if (line == "pop") --depth;
    }
    CHECK(depth == 0);
}

TEST_CASE("without HEDDLE_NVTX tools are told nothing") {
    const ChildResult child =
        run_test_case("child: calls for a tool", {"NVTX_INJECTION64_PATH=" HEDDLE_TEST_NVTX_TOOL});
    CHECK(child.status == 0);
    CHECK(child.output.find("push ") == std::string::npos);
}
