// The end of a process in which CPU streams wait for CUDA streams.
#include "../child.hpp"
#include "../kernels.hpp"
#include "../support.hpp"

#include <heddle/cuda.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>

using namespace heddle_test;

namespace {

/// In the destructor, which runs after main(), a CPU stream waits for a GPU, and the host for that
/// stream.
struct WaitsForGpuLate {
    std::unique_ptr<Stream> cpu, gpu;
    std::unique_ptr<Array<int>> x;
    bool is_filled = false;

    void begin() {
        gpu = std::make_unique<Stream>(Device("cuda:0"));
        cpu = std::make_unique<Stream>(cpu_device());
        x = std::make_unique<Array<int>>(zeros<int>(*gpu, 1 << 24));
    }
    void enqueue() {
        for (int i = 0; i < 200; ++i) launch(*gpu, Add{}, dim(x->size()), *x, 1);
        cpu->wait_stream(*gpu);
        launch_host(*cpu, [this] { is_filled = true; });
    }
    ~WaitsForGpuLate() {
        if (cpu == nullptr) return;
        try {
            if (std::getenv("HEDDLE_TEST_LATE") != nullptr) enqueue();
            cpu->synchronize();
        } catch (const Error& error) {
            // The driver may already be unloaded. heddle must report this instead of hanging.
            std::printf("refused: %s\n", error.what());
            std::_Exit(0);
        }
        std::puts(is_filled ? "waited" : "did not wait");
        std::_Exit(is_filled ? 0 : 5);
    }
};

}  // namespace

TEST_CASE("child: a static object waits for a GPU by a CPU stream", "[.child]") {
    end_if_it_hangs();
    static WaitsForGpuLate late;
    late.begin();
    if (std::getenv("HEDDLE_TEST_LATE") == nullptr) late.enqueue();
    std::exit(0);
}

CUDA_TEST_CASE("a CPU stream behind CUDA work comes to an end in a static destructor at exit") {
    for (const std::vector<std::string>& environment :
         {std::vector<std::string>{}, std::vector<std::string>{"HEDDLE_TEST_LATE=1"}}) {
        const ChildResult child =
            run_test_case("child: a static object waits for a GPU by a CPU stream", environment);
        INFO(child.output);
        CHECK(child.signal == 0);
        CHECK(child.status == 0);
    }
}
