// Errors: misuse throws before anything is enqueued. Work that fails poisons its stream until the
// failure is cleared. Usage: example_06_errors [DEVICE]
#include <heddle/heddle.hpp>

#include <cstdio>
#include <stdexcept>

#include "device_argument.hpp"

using namespace heddle;

struct Increment {
    HEDDLE_FN void operator()(std::size_t i, View<int> x) const { ++x[i]; }
};

/// Runs `f`, which must throw an E, and prints the message. Returns whether `f` threw an E.
template <class E, class F> bool throws(const char* what, F&& f) {
    try {
        f();
    } catch (const E& error) {
        std::printf("%s: %s\n", what, error.what());
        return true;
    }
    std::printf("%s: no error\n", what);
    return false;
}

int main(int argc, char** argv) {
    const Device device = device_argument(argc, argv);
    const Stream stream{device, {.name = "worker"}};
    Array<int> x = zeros<int>(stream, 100), y = zeros<int>(stream, 50);
    bool right = true;

    // Misuse throws a UsageError, and does not change x. The call, the stream and the source line
    // are members of the error.
    right &= throws<UsageError>("sizes that differ", [&] { copy(stream, y, x); });
    right &= throws<UsageError>("a part that is none",
                                [&] { copy(stream, y, x.view().subview(80, 50)); });
    right &=
        throws<NoDevice>("a device that is none", [&] { const Stream nowhere{Device("cpu:63")}; });
    right &= throws<UsageError>("a wait in a host function", [&] {
        const Stream cpu{Device("cpu")};
        launch_host(cpu, [&] { stream.synchronize(); });
        try {
            cpu.synchronize();
        } catch (const WorkFailed& error) {
            std::rethrow_exception(error.cause());  // the exception that the host function threw
        }
    });

    // After work has failed, every synchronisation throws, and later work is dropped.
    launch_host(stream, [] { throw std::runtime_error("the disk is full"); });
    right &= throws<WorkFailed>("work that failed", [&] { stream.synchronize(); });
    launch(stream, Increment{}, dim(x.size()), x);  // this launch is dropped
    right &= throws<WorkFailed>("and again", [&] { stream.synchronize(); });
    right &= stream.is_poisoned();

    // After the failure was cleared, the stream works again. The dropped launch is not repeated.
    right &= stream.clear_error() != nullptr && !stream.is_poisoned();
    launch(stream, Increment{}, dim(x.size()), x);
    right &= to_host(stream, x).back() == 1;
    std::printf("%s: %s\n", device.name().c_str(), right ? "right" : "wrong");
    return right ? 0 : 1;
}
