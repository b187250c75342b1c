// If a kernel fails, its device cannot be used for the rest of the process. So each case runs in a
// process of its own.
#include "../child.hpp"
#include "../support.hpp"

#include <heddle/cuda.hpp>

#include <cstdio>
#include <cstdlib>

using namespace heddle_test;

namespace {

Device gpu() { return Device("cuda:0"); }

__global__ void write_nowhere(int* nowhere) { *nowhere = 1; }
__global__ void trap() { asm("trap;"); }
__global__ void harmless(int* data) { data[threadIdx.x] = 1; }

/// If `condition` is false, prints the text and ends the child with exit status 1.
void expect(bool condition, const char* what) {
    if (condition) return;
    std::printf("not so: %s\n", what);
    std::fflush(stdout);
    std::_Exit(1);
}

void expect_success(const std::string& name) {
    const ChildResult child = run_test_case(name);
    INFO(child.output);
    CHECK(child.signal == 0);
    CHECK(child.status == 0);
}

}  // namespace

TEST_CASE("child: illegal address", "[.child]") {
    end_if_it_hangs();
    const Reports reports;
    {
        const Stream s(gpu(), {.priority = 0, .name = "the guilty"}), other(gpu());
        Array<int> x = ready_zeros<int>(other, 32);
        launch(s, write_nowhere, grid(1, 1), reinterpret_cast<int*>(16));
        const auto error = error_of([&] { s.synchronize(); });
        expect(error.has_value(), "the failure comes out");
        expect(error->code() == ErrorCode::device_lost, "as a lost device");
        expect(error->native_name() == "cudaErrorIllegalAddress", "with CUDA's name for it");
        expect(error->native_code() == cudaErrorIllegalAddress, "and number");
        expect(error->device() == gpu(), "and the device");
        const auto again = error_of([&] { other.synchronize(); });
        expect(again && again->code() == ErrorCode::device_lost, "the whole device is lost");
        const auto launched = error_of([&] { launch(other, harmless, grid(1, 32), x); });
        expect(launched && launched->code() == ErrorCode::device_lost, "launches are refused");
        const auto cleared = error_of([&] { s.clear_error(); });
        expect(cleared && cleared->code() == ErrorCode::device_lost, "there is no way back");
        const Stream cpu(cpu_device());
        bool ran = false;
        launch_host(cpu, [&] { ran = true; });
        cpu.synchronize();
        expect(ran, "CPU devices go on");
    }  // destructors must neither throw nor hang
    expect(reports.count() <= 1, "destructors do not report it over and over");
    std::exit(0);
}

TEST_CASE("child: trap seen from elsewhere", "[.child]") {
    end_if_it_hangs();
    const Stream s(gpu()), cpu(cpu_device());
    launch(s, trap, grid(1, 1));
    const Event event = s.record_event();
    cpu.wait_stream(s);
    launch_host(cpu, [] {});
    const auto error = error_of([&] { event.synchronize(); });
    expect(error && error->code() == ErrorCode::device_lost, "the event throws it");
    const auto from_cpu = error_of([&] { cpu.synchronize(); });
    expect(from_cpu.has_value(), "what waits for it on a CPU device fails too, and does not hang");
    const auto from_device = error_of([] { synchronize_device(Device("cuda:0")); });
    expect(from_device && from_device->code() == ErrorCode::device_lost,
           "synchronising the device throws it");
    std::exit(0);
}

TEST_CASE("child: exit with a failed kernel that nobody looked at", "[.child]") {
    end_if_it_hangs();
    static Stream s(gpu());
    static Array<int> x = zeros<int>(s, 32);
    launch(s, trap, grid(1, 1));
    std::exit(0);
}

CUDA_TEST_CASE("a kernel that writes to an illegal address loses its device, and heddle says so") {
    expect_success("child: illegal address");
}

CUDA_TEST_CASE("a failed kernel comes out of events and of streams of other kinds") {
    expect_success("child: trap seen from elsewhere");
}

CUDA_TEST_CASE("a process may end with a failed kernel that nobody looked at") {
    expect_success("child: exit with a failed kernel that nobody looked at");
}
