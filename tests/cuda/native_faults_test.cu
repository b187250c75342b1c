// Makes each native call of the CUDA backend fail once. heddle must report each failure, and work
// afterwards.
#include "../child.hpp"
#include "../kernels.hpp"
#include "../support.hpp"
#include "faults.hpp"

#include <heddle/cuda.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace heddle_test;

namespace {

Device gpu() { return Device("cuda:0"); }

struct WrongResult : std::logic_error {
    using std::logic_error::logic_error;
};
void expect(bool right, const char* what) {
    if (!right) throw WrongResult(what);
}

struct Element {
    int words[25];  // 100 bytes: too large for an argument of a launch
    bool operator==(const Element&) const = default;
};
Element element(int value) {
    Element made{};
    for (int& word : made.words) word = value;
    return made;
}

void streams() {
    const OrderLog seen;
    {
        Stream a(gpu(), {.priority = -1, .name = "a"}), b(gpu());
        seen.note(a, "a");
        b.wait_stream(a);
        seen.note(b, "b");
        const Stream c(gpu());
        c.wait_stream(b);
        (void)c.is_complete();
        c.synchronize();
    }
    expect(seen.seen() == Strings{"a", "b"}, "order of streams");
    synchronize_device(gpu());
}

void events() {
    const Stream a(gpu()), b(gpu());
    const Event start = a.record_event({.timing = true});
    Array<int> x = full<int>(a, 100, 1);
    Event done(gpu());
    done.record(a);
    b.wait_event(done);
    launch(b, Add{}, dim(100), x, 2);
    const Event end = b.record_event({.timing = true, .blocking = true});
    end.synchronize();
    expect(end.is_complete() && done.is_complete(), "events are complete");
    expect(elapsed(start, end).count() >= 0, "time");
    expect(to_host(b, x) == Ints(100, 3), "work behind events");
}

void copies() {
    const Stream s(gpu());
    constexpr std::size_t n = 3'000'000;  // copied in several pieces
    const Ints source(n, 7);
    Array<int> x = from_host(s, source), y = empty<int>(s, n);
    Array<int> staging = pinned<int>(n), on_cpu = empty<int>(default_stream(cpu_device()), n);
    default_stream(cpu_device()).synchronize();
    copy(s, y, x);
    copy(s, staging, y);
    copy(s, y, staging);
    copy(s, on_cpu, y);
    fill_zero(s, y);
    copy(s, y, on_cpu);
    Array<int> image = full<int>(s, 100, 1);
    copy_2d(s, View2D(image.view(), 4, 5, 10), View2D(x.view(), 4, 5, 20));
    expect(to_host(s, y) == source, "copied array");
    Ints expected(100, 1);
    for (std::size_t r = 0; r < 4; ++r)
        std::fill_n(expected.begin() + static_cast<long>(r) * 10, 5, 7);
    expect(to_host(s, image) == expected, "copied rectangle");
}

void fills() {
    const Stream s(gpu());
    Array<char> bytes = full<char>(s, 100, 'x');
    Array<double> words = full<double>(s, 101, 2.5);
    Array<Element> large = full<Element>(s, 10, element(3));
    Array<int> staging = pinned<int>(100);
    Array<int> on_cpu = empty<int>(default_stream(cpu_device()), 100);
    default_stream(cpu_device()).synchronize();
    fill(s, staging, 4);
    fill(s, on_cpu, 5);
    expect(to_host(s, bytes) == std::vector<char>(100, 'x'), "bytes");
    expect(to_host(s, words) == std::vector<double>(101, 2.5), "words");
    expect(to_host(s, large) == std::vector<Element>(10, element(3)), "large elements");
    expect(Ints(staging.begin(), staging.end()) == Ints(100, 4), "pinned memory");
    expect(Ints(on_cpu.begin(), on_cpu.end()) == Ints(100, 5), "memory of a CPU device");
}

void memory() {
    const Stream a(gpu()), b(gpu());
    const Stream on_cpu(cpu_device());
    {
        Array<int> x = full<int>(a, 1000, 1);
        b.wait_stream(a);
        launch(b, Add{}, dim(1000), x, 1);
        Array<int> staging = pinned<int>(1000);
        copy(b, staging, x);
        on_cpu.wait_stream(b);
        launch(on_cpu, Add{}, dim(1000), staging, 1);
    }
    Array<int> kept = full<int>(a, 10, 3);
    launch_host(a, [dies_here = std::move(kept), staging = pinned<int>(10)] {});
    const Event done = a.record_event();
    done.synchronize();
    Array<int> shared = shareable<int>(gpu(), 100);
    fill(a, shared, 2);
    expect(to_host(a, shared) == Ints(100, 2), "shareable memory");
    b.synchronize();
    on_cpu.synchronize();
}

void graphs() {
    const Stream s(gpu()), other(gpu());
    Array<int> x = zeros<int>(s, 100), y = zeros<int>(s, 100);
    Array<int> on_cpu = full<int>(default_stream(cpu_device()), 100, 0);
    default_stream(cpu_device()).synchronize();
    s.synchronize();
    const OrderLog seen;
    Event done(gpu());
    auto set = fill_node(x, 5);
    auto add = kernel_node(gpu(), Add{}, dim(100), x, 1).after(set);
    auto across = copy_node(y, x).after(add);
    auto note = host_node(gpu(), [seen] { seen.add("ran"); }).after(across);
    auto record = record_node(done).after(note);
    Graph graph = record.build();
    graph.launch(s);
    done.synchronize();
    set.with(x, 7);
    add.args(x, 2);
    graph.upload(s);
    graph.launch(other);
    Graph clone = graph.clone();
    clone.launch(other);
    set.disable();
    graph.launch(other);
    other.synchronize();
    expect(to_host(other, y) == Ints(100, 11), "what the graphs computed");
    expect(seen.seen().size() == 4, "host functions of graphs");
}

void conditionals() {
    const Stream s(gpu());
    Array<int> x = zeros<int>(s, 100), value = full<int>(s, 1, 1);
    s.synchronize();
    auto node = if_node(value, fill_node(x, 5).build());
    Graph graph = node.build();
    graph.launch(s);
    expect(to_host(s, x) == Ints(100, 5), "the body ran");
    fill(s, value, 0);
    fill_zero(s, x);
    graph.launch(s);
    expect(to_host(s, x) == Ints(100, 0), "the body did not run");
}

void captures() {
    const Stream s(gpu()), fork(gpu());
    Array<int> x = zeros<int>(s, 100), y = zeros<int>(s, 100);
    Array<int> on_cpu = full<int>(default_stream(cpu_device()), 100, 9);
    Array<Element> large = full<Element>(s, 5, element(0));
    default_stream(cpu_device()).synchronize();
    s.synchronize();
    (void)native_handle(s);
    Graph graph = capture(s, [&] {
        fill(s, x, 3);
        fork.wait_stream(s);
        copy(fork, y, on_cpu);
        fill(fork, large, element(4));
        launch_host(s, [] {});
        s.wait_stream(fork);
    });
    graph.launch(s);
    graph.launch(s);
    expect(to_host(s, x) == Ints(100, 3), "captured fill");
    expect(to_host(s, y) == Ints(100, 9), "captured copy from memory of a CPU device");
    expect(to_host(s, large) == std::vector<Element>(5, element(4)),
           "captured fill with large elements");
}

void batches() {
    const Stream s(gpu());
    Array<int> x = ready_zeros<int>(s, 100);
    Batch batch;
    for (int i = 1; i <= 3; ++i) {
        const ScopedBatch in(batch, s);
        fill(s, x, i);
        launch(s, Add{}, dim(100), x, i);
    }
    expect(to_host(s, x) == Ints(100, 6), "what the batches computed");
}

void kinds() {
    const Stream on_gpu(gpu()), on_cpu(cpu_device());
    Array<int> x = pinned<int>(100);
    fill(on_gpu, x, 1);
    const Event done = on_gpu.record_event();
    on_cpu.wait_event(done);
    launch(on_cpu, Add{}, dim(100), x, 1);
    on_gpu.wait_stream(on_cpu);
    launch(on_gpu, Add{}, dim(100), x, 1);
    on_cpu.wait_stream(on_gpu);
    launch(on_cpu, Add{}, dim(100), x, 1);
    on_cpu.synchronize();
    expect(Ints(x.begin(), x.end()) == Ints(100, 4), "work of both kinds");
}

void foreign_captures() {
    const Stream s(gpu());
    const OrderLog seen;
    Graph graph = host_node(gpu(), [seen] { seen.add("ran"); }).build();
    graph.instantiate();
    const cudaStream_t native = native_handle(s);
    cudaGraph_t captured = nullptr;
    check_cuda(cudaStreamBeginCapture(native, cudaStreamCaptureModeRelaxed),
               "cudaStreamBeginCapture");
    std::exception_ptr thrown;
    try {
        graph.launch(s);
    } catch (...) {
        thrown = std::current_exception();
    }
    const cudaError_t ended = cudaStreamEndCapture(native, &captured);
    cudaGraphExec_t exec = nullptr;
    if (thrown == nullptr && ended == cudaSuccess &&
        cudaGraphInstantiate(&exec, captured, 0) == cudaSuccess) {
        for (int i = 0; i < 3; ++i) cudaGraphLaunch(exec, native);
        cudaStreamSynchronize(native);
        cudaGraphExecDestroy(exec);
    }
    if (captured != nullptr) cudaGraphDestroy(captured);
    if (thrown != nullptr) std::rethrow_exception(thrown);
    expect(seen.seen() == Strings(3, "ran"), "host functions in a capture of others");
}

struct Scenario {
    const char* name;
    void (*run)();
};
constexpr Scenario scenarios[] = {{"streams", streams},
                                  {"events", events},
                                  {"copies", copies},
                                  {"fills", fills},
                                  {"memory", memory},
                                  {"graphs", graphs},
                                  {"conditionals", conditionals},
                                  {"captures", captures},
                                  {"batches", batches},
                                  {"kinds", kinds},
                                  {"foreign captures", foreign_captures}};

/// Runs the scenario with a failing k-th call. Returns the error in the outcome, or an empty string
/// if the outcome is right.
std::string attempt(const Scenario& scenario, std::uint64_t k, int code, OfThread whose,
                    bool& reached) {
    const Reports reports;
    std::string why;
    bool told = false, complete = false;
    fail_call(k, code, whose);
    try {
        scenario.run();
        complete = true;
    } catch (const Error& error) {
        // If cuStreamGetCaptureInfo fails, so does the next call, because a capture is open.
        told = error.native_code() == code ||
               (failed_call() == "cuStreamGetCaptureInfo" &&
                error.native_code() == cudaErrorStreamCaptureUnsupported);
        why = std::string("threw, without the native code: ") + error.what();
    } catch (const std::exception& error) {
        why = std::string("threw something else: ") + error.what();
    }
    reached = !failed_call().empty();
    fail_call(0, 0, whose);
    for (const Device device : {cpu_device(), gpu()}) {
        try {
            synchronize_device(device);
        } catch (const Error& error) {  // a wait of the enqueued work has failed
            told = told || error.native_code() == code;
        }
    }
    for (const Error& error : reports.all()) told = told || error.native_code() == code;
    return complete || told ? "" : why;
}

/// Runs the scenario without a failing call. Returns the error, or an empty string. A thread whose
/// call failed before may report this late, with the code `late`.
std::string attempt_whole(const Scenario& scenario, int late = 0) {
    const Reports reports;
    try {
        scenario.run();
    } catch (const std::exception& error) {
        return std::string("afterwards it threw: ") + error.what();
    }
    std::vector<Error> reported = reports.all();
    if (late != 0 && !reported.empty() && reported.front().native_code() == late)
        reported.erase(reported.begin());
    return reported.empty() ? ""
                            : std::string("afterwards it reported: ") + reported.front().what();
}

bool are_objects_gone(const std::map<std::string, long>& before) {
    return eventually([&] {
        (void)Stream(gpu());  // runs cleanups that were deferred
        trim_pool(gpu());
        return std::ranges::all_of(objects_alive(), [&](const auto& object) {
            // heddle creates a few internal streams when it first needs them, and keeps them.
            const long own = object.first == "streams" ? 8 : 0;
            const auto known = before.find(object.first);
            return object.second <= (known != before.end() ? known->second : 0) + own;
        });
    });
}

std::string text_of(const std::map<std::string, long>& objects) {
    std::string text;
    for (const auto& [what, count] : objects) text += " " + std::to_string(count) + " " + what;
    return text;
}

void sweep(const std::string& name) {
    if (device_count(DeviceKind::cuda) == 0) HEDDLE_SKIP("there is no CUDA device");
    check_test_case("child: native calls fail one by one", {"HEDDLE_TEST_SCENARIO=" + name});
}

}  // namespace

TEST_CASE("child: native calls fail one by one", "[.child]") {
    const char* const name = std::getenv("HEDDLE_TEST_SCENARIO");
    REQUIRE(name != nullptr);
    install_faults();
    for (const Scenario& scenario : scenarios) {
        if (scenario.name != std::string(name)) continue;
        for (int i = 0; i < 2; ++i)
            REQUIRE(attempt_whole(scenario) == "");  // creates the objects that exist only once
        const auto before = objects_alive();
        for (const int code : {int{cudaErrorUnknown}, int{cudaErrorMemoryAllocation}}) {
            for (const OfThread whose : {OfThread::mine, OfThread::others}) {
                const std::uint64_t most = whose == OfThread::mine ? 2000 : 12;
                bool reached = true;
                for (std::uint64_t k = 1; k <= most && reached; ++k) {
                    std::fprintf(stderr, "%s, code %d, call %llu\n", name, code,
                                 static_cast<unsigned long long>(k));  // names a call that hangs
                    const std::string first = attempt(scenario, k, code, whose, reached);
                    const std::string then =
                        attempt_whole(scenario, whose == OfThread::others ? code : 0);
                    INFO(name << ": call " << k << " of "
                              << (whose == OfThread::mine ? "its" : "another") << " thread, "
                              << failed_call() << ", failed with " << code);
                    CHECK(first == "");
                    CHECK(then == "");
                    const bool gone = are_objects_gone(before);
                    INFO("before:" << text_of(before) << "; after:" << text_of(objects_alive()));
                    if (first != "" || then != "" || !gone)
                        std::fprintf(stderr, "  %s: '%s', then '%s', objects%s%s\n",
                                     failed_call().c_str(), first.c_str(), then.c_str(),
                                     text_of(objects_alive()).c_str(),
                                     gone ? "" : " (some are left)");
                    CHECK(gone);
                }
            }
        }
    }
}

TEST_CASE("a native call that fails is told, and heddle works afterwards: streams",
          "[cuda][faults]") {
    sweep("streams");
}
TEST_CASE("a native call that fails is told, and heddle works afterwards: events",
          "[cuda][faults]") {
    sweep("events");
}
TEST_CASE("a native call that fails is told, and heddle works afterwards: copies",
          "[cuda][faults]") {
    sweep("copies");
}
TEST_CASE("a native call that fails is told, and heddle works afterwards: fills",
          "[cuda][faults]") {
    sweep("fills");
}
TEST_CASE("a native call that fails is told, and heddle works afterwards: memory",
          "[cuda][faults]") {
    sweep("memory");
}
TEST_CASE("a native call that fails is told, and heddle works afterwards: graphs",
          "[cuda][faults]") {
    sweep("graphs");
}
TEST_CASE("a native call that fails is told, and heddle works afterwards: conditionals",
          "[cuda][faults]") {
    sweep("conditionals");
}
TEST_CASE("a native call that fails is told, and heddle works afterwards: captures",
          "[cuda][faults]") {
    sweep("captures");
}
TEST_CASE("a native call that fails is told, and heddle works afterwards: batches",
          "[cuda][faults]") {
    sweep("batches");
}
TEST_CASE("a native call that fails is told, and heddle works afterwards: both kinds of devices",
          "[cuda][faults]") {
    sweep("kinds");
}
TEST_CASE("a native call that fails is told, and heddle works afterwards: captures of others",
          "[cuda][faults]") {
    sweep("foreign captures");
}
