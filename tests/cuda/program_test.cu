// Programs on a GPU: how they are loaded and launched. Loading waits until the device is idle.
#include "../support.hpp"

#include <heddle/cuda.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

using namespace heddle_test;

namespace {

#define SKIP_WITHOUT_CUDA()                                                                        \
    if (device_count(DeviceKind::cuda) == 0) HEDDLE_SKIP("there is no CUDA device");               \
    if (const std::string why = why_no_compiler(); !why.empty()) HEDDLE_SKIP(why)

using Floats = std::vector<float>;

Device gpu() { return Device("cuda:0"); }

std::string why_no_compiler() {
    const auto error =
        error_of([] { compile("", {.architecture = "compute_90", .cache = false}).wait(); });
    return error ? error->what() : "";
}

const char* const source = R"(
extern "C" __global__ void scale(float* x, float factor, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}
namespace my {
template <class T> __global__ void add(T* x, const T* y, unsigned long long n) {
    const unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += y[i];
}
}
__global__ void shape(unsigned* out) {
    out[0] = gridDim.x, out[1] = gridDim.y, out[2] = gridDim.z, out[3] = blockDim.x, out[4] = blockDim.y;
}
__global__ void shared(float* x) {
    extern __shared__ float s[];
    s[threadIdx.x + 20000] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x + 20000];
}
struct View { int* data; unsigned long long size, owner; };
struct FromTo { View from, to; };
extern "C" __global__ void add_held(FromTo v) {
    const unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < v.from.size) v.to.data[i] += v.from.data[i];
}
__global__ void nothing() {}
)";

/// The parameter type of add_held.
struct FromTo {
    View<const int> from;
    View<int> to;
};

/// Runs until the host sets *flag.
__global__ void hold_until(const volatile int* flag) {
    while (*flag == 0) {}
}

ProgramOptions options() { return {.names = {"my::add<float>", "my::add<int>"}, .cache = false}; }

Module loaded() {
    static const Module kernels = compile(gpu(), source, options()).load();
    return kernels;
}

}  // namespace

TEST_CASE("kernels of a program run, found by their names", "[cuda][program]") {
    SKIP_WITHOUT_CUDA();
    const Stream s(gpu());
    Array<float> x = full<float>(s, 1000, 2.0f), y = full<float>(s, 1000, 1.0f);
    launch(s, loaded().kernel("scale"), dim(1000), x, 3.0f, 1000);
    launch(s, loaded().kernel("my::add<float>"), grid(4, 256), x, std::as_const(y),
           std::size_t{1000});
    CHECK(to_host(s, x) == Floats(1000, 7.0f));
    launch(s, loaded().kernel("nothing"), grid(1, 1));
    CHECK(loaded().kernel("my::add<int>") == loaded().kernel("_ZN2my3addIiEEvPT_PKS1_y"));
    CHECK(loaded().kernel_names().size() == 7);
    Array<unsigned> out = zeros<unsigned>(s, 5);
    launch(s, loaded().kernel("shape"), grid({2, 3, 4}, {8, 2}), out);
    CHECK(to_host(s, out) == std::vector<unsigned>{2, 3, 4, 8, 2});
    launch(s, loaded().kernel("shape"), grid(dim3(3, 2, 1), dim3(4, 4)), out);
    CHECK(to_host(s, out) == std::vector<unsigned>{3, 2, 1, 4, 4});
}

TEST_CASE("a kernel that a module does not have is a usage error that names those it has",
          "[cuda][program]") {
    SKIP_WITHOUT_CUDA();
    const Error error = thrown_by([] { (void)loaded().kernel("scael"); });
    CHECK(error.code() == ErrorCode::usage);
    CHECK_THAT(error.what(), contains("my::add<float>") && contains("scale"));
}

TEST_CASE("arguments of another number or size are usage errors before the launch",
          "[cuda][program]") {
    SKIP_WITHOUT_CUDA();
    const Stream s(gpu());
    Array<float> x = full<float>(s, 10, 2.0f);
    const ModuleKernel scale = loaded().kernel("scale");
    CHECK(std::vector<std::size_t>(scale.parameters().begin(), scale.parameters().end()) ==
          std::vector<std::size_t>{8, 4, 4});
    CHECK_THROWS_AS(launch(s, scale, dim(10), x, 3.0f), UsageError);
    CHECK_THROWS_AS(launch(s, scale, dim(10), x, 3.0f, 10, 1), UsageError);
    CHECK_THROWS_AS(launch(s, scale, dim(10), x, 3.0, 10), UsageError);
    CHECK_THROWS_AS(launch(s, scale, dim(10), x, x, 10), UsageError);
    CHECK_THROWS_AS(launch(s, scale, grid(1, 2000), x, 3.0f, 10), UsageError);
    const Error error = thrown_by([&] { launch(s, scale, dim(10), x, 3.0f, std::size_t{10}); });
    CHECK_THAT(error.what(), contains("argument 3") && contains("scale"));
    const Stream cpu(cpu_device());
    CHECK_THROWS_AS(launch(cpu, scale, dim(10), x, 3.0f, 10), UsageError);
    CHECK(to_host(s, x) == Floats(10, 2.0f));
}

TEST_CASE("a module's kernel may have more dynamic shared memory than all have",
          "[cuda][program]") {
    SKIP_WITHOUT_CUDA();
    const Stream s(gpu());
    Array<float> x = from_host(s, Floats{1, 2, 3, 4});
    launch(s, loaded().kernel("shared"), grid(1, 4, 20004 * sizeof(float)), x);
    CHECK(to_host(s, x) == Floats{4, 3, 2, 1});
}

TEST_CASE("kernels of modules are captured and batched", "[cuda][program]") {
    SKIP_WITHOUT_CUDA();
    const Stream s(gpu());
    const ModuleKernel scale = loaded().kernel("scale");
    Array<float> x = full<float>(s, 100, 1.0f);
    Graph graph = capture(s, [&] {
        launch(s, scale, dim(100), x, 2.0f, 100);
        launch(s, scale, dim(100), x, 3.0f, 100);
    });
    CHECK(graph.size() == 2);
    CHECK(graph.nodes()[0].name.find("scale") != std::string::npos);
    graph.launch(s);
    graph.launch(s);
    CHECK(to_host(s, x) == Floats(100, 36.0f));
    const ScopedStream in{s};
    Batch batch;
    for (int i = 0; i < 3; ++i)  // the arguments differ each time
        batch.run([&] {
            launch(scale, dim(100), x, 1.0f + static_cast<float>(i), 100);
            launch(scale, dim(100), x, 0.5f, 100);
        });
    CHECK(to_host(s, x) == Floats(100, 36.0f * 6.0f / 8.0f));
}

TEST_CASE("kernels of modules are nodes, whose arguments and blocks change", "[cuda][program]") {
    SKIP_WITHOUT_CUDA();
    const Stream s(gpu());
    const ScopedStream in{s};
    const ModuleKernel scale = loaded().kernel("scale");
    Array<float> x = full<float>(100, 1.0f);
    auto twice = kernel_node(scale, dim(100));
    CHECK(twice.device() == gpu());
    twice.args(x, 2.0f, 100);
    auto thrice = kernel_node(scale, grid(4, 32), x, 3.0f, 100).after(twice);
    Graph graph = thrice.build();
    CHECK(graph.size() == 2);
    CHECK(graph.nodes()[0].name.find("scale") != std::string::npos);
    graph.launch();
    CHECK(to_host(x) == Floats(100, 6.0f));
    twice.args(x, 5.0f, 100);
    graph.launch();
    CHECK(to_host(x) == Floats(100, 90.0f));
    thrice.grid(grid(1, 50));  // uses only the first 50
    graph.launch();
    Floats expected(100, 450.0f);
    std::fill(expected.begin(), expected.begin() + 50, 1350.0f);
    CHECK(to_host(x) == expected);
}

TEST_CASE("kernels of modules go by launch options, eagerly, captured and as nodes",
          "[cuda][program]") {
    SKIP_WITHOUT_CUDA();
    const Stream s(gpu());
    const ScopedStream in{s};
    const ModuleKernel scale = loaded().kernel("scale");
    Array<float> x = full<float>(100, 1.0f);
    LaunchOptions options{.cooperative = true, .priority = -2, .memory_domain = 1};
    if (gpu().info().compute_major >= 9) options.cluster_x = 2;
    const LaunchGrid shape = grid(4, 32).with(options);
    launch(scale, shape, x, 2.0f, 100);
    capture([&] { launch(scale, shape, x, 3.0f, 100); }).launch();
    kernel_node(scale, shape, x, 5.0f, 100).build().launch();
    launch(scale, dim(100).with({.block = 64}), x, 7.0f, 100);
    CHECK(to_host(x) == Floats(100, 210.0f));
    const auto refused = [&](const LaunchOptions& wrong) {
        return error_of([&] { launch(scale, grid(1 << 20, 1024).with(wrong), x, 2.0f, 100); });
    };
    CHECK(mentions(refused({.cooperative = true}), "runs at most"));
    CHECK(mentions(refused({.memory_domain = 7}), "use 0 or 1"));
    CHECK(mentions(refused({.dependence = detail::Dependence::on_stream}),
                   "waits for the previous kernel"));
    if (gpu().info().compute_major >= 9) {
        CHECK(mentions(refused({.cluster_x = 16}), "1 to 8"));
        CHECK(mentions(refused({.cluster_x = 3}), "cluster of 3 x 1 x 1: round the grid up"));
        CHECK(mentions(refused({.cluster_x = 2, .cooperative = true}), "runs at most"));
    }
    CHECK(to_host(x) == Floats(100, 210.0f));
}

TEST_CASE("a node of a module's kernel is refused what its launch is refused", "[cuda][program]") {
    SKIP_WITHOUT_CUDA();
    const ScopedDevice on{gpu()};
    const ModuleKernel scale = loaded().kernel("scale");
    Array<float> x = full<float>(100, 1.0f);
    CHECK(mentions(error_of([&] { kernel_node(scale, dim(100), x, 2.0f); }), "has 3 parameters"));
    CHECK(mentions(error_of([&] { kernel_node(scale, dim(100), x, 2.0, 100); }), "argument 2"));
    CHECK_THROWS_AS(kernel_node(scale, grid(0, 32), x, 2.0f, 100), UsageError);
    CHECK_THROWS_AS(kernel_node(scale, grid(1, 4096), x, 2.0f, 100), UsageError);
    Array<float> gone = std::move(x);
    CHECK_THROWS_AS(kernel_node(scale, dim(100), x, 2.0f, 100), UsageError);
    CHECK(mentions(error_of([&] { kernel_node(scale, dim(100)).build().launch(); }), "arguments"));
}

TEST_CASE("an array that a module's kernel uses is freed after it", "[cuda][program]") {
    SKIP_WITHOUT_CUDA();
    const Drained drained;
    const Stream home(gpu()), user(gpu());
    const ModuleKernel add = loaded().kernel("my::add<float>");
    Array<float> result = zeros<float>(user, 10'000);
    Gate gate;
    {
        Array<float> x = full<float>(home, 10'000, 2.0f);
        user.wait_stream(home);
        user.synchronize();
        gate.hold(user);
        launch(user, add, dim(10'000), result, x, std::size_t{10'000});
    }
    for (int i = 0; i < 4; ++i) {
        const Array<float> again = ready_full<float>(home, 10'000, -1.0f);
    }
    gate.open();
    CHECK(to_host(user, result) == Floats(10'000, 2.0f));
}

TEST_CASE("a launch of a module's kernel is counted", "[cuda][program]") {
    SKIP_WITHOUT_CUDA();
    const Stream s(gpu());
    const ModuleKernel nothing = loaded().kernel("nothing");
    const std::uint64_t before = detail::Access::state(s).submissions;
    const OpCounter counted;
    launch(s, nothing, grid(1, 1));
    CHECK(counted.stats().launches == 1);
    CHECK(detail::Access::state(s).submissions == before + 1);
    s.synchronize();
}

TEST_CASE("with a kernel running, kernels of a preloaded module are launched and run",
          "[cuda][program]") {
    SKIP_WITHOUT_CUDA();
    const Drained drained;
    const Stream busy(gpu()), s(gpu());
    Array<int> flag = pinned<int>(1);
    volatile int* const open = flag.data();
    *open = 0;
    Array<float> x = full<float>(s, 100, 1.0f);
    Array<float> back = pinned<float>(100);
    const Module kernels = compile(gpu(), source, options()).load();
    preload(gpu(), hold_until);
    preload(kernels);
    synchronize_device(gpu());
    launch(busy, hold_until, grid(1, 1), flag.data());
    launch(s, kernels.kernel("scale"), dim(100), x, 3.0f, 100);
    copy(s, back, x);
    s.synchronize();  // would block if it waited for the other kernel, which is still running
    CHECK_FALSE(busy.is_complete());
    CHECK(back[99] == 3.0f);
    *open = 1;
    busy.synchronize();
}

TEST_CASE("load_when_idle loads nothing while a stream is held, and holds nobody",
          "[cuda][program]") {
    SKIP_WITHOUT_CUDA();
    const Drained drained;
    const Stream held(gpu()), other(gpu());
    Array<float> x = ready_full<float>(other, 100, 1.0f);
    const ModuleKernel scale = loaded().kernel("scale");
    Gate gate(held);
    const Program program = compile(gpu(), source, options());
    program.wait();
    const Module waiting = program.load_when_idle();
    // This thread can still use other streams. If loading blocked it, the gate would stay closed.
    for (int i = 0; i < 100; ++i) {
        launch(other, scale, dim(100), x, 1.0f, 100);
        other.synchronize();
        CHECK_FALSE(waiting.is_ready());
    }
    gate.open();
    waiting.wait();
    launch(other, waiting.kernel("scale"), dim(100), x, 2.0f, 100);
    CHECK(to_host(other, x) == Floats(100, 2.0f));
}

TEST_CASE("a program is loaded once on a device, at once or when idle", "[cuda][program]") {
    SKIP_WITHOUT_CUDA();
    const Program program = compile(gpu(), source, options());
    const Module later = program.load_when_idle();
    CHECK(program.load().kernel("scale") == later.kernel("scale"));
    CHECK(program.load().kernel("scale") == program.load_when_idle().kernel("scale"));
}

TEST_CASE("a program that does not compile fails in its module too", "[cuda][program]") {
    SKIP_WITHOUT_CUDA();
    const Program program = compile(gpu(), "wrong", {.cache = false});
    const Module broken = program.load_when_idle();
    CHECK_THROWS_AS(broken.wait(), CompileError);
    CHECK_THROWS_AS(broken.kernel("f"), CompileError);
    CHECK_THROWS_AS(program.load(), CompileError);
}

TEST_CASE("a module is loaded from PTX and from a cubin, in memory and in a file",
          "[cuda][program]") {
    SKIP_WITHOUT_CUDA();
    const Stream s(gpu());
    const DeviceInfo info = gpu().info();
    const std::string number =
        std::to_string(info.compute_major) + std::to_string(info.compute_minor);
    for (const char* kind : {"sm_", "compute_"}) {
        ProgramOptions with = options();
        with.architecture = kind + number;
        const std::string image = compile(source, with).image();
        char path[] = "/tmp/heddle_module_XXXXXX";
        close(mkstemp(path));
        std::ofstream(path, std::ios::binary) << image;
        Array<float> x = full<float>(s, 10, 2.0f);
        launch(s, Module::from_image(gpu(), std::as_bytes(std::span(image))).kernel("scale"),
               dim(10), x, 2.0f, 10);
        launch(s, Module::from_file(gpu(), path).kernel("scale"), dim(10), x, 2.0f, 10);
        CHECK(to_host(s, x) == Floats(10, 8.0f));
        std::remove(path);
    }
}

TEST_CASE("what is no code, or no good code, is refused with the reason", "[cuda][program]") {
    SKIP_WITHOUT_CUDA();
    const auto load = [](const std::string& text) {
        return error_of([&] { (void)Module::from_image(gpu(), std::as_bytes(std::span(text))); });
    };
    const auto none = load("hello"),
               wrong = load(".version 8.0\n.target sm_80\n.address_size 64\nnonsense\n");
    REQUIRE(none);
    CHECK(none->code() == ErrorCode::usage);
    CHECK(mentions(none, "not GPU code: expected a cubin, a fatbin or PTX"));
    REQUIRE(wrong);
    CHECK(wrong->code() == ErrorCode::compile);
    const Error missing =
        thrown_by([] { (void)Module::from_file(gpu(), "/nonexistent/kernels.ptx"); });
    CHECK(missing.code() == ErrorCode::native);
    CHECK_THAT(missing.what(), contains("/nonexistent/kernels.ptx"));
}

TEST_CASE("the views in a class that a module's kernel takes count as arguments",
          "[cuda][program]") {
    SKIP_WITHOUT_CUDA();
    const Stream s(gpu()), other(gpu());
    const auto add = loaded().kernel("add_held");
    Array<int> sum = zeros<int>(other, 1000), x = full<int>(other, 1000, 5);
    other.synchronize();
    Gate gate(s);
    const FromTo held{x, sum};
    launch(s, add, grid(4, 256), held);
    x.reset();
    std::vector<Array<int>> others;  // if the memory were free, these would reuse it
    for (int i = 0; i < 4; ++i) others.push_back(full<int>(other, 1000, 100));
    gate.open();
    CHECK(to_host(s, sum) == Ints(1000, 5));
    CHECK_THROWS_AS(launch(s, add, grid(4, 256), held), UsageError);
    other.synchronize();
}
