// Errors: misuse throws before anything is enqueued. Work that fails poisons its stream until the
// failure is cleared. Usage: example_06_errors [DEVICE]
#include <heddle/heddle.hpp>

#include <cstdio>
#include <stdexcept>

#include "device_argument.hpp"

namespace hd = heddle;

struct Increment {
    HEDDLE_FN void operator()(std::size_t i, hd::View<int> x) const { ++x[i]; }
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
    const hd::Device device = device_argument(argc, argv);
    const hd::Stream stream{device, {.name = "worker"}};
    hd::Array<int> x = hd::zeros<int>(stream, 100), y = hd::zeros<int>(stream, 50);
    bool right = true;

    // Misuse throws a UsageError, and does not change x. The call, the stream and the source line
    // are members of the error.
    right &= throws<hd::UsageError>("sizes that differ", [&] { hd::copy(stream, y, x); });
    right &= throws<hd::UsageError>("a part that is none",
                                    [&] { hd::copy(stream, y, x.view().subview(80, 50)); });
    right &= throws<hd::NoDevice>("a device that is none",
                                  [&] { const hd::Stream nowhere{hd::Device("cpu:63")}; });
    right &= throws<hd::UsageError>("a wait in a host function", [&] {
        const hd::Stream cpu{hd::Device("cpu")};
        hd::launch_host(cpu, [&] { stream.synchronize(); });
        try {
            cpu.synchronize();
        } catch (const hd::WorkFailed& error) {
            std::rethrow_exception(error.cause());  // the exception that the host function threw
        }
    });

    // After work has failed, every synchronisation throws, and later work is dropped.
    hd::launch_host(stream, [] { throw std::runtime_error("the disk is full"); });
    right &= throws<hd::WorkFailed>("work that failed", [&] { stream.synchronize(); });
    hd::launch(stream, Increment{}, hd::dim(x.size()), x);  // this launch is dropped
    right &= throws<hd::WorkFailed>("and again", [&] { stream.synchronize(); });
    right &= stream.is_poisoned();

    // After the failure was cleared, the stream works again. The dropped launch is not repeated.
    right &= stream.clear_error() != nullptr && !stream.is_poisoned();
    hd::launch(stream, Increment{}, hd::dim(x.size()), x);
    right &= hd::to_host(stream, x).back() == 1;
    std::printf("%s: %s\n", device.name().c_str(), right ? "right" : "wrong");
    return right ? 0 : 1;
}
