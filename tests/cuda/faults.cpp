// Plain C++: nvcc would overload some functions of the runtime.
#include "cuda/faults.hpp"

#include <atomic>
#include <mutex>
#include <string_view>
#include <type_traits>
#include <utility>

#include <heddle/device/device.hpp>

#include "cuda/device/driver.hpp"

namespace heddle_test {

namespace {

using heddle::detail::cu::Api;

Api real;

std::atomic<std::uint64_t> fails{0}, calls{0};
std::atomic<int> code_of_failure{0};
std::atomic<const char*> failed{nullptr};
std::atomic<OfThread> counted{OfThread::mine};
thread_local bool is_mine = false;

std::mutex& mutex() {
    static auto* const instance = new std::mutex;
    return *instance;
}
std::map<std::string, long>& alive() {
    static auto* const instance = new std::map<std::string, long>;
    return *instance;
}

struct Effect {
    std::string_view call;
    const char* what;
    long change;
};
constexpr Effect effects[] = {
    {"cudaStreamCreateWithPriority", "streams", 1},
    {"cudaStreamDestroy", "streams", -1},
    {"cudaGraphCreate", "graphs", 1},
    {"cudaStreamEndCapture", "graphs", 1},
    {"cudaGraphDestroy", "graphs", -1},
    {"cudaGraphInstantiate", "executables", 1},
    {"cudaGraphExecDestroy", "executables", -1},
    {"cuMemAllocFromPoolAsync", "arrays", 1},
    {"cuMemFreeAsync", "arrays", -1},
    {"cudaMalloc", "shared arrays", 1},
    {"cudaFree", "shared arrays", -1},
};

void note(std::string_view call, bool has_failed) {
    for (const Effect& effect : effects) {
        // If freeing memory fails, the library retries. Other destruction is not retried.
        const bool is_done = !has_failed || (effect.change < 0 && call != "cuMemFreeAsync");
        if (effect.call != call || !is_done) continue;
        const std::lock_guard lock(mutex());
        alive()[effect.what] += effect.change;
    }
}

struct Inside {
    std::string call;
    At when{};
    std::function<int()> function;
};
std::atomic<bool> acts_inside{false};
Inside& inside() {
    static auto* const instance = new Inside;
    return *instance;
}

/// Calls the function that inside_call() set for this call, and returns the function's result.
/// Returns 0 if none was set.
int act_inside(std::string_view call, At when) {
    if (!acts_inside.load()) return 0;
    std::function<int()> function;
    {
        const std::lock_guard lock(mutex());
        if (inside().call != call || inside().when != when) return 0;
        function = std::exchange(inside().function, nullptr);
        inside().call.clear();
        acts_inside.store(false);
    }
    return function ? function() : 0;
}

/// Returns whether the call only prepares or restores state around other calls. Such a call is
/// never made to fail, because its result is never checked.
bool is_guard(std::string_view call) {
    return call == "cuCtxGetCurrent" || call == "cuCtxPushCurrent" || call == "cuCtxPopCurrent" ||
           call == "cuThreadExchangeStreamCaptureMode";
}

/// Returns the code with which this call must fail. Returns 0 if it must succeed.
int fault_in(const char* call) {
    const std::uint64_t k = fails.load();
    if (k == 0 || is_mine != (counted.load() == OfThread::mine) || is_guard(call)) return 0;
    if (calls.fetch_add(1) + 1 != k) return 0;
    failed.store(call);
    return code_of_failure.load();
}

/// Performs the effects that a call has even when it fails. Most calls have no such effect.
void do_all_the_same(...) {}
/// Only cudaStreamEndCapture() has these arguments. It ends the capture even if it fails.
void do_all_the_same(cudaStream_t stream, cudaGraph_t* graph) {
    cudaGraph_t captured = nullptr;
    if (real.cudaStreamEndCapture(stream, &captured) == cudaSuccess && captured != nullptr)
        real.cudaGraphDestroy(captured);
    *graph = nullptr;
}

template <class Call, class F> struct Shim;
template <class Call, class R, class... A> struct Shim<Call, R (*)(A...)> {
    static R call(A... arguments) {
        if (const int code = fault_in(Call::name())) {
            note(Call::name(), true);
            do_all_the_same(arguments...);
            return static_cast<R>(code);
        }
        if (const int code = act_inside(Call::name(), At::begin)) return static_cast<R>(code);
        const R result = Call::in(real)(arguments...);
        if (const int code = act_inside(Call::name(), At::end)) return static_cast<R>(code);
        if (result == R{}) note(Call::name(), false);
        return result;
    }
};

}  // namespace

// cuda.h defines some names as macros. `text` is the plain name, and `member` is the expanded one.
#define HEDDLE_SHIM(text, member)                                                                  \
    {                                                                                              \
        struct Call {                                                                              \
            static const char* name() { return text; }                                             \
            static auto& in(Api& table) { return table.member; }                                   \
        };                                                                                         \
        auto& place = Call::in(heddle::detail::cu::api);                                           \
        if (place != nullptr) place = &Shim<Call, std::remove_reference_t<decltype(place)>>::call; \
    }
#define HEDDLE_SHIM_OF_DRIVER(function, version) HEDDLE_SHIM(#function, function)
#define HEDDLE_SHIM_OF_RUNTIME(function) HEDDLE_SHIM(#function, function)

void install_faults() {
    static std::atomic<bool> is_installed{false};
    if (is_installed.exchange(true)) return;
    (void)heddle::device_count(heddle::DeviceKind::cuda);  // loads the driver's functions
    real = heddle::detail::cu::api;
    HEDDLE_DRIVER_CALLS(HEDDLE_SHIM_OF_DRIVER)
    HEDDLE_OPTIONAL_DRIVER_CALLS(HEDDLE_SHIM_OF_DRIVER)
    HEDDLE_RUNTIME_CALLS(HEDDLE_SHIM_OF_RUNTIME)
}

void fail_call(std::uint64_t k, int code, OfThread whose) {
    fails.store(0);
    if (k == 0) return;
    is_mine = true;
    calls.store(0);
    failed.store(nullptr);
    code_of_failure.store(code);
    counted.store(whose);
    fails.store(k);
}

std::string failed_call() {
    const char* const name = failed.load();
    return name != nullptr ? name : "";
}

void inside_call(std::string name, At when, std::function<int()> function) {
    const std::lock_guard lock(mutex());
    inside() = {std::move(name), when, std::move(function)};
    acts_inside.store(true);
}

std::map<std::string, long> objects_alive() {
    const std::lock_guard lock(mutex());
    return alive();
}

}  // namespace heddle_test
