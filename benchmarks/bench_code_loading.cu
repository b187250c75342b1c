// How long compiling or loading code blocks the calling thread while the device is busy, with
// heddle and with raw calls. Each kernel has only one first launch, so rows have few samples.
#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <heddle/cuda.hpp>
#include <heddle/heddle.hpp>

#include "devices.hpp"
#include "raw_cuda.cuh"
#include "spin.hpp"

using namespace heddle;

namespace {

/// A different kernel for each N.
template <int N> struct Fresh {
    HEDDLE_FN void operator()(std::size_t i, View<float> x) const {
        x[i] = 2 * x[i] + static_cast<float>(N);
    }
};
template <int N> __global__ void fresh_kernel(float* x) { x[threadIdx.x] = 2 * x[threadIdx.x] + N; }

struct Nothing {
    HEDDLE_FN void operator()(std::size_t) const {}
};

constexpr std::size_t n = 256;
constexpr int most_samples = 7;

double us(std::int64_t ns) { return static_cast<double>(ns) * 1e-3; }

template <class F> double us_of(F&& f) {
    const std::int64_t begin = bench::now_ns();
    f();
    return us(bench::now_ns() - begin);
}

/// A device's streams: a stream of heddle, a raw stream, and a stream that is kept busy.
struct Bench {
    explicit Bench(Device d) : device(d) {}

    Device device;
    Stream busy{device}, ours{device};
    bench::Raw theirs{};
    Array<float> x = zeros<float>(ours, n);

    /// Launches `launches` kernels that take `ns` each. Returns when the first one runs or is about
    /// to run.
    void keep_busy(int launches, std::uint64_t ns) {
        launch(busy, bench::Spin{}, dim(1), 1000u);
        const Event begun = busy.record_event();
        for (int i = 0; i < launches; ++i) launch(busy, bench::Spin{}, dim(1), ns);
        begun.synchronize();
    }
    double launch_us() {
        return us_of([&] { launch(ours, Nothing{}, dim(1)); });
    }
};

// --- first launches ------------------------------------------------------------------------------

struct FirstLaunches {
    std::vector<double> preloaded, by_hand;
};

template <int N> void first_launch(Bench& b, std::uint64_t ns, FirstLaunches& found) {
    preload(b.device, Fresh<N>{});
    b.keep_busy(1, ns);
    found.preloaded.push_back(us_of([&] { launch(b.ours, Fresh<N>{}, dim(n), b.x); }));
    found.by_hand.push_back(us_of([&] {
        fresh_kernel<N><<<1, n, 0, b.theirs.a>>>(b.x.data());
        bench::ok(cudaGetLastError());
    }));
    bench::synchronize_raw_device();
}

void first_launches(bench::Report& report, Bench& b) {
    const char* loading = std::getenv("CUDA_MODULE_LOADING");
    if (loading != nullptr && std::string(loading) == "EAGER") {
        std::printf("first launches: not measured, since CUDA_MODULE_LOADING=EAGER loads all code "
                    "at the start\n");
        return;
    }
    const int samples = report.quick() ? 2 : most_samples;
    const int busy_ms = report.quick() ? 20 : 500;
    FirstLaunches found;
    [&]<int... N>(std::integer_sequence<int, N...>) {
        ((N < samples ? first_launch<N>(b, static_cast<std::uint64_t>(busy_ms) * 1'000'000, found)
                      : void()),
         ...);
    }(std::make_integer_sequence<int, most_samples>{});
    report.add(bench::of_pairs("first launch of a preloaded kernel beside one that takes " +
                                   std::to_string(busy_ms) + " ms",
                               b.device.name(), found.preloaded, found.by_hand, "µs",
                               "first launch of a kernel that was not"));
}

// --- programs ------------------------------------------------------------------------------------

/// Returns a source text with several kernels. It differs for each `number`.
std::string source(int number) {
    const std::string at = std::to_string(number);
    return "template <class T> __global__ void scale(T* x, T a) { x[threadIdx.x] = a * "
           "x[threadIdx.x] + T(" +
           at +
           "); }\n"
           "template __global__ void scale<float>(float*, float);\n"
           "template __global__ void scale<double>(double*, double);\n"
           "extern \"C\" __global__ void use(float* x) { for (int i = 0; i < 64; ++i) "
           "x[threadIdx.x] = "
           "sinf(x[threadIdx.x]) + " +
           at + "; }\n";
}

Program compile_another(Device device) {
    static int number = 0;
    return compile(device, source(++number), {.cache = false});
}

/// The results for one kind of work that keeps the device busy.
struct Beside {
    std::vector<double> compile_call, compiled, compiled_idle, launch_then, launch_before,
        load_call, load_by_hand;
};

/// Launches about ten kernels each millisecond while go_on() is true. Returns the longest launch.
template <class F> double longest_launch(Bench& b, F&& go_on) {
    double longest = 0;
    do {
        longest = std::max(longest, b.launch_us());
        bench::spin_for(100'000);
    } while (go_on());
    return longest;
}

/// Loads the code and launches one of its kernels, by hand.
void load_and_launch(Bench& b, const std::string& image) {
    cudaLibrary_t library = nullptr;
    cudaKernel_t kernel = nullptr;
    bench::ok(
        cudaLibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    bench::ok(cudaLibraryGetKernel(&kernel, library, "use"));
    float* x = b.x.data();
    void* arguments[] = {&x};
    bench::ok(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(n), arguments,
                               0, b.theirs.a));
}

void beside_queue(Bench& b, int launches, std::uint64_t ns, Beside& found) {
    found.compiled_idle.push_back(us_of([&] { compile_another(b.device).wait(); }) * 1e-3);
    b.keep_busy(launches, ns);
    int launched = 0;
    found.launch_before.push_back(longest_launch(b, [&] { return ++launched < 1000; }));

    const std::int64_t begin = bench::now_ns();
    const Program program = compile_another(b.device);
    found.compile_call.push_back(us(bench::now_ns() - begin));
    double longest = longest_launch(b, [&] { return !program.is_ready(); });
    found.compiled.push_back(us(bench::now_ns() - begin) * 1e-3);

    const std::int64_t begin_of_load = bench::now_ns();
    const Module later = program.load_when_idle();
    found.load_call.push_back(us(bench::now_ns() - begin_of_load));
    launched = 0;
    longest = std::max(longest, longest_launch(b, [&] { return ++launched < 200; }));
    found.launch_then.push_back(longest);
    if (later.is_ready())
        throw std::runtime_error(
            "the queue was at its end before everything was measured: launch more");

    found.load_by_hand.push_back(us_of([&] { load_and_launch(b, program.image()); }));
    bench::synchronize_raw_device();
    later.wait();
}

void programs(bench::Report& report, Bench& b, int samples, int launches, int ms) {
    const std::string queue =
        std::to_string(launches) + " launches of " + std::to_string(ms) + " ms queued: ";
    if (!report.wants(queue)) return;
    Beside found;
    for (int i = 0; i < samples; ++i)
        report.attempt(queue, [&] {
            beside_queue(b, launches, static_cast<std::uint64_t>(ms) * 1'000'000, found);
        });
    const auto add = [&](const char* name, const std::vector<double>& ours,
                         const std::vector<double>& beside, const char* unit, const char* peer) {
        report.add(bench::of_pairs(queue + name, b.device.name(), ours, beside, unit, peer));
    };
    if (found.load_by_hand.size() != found.compile_call.size()) return;  // error printed
    report.add({.name = queue + "the call of compile()",
                .device = b.device.name(),
                .heddle = bench::median(found.compile_call),
                .unit = "µs"});
    add("until a program is compiled", found.compiled, found.compiled_idle, "ms",
        "the same, the device idle");
    add("the longest launch on another stream while one is compiled and waits to be loaded",
        found.launch_then, found.launch_before, "µs", "the longest of 1000 before");
    add("load_when_idle()", found.load_call, found.load_by_hand, "µs",
        "cudaLibraryLoadData, cudaLibraryGetKernel, first launch");
}

}  // namespace

int main(int argc, char** argv) {
    bench::Report report("bench_code_loading", argc, argv);
    for (const Device device : bench::chosen_devices(report)) {
        if (!device.is_cuda()) continue;
        const ScopedDevice on{device};
        bench::ok(cudaSetDevice(device.index()));
        Bench b{device};
        preload(device, Nothing{}, bench::Spin{});
        b.ours.synchronize();
        if (report.wants("first launch"))
            report.attempt("first launches", [&] { first_launches(report, b); });
        if (report.quick()) {
            programs(report, b, 2, 400, 5);
        } else {
            programs(report, b, most_samples, 1000, 3);
            programs(report, b, 1, 1000, 30);
        }
    }
    return report.finish();
}
