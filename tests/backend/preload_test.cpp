// Code that is loaded before it is needed, and launches that load code while the device is busy.
#include "kernels.hpp"
#include "support.hpp"

#include <cstdlib>

using namespace heddle_test;

namespace {

// Kernels that only this file uses. Each is first launched in a particular test.
struct NotLoaded {
    HEDDLE_FN void operator()(std::size_t i, View<int> y) const { y[i] = 1; }
};
struct Told {
    HEDDLE_FN void operator()(std::size_t i, View<int> y) const { y[i] = 2; }
};
struct Loaded {
    template <class T> HEDDLE_FN void operator()(std::size_t i, View<T> y) const { y[i] = T(3); }
};

/// Returns why launches load no code here. Returns an empty string if they do.
std::string no_loads() {
    if (test_device().is_cpu()) return "CPU devices load no code";
    const char* loading = std::getenv("CUDA_MODULE_LOADING");
    return loading != nullptr && std::string(loading) == "EAGER" ? "CUDA_MODULE_LOADING is EAGER"
                                                                 : "";
}

struct Policy {
    explicit Policy(CodeLoadPolicy policy) { set_code_load_policy(policy); }
    ~Policy() { set_code_load_policy(CodeLoadPolicy::count); }
};

}  // namespace

TEST_CASE("a launch that would load code while its device is busy is refused, if that is wanted",
          "[preload]") {
    if (const std::string reason = no_loads(); !reason.empty()) HEDDLE_SKIP(reason);
    const Drained drained;
    const Stream busy(test_device()), s(test_device());
    Array<int> x = ready_zeros<int>(s, 10);
    const Policy policy(CodeLoadPolicy::refuse);
    Gate gate(busy);
    const std::uint64_t before = code_loads_while_busy();
    const Error refused = thrown_by([&] { launch(s, NotLoaded{}, dim(10), x); });
    CHECK_THAT(refused.what(), contains("NotLoaded"));
    CHECK_THAT(refused.what(), contains("preload()"));
    CHECK(code_loads_while_busy() == before + 1);
    gate.open();
    busy.synchronize();
    launch(s, NotLoaded{}, dim(10), x);
    CHECK(to_host(s, x) == std::vector<int>(10, 1));
    CHECK(code_loads_while_busy() == before + 1);
}

TEST_CASE("a preloaded kernel, in all its instantiations, is launched beside a busy stream and "
          "counted by nobody",
          "[preload]") {
    if (const std::string reason = no_loads(); !reason.empty()) HEDDLE_SKIP(reason);
    const Drained drained;
    const Stream busy(test_device()), s(test_device());
    Array<int> x = zeros<int>(s, 10);
    Array<float> y = zeros<float>(s, 10);
    preload(test_device(), Loaded{});
    s.synchronize();
    const Policy policy(CodeLoadPolicy::refuse);
    Gate gate(busy);
    const std::uint64_t before = code_loads_while_busy();
    launch(s, Loaded{}, dim(10), x);
    launch(s, Loaded{}, dim(10), y);
    s.synchronize();  // returns although the other stream is held
    CHECK(code_loads_while_busy() == before);
    gate.open();
    CHECK(to_host(s, x) == std::vector<int>(10, 3));
    CHECK(to_host(s, y) == std::vector<float>(10, 3.0f));
}

TEST_CASE("a load at a bad time is told to the report hook, if that is wanted", "[preload]") {
    if (const std::string reason = no_loads(); !reason.empty()) HEDDLE_SKIP(reason);
    const Drained drained;
    const Reports reports;
    const Stream busy(test_device()), s(test_device());
    Array<int> x = ready_zeros<int>(s, 10);
    const Policy policy(CodeLoadPolicy::warn);
    Gate gate(busy);
    // A host function holds the stream, and no kernel runs, so loading need not wait.
    launch(s, Told{}, dim(10), x);
    CHECK(reports.count() == 1);
    launch(s, Told{}, dim(10), x);
    CHECK(reports.count() == 1);
    gate.open();
    CHECK(to_host(s, x) == std::vector<int>(10, 2));
}

// Must be the last test case: it loads code that must not be loaded yet when the others run.
TEST_CASE("preloading is possible on every device, and changes no results", "[preload]") {
    preload(test_device(), Add{}, Multiply{});
    preload_all(test_device());
    const Stream s(test_device());
    Array<int> x = full<int>(s, 100, 1);
    launch(s, Add{}, dim(100), x, 1);
    CHECK(to_host(s, x) == std::vector<int>(100, 2));
}
