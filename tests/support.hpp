// What the tests share: the device under test, gates that hold streams, records of what ran in which order.
#pragma once

#include "catch.hpp"
#include "core/completion.hpp"

#include <heddle/heddle.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
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

namespace heddle_test {

using namespace heddle;

/// The first device of the kind that HEDDLE_TEST_DEVICE names ("cpu" if unset).
Device test_device();
/// All devices of that kind.
std::vector<Device> test_devices();
/// The first CPU device, which is always there.
Device cpu_device();
/// Host functions of a CPU device that can run at the same time.
int cpu_workers();

/// How often to repeat something that costs 100 ns on a CPU device and 10 µs on a GPU.
std::size_t repetitions(std::size_t on_cpu, std::size_t on_cuda);

/// Holds streams, of any device, until it is opened, at the latest by its destructor. Keeps no worker busy: what a held
/// stream is given waits for an event which completes when the gate opens.
class Gate {
public:
    Gate();
    ~Gate();
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    /// What `stream` is given from now on runs after the gate was opened.
    void hold(StreamRef stream) const;
    void open();

private:
    detail::CompletionRef opened_;
    Stream keeper_;
    std::optional<Event> event_;
    bool open_ = false;
};

/// Two devices without access to each other's memory while it lives, whatever earlier cases have enabled for good; puts that back.
class Apart {
public:
    Apart(Device a, Device b);
    ~Apart();
    Apart(const Apart&) = delete;
    Apart& operator=(const Apart&) = delete;

private:
    Device a_, b_;
    bool pool_[2], peer_[2];  ///< from a to b, and back
};

/// Set once by one thread, waited for by others. Copies are the same flag. Waits are bounded, so that a broken
/// library makes a test fail, not hang.
class Flag {
public:
    void set() const;
    bool is_set() const;
    /// False when the time was up.
    bool wait() const;

private:
    struct State {
        mutable std::mutex mutex;
        mutable std::condition_variable changed;
        bool set = false;
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// Remembers what happened in which order. Copies share their record; any thread may add to it.
class Recorder {
public:
    void add(std::string what) const;
    /// Adds `what` from a host function on `stream`.
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

/// The current device is the one under test, and its current stream is a stream of this test.
struct Here {
    Stream stream{test_device()};
    ScopedStream in{stream};
};

/// Gives whatever could run on `device` the occasion to: less urgent work enqueued after it has run when this returns.
void settle(Device device);

/// Whether `predicate` becomes true within a minute. For what must happen at some time, never for what must not.
template <class P> bool eventually(P&& predicate) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!predicate()) {
        if (std::chrono::steady_clock::now() > limit) return false;
        std::this_thread::yield();
    }
    return true;
}

/// At the end of a test: waits for all devices, whatever state they are in, so that no work outlives what it refers to.
/// Declare it after what host functions refer to and before gates.
class Drained {
public:
    Drained() = default;
    ~Drained();
    Drained(const Drained&) = delete;
};

/// Collects what goes to the report hook while it lives. Thread-safe.
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

/// What the counters counted since this was made.
class Counted {
public:
    Counted() : before_(stats()) {}
    Stats since() const { return stats() - before_; }

private:
    Stats before_;
};

/// The heddle::Error that `call` throws; nothing if it throws none. Other exceptions come out.
template <class F> std::optional<Error> error_of(F&& call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    return std::nullopt;
}

/// Whether there is an error and its text has `text` in it.
inline bool mentions(const std::optional<Error>& error, const std::string& text) {
    return error && std::string(error->what()).find(text) != std::string::npos;
}

/// The text of the exception behind an error: what a host function or CPU kernel threw.
std::string cause_of(const Error& error);

/// What host functions and CPU kernels throw in tests.
struct Boom : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Gives `stream` a host function that throws Boom(text), and waits until the stream knows.
void poison(StreamRef stream, const std::string& text = "boom");

}  // namespace heddle_test
