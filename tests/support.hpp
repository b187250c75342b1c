// Helpers for all tests: the device under test, gates that hold streams, and recorders of the order
// in which events happen.
#pragma once

#include "catch.hpp"
#include "core/seam/completion.hpp"

#include <heddle/heddle.hpp>

#include <atomic>
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define HEDDLE_TEST_TSAN 1
#else
#define HEDDLE_TEST_TSAN 0
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define HEDDLE_TEST_SANITIZED 1
#else
#define HEDDLE_TEST_SANITIZED 0
#endif

// A TEST_CASE with the tag [cuda], which is skipped if there is no CUDA device. The other tags
// follow the name.
#define CUDA_TEST_CASE(...)                                                                        \
    HEDDLE_CUDA_TEST_CASE(HEDDLE_NEW_NAME(cuda_case_, __COUNTER__), __VA_ARGS__)
#define HEDDLE_NEW_NAME(name, n) HEDDLE_NUMBERED_NAME(name, n)
#define HEDDLE_NUMBERED_NAME(name, n) name##n
#define HEDDLE_CUDA_TEST_CASE(function, name, ...)                                                 \
    static void function();                                                                        \
    TEST_CASE(name, "[cuda]" __VA_ARGS__) {                                                        \
        if (device_count(DeviceKind::cuda) == 0) HEDDLE_SKIP("there is no CUDA device");           \
        function();                                                                                \
    }                                                                                              \
    static void function()

namespace heddle_test {

using namespace heddle;

/// Returns the first device of the kind in HEDDLE_TEST_DEVICE, by default "cpu".
Device test_device();
/// Returns all devices of that kind.
std::vector<Device> test_devices();
/// Returns the first CPU device, which always exists.
Device cpu_device();
/// Returns the number of host functions that a CPU device can run at the same time.
int cpu_workers();

/// Returns a number of repetitions. One costs about 100 ns on a CPU device, and 10 µs on a GPU.
std::size_t repetitions(std::size_t on_cpu, std::size_t on_cuda);

/// Returns the time after which a test reports a hang. It is `usual` times HEDDLE_TEST_PATIENCE (by
/// default 1), and three times as long with a sanitizer.
std::chrono::milliseconds patience(std::chrono::milliseconds usual);

/// Holds streams of any device until the gate is opened, at the latest by the destructor. Occupies
/// no worker: a held stream's later work waits for an event, which completes when the gate opens.
class Gate {
public:
    Gate();
    /// Makes a gate that holds `stream`.
    explicit Gate(StreamRef stream) : Gate() { hold(stream); }
    ~Gate();
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    /// Holds all work that is enqueued on `stream` from now on, until the gate opens.
    void hold(StreamRef stream) const;
    void open();

private:
    detail::CompletionRef opened_;
    Stream keeper_;
    std::optional<Event> event_;
    bool open_ = false;
};

/// While this object exists, two devices cannot access each other's memory, even if an earlier case
/// enabled the access permanently. The destructor restores the access.
class Apart {
public:
    Apart(Device a, Device b);
    ~Apart();
    Apart(const Apart&) = delete;
    Apart& operator=(const Apart&) = delete;

private:
    Device a_, b_;
    bool pool_[2], peer_[2];  ///< from a to b, and from b to a
};

/// A flag that one thread sets once, and that others wait for. Copies share the flag. Waits have a
/// time limit, so that a fault in the library makes a test fail rather than hang.
class Flag {
public:
    void set() const;
    bool is_set() const;
    /// Returns false if the time limit was reached.
    bool wait() const;
    bool wait(std::chrono::milliseconds limit) const;

private:
    struct State {
        mutable std::mutex mutex;
        mutable std::condition_variable changed;
        bool set = false;
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// Threads that call the same function. If it has a parameter, it gets the number of its thread,
/// from 0 on. join() must be called.
class Threads {
public:
    template <std::integral N, class F> Threads(N count, F f) {
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
            if constexpr (std::invocable<F, Number>) threads_.emplace_back(f, Number{i});
            else threads_.emplace_back(f);
    }
    void join() {
        for (std::thread& one : threads_) one.join();
    }

private:
    /// Becomes the type of the parameter.
    struct Number {
        std::size_t value;
        template <std::integral T> operator T() const { return static_cast<T>(value); }
    };
    std::vector<std::thread> threads_;
};

/// Calls `f` on `count` threads, as Threads does, and waits for them.
template <std::integral N, class F> void on_threads(N count, F f) {
    Threads(count, std::move(f)).join();
}

/// Calls `f` on another thread, and waits for it.
template <class F> void on_another_thread(F&& f) { std::thread(std::forward<F>(f)).join(); }

/// Logs the order in which events happen. Copies share one log. Thread-safe.
class OrderLog {
public:
    void add(std::string what) const;
    /// Enqueues a host function on `stream` that logs this note.
    void note(StreamRef stream, std::string what) const;
    std::vector<std::string> seen() const;
    bool has(const std::string& what) const;

private:
    struct State {
        std::mutex mutex;
        std::vector<std::string> seen;
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

using Strings = std::vector<std::string>;
using Ints = std::vector<int>;

/// Makes an array as full() does, and waits until it is filled.
template <class T> Array<T> ready_full(StreamRef stream, std::size_t size, T value) {
    Array<T> x = full<T>(stream, size, value);
    stream.synchronize();
    return x;
}
/// Makes an array as zeros() does, and waits until it is filled.
template <class T> Array<T> ready_zeros(StreamRef stream, std::size_t size) {
    Array<T> x = zeros<T>(stream, size);
    stream.synchronize();
    return x;
}

/// Makes the device under test current, and also a new stream of that device.
struct Here {
    Stream stream{test_device()};
    ScopedStream in{stream};
};

/// Blocks until all work that is able to run on `device` has run. To do so, enqueues less urgent
/// work, and waits for it.
void finish_work(Device device);

/// Returns whether `predicate` becomes true within patience(1 minute). Only use it for conditions
/// that must become true, never for conditions that must stay false.
template <class P> bool eventually(P&& predicate) {
    const auto limit = std::chrono::steady_clock::now() + patience(std::chrono::minutes(1));
    while (!predicate()) {
        if (std::chrono::steady_clock::now() > limit) return false;
        std::this_thread::yield();
    }
    return true;
}

/// Opens the gate, waits for the stream, and checks the notes and their order. `line` is the
/// caller's.
inline void check_opened(const OrderLog& seen, Gate& gate, StreamRef last, const Strings& order,
                         int line = __builtin_LINE()) {
    INFO("in line " << line);
    gate.open();
    last.synchronize();
    CHECK(seen.seen() == order);
}

/// Checks that nothing is noted while the gate is closed, and then the order, as check_opened().
inline void check_held(const OrderLog& seen, Gate& gate, StreamRef last, const Strings& order,
                       int line = __builtin_LINE()) {
    INFO("in line " << line);
    finish_work(test_device());
    CHECK(seen.seen().empty());
    check_opened(seen, gate, last, order, line);
}

/// Waits for all devices when a test ends, even by an exception. So no work outlives the objects
/// that it uses. Declare a Drained after the objects that host functions use, and before gates.
class Drained {
public:
    Drained() = default;
    ~Drained();
    Drained(const Drained&) = delete;
};

/// A gate whose destructor opens it, and then waits for all devices, as a Drained does.
class DrainedGate : Drained, public Gate {
public:
    using Gate::Gate;
};

/// Calls a function within check::ScopedOff, in programs that are linked with the checker. A
/// program without the checker calls the function alone. (check/call_unchecked.cpp sets the
/// pointer.)
extern void (*call_unchecked)(const std::function<void()>& function);

/// Like to_host(), but with the checker turned off. The checker cannot see that a closed gate holds
/// the other writers of the memory.
template <class T> std::vector<T> to_host_behind_gate(StreamRef stream, const Array<T>& x) {
    std::vector<T> elements;
    call_unchecked([&] { elements = to_host(stream, x); });
    return elements;
}

/// Collects the errors that the report hook receives while this object exists. Thread-safe.
class Reports {
public:
    Reports();
    ~Reports();
    Reports(const Reports&) = delete;
    std::vector<Error> all() const;
    std::size_t count() const { return all().size(); }

private:
    struct State {
        std::mutex mutex;
        std::vector<Error> errors;
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
    ReportHook before_;
};

/// Returns the heddle::Error that `call` throws. Returns nullopt if it throws nothing. Other
/// exceptions are passed on.
template <class F> std::optional<Error> error_of(F&& call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    return std::nullopt;
}

/// Returns the heddle::Error that `call` throws. The test case fails if it throws nothing. `line`
/// is the caller's.
template <class F> Error thrown_by(F&& call, int line = __builtin_LINE()) {
    const std::optional<Error> error = error_of(call);
    INFO("in line " << line);
    REQUIRE(error);
    return *error;
}

/// Returns whether `error` is set and its message contains `text`.
inline bool mentions(const std::optional<Error>& error, const std::string& text) {
    return error && std::string(error->what()).find(text) != std::string::npos;
}

/// Returns the message of the exception that a host function or a CPU kernel has thrown.
std::string cause_of(const Error& error);

/// The exception that tests throw in host functions and CPU kernels.
struct Boom : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Enqueues a host function that throws Boom(text). Waits until the stream is poisoned.
void poison(StreamRef stream, const std::string& text = "boom");

}  // namespace heddle_test
