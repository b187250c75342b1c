// Small programs that hang, each for one known cause, and long ones that do not. They run in
// virtual time, in which only what sleeps takes any.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <heddle/heddle.hpp>

#include "support.hpp"
#include "virtual_time.hpp"

namespace heddle_test {

/// A program that never ends, and what the report of a watch has to say of it. Each part is a text
/// in which "{mark}" stands for the place that the program has marked with here().
struct HangingProgram {
    std::string name;
    void (*run)();
    /// The causes: each line that begins with "cause:" has all parts of one of them. Each of the
    /// first kind has such a line.
    std::vector<Strings> causes;
    std::vector<Strings> other_causes;  ///< may be named besides: they are true, too
    Strings says;                       ///< parts of the report, anywhere
};

/// A program that ends by itself, but runs for far longer than the limit of its watch, and longer
/// than any operation of it. The report of a watch says nothing.
struct HealthyProgram {
    std::string name;
    void (*run)();
    Strings environment = {};
};

std::vector<HangingProgram> hanging_work();        ///< kernels and host functions
std::vector<HangingProgram> hanging_order();       ///< streams, events, and threads that wait
std::vector<HangingProgram> hanging_recordings();  ///< captures, batches and graphs
std::vector<HangingProgram> hanging_together();    ///< pools, pipelines, groups, processes

std::vector<HealthyProgram> healthy_work();
std::vector<HealthyProgram> healthy_order();
std::vector<HealthyProgram> healthy_recordings();
std::vector<HealthyProgram> healthy_together();

/// Ends the time limit of this test, which runs programs with limits of their own: how long all of
/// them take depends on the machine.
void leave_limit_to_programs();

/// Prints what "{mark}" stands for.
void print_mark(std::string_view mark, std::string_view text);
/// Marks the place of the call, which it returns.
Where here(std::string_view mark, Where where = {});
/// Prints the line, at once.
void print_line(std::string_view line);
/// Prints that everything is enqueued which hangs. Call it once, before the last wait.
inline void print_hangs() { print_line("hangs"); }

/// Returns only when the process ends.
[[noreturn]] void never_return();

/// Reads a handle from a pipe that another process has written whole.
EventHandle read_handle(int pipe_end);

/// Never ends at the index `at`.
struct Forever {
    HEDDLE_FN void operator()(std::size_t i, View<float> x, int at) const {
        if (i == static_cast<std::size_t>(at)) never_return();
        x[i] += 1;
    }
};

struct Increment {
    HEDDLE_FN void operator()(std::size_t i, View<float> x) const { x[i] += 1; }
};

/// Takes an operation_time.
struct Sleep {
    HEDDLE_FN void operator()(std::size_t i, View<float> x) const;
};

/// Far longer than the limit of the watch of a healthy program.
constexpr std::chrono::milliseconds long_time{1000};
/// How long an operation of a healthy program takes; its watch is more patient.
constexpr std::chrono::milliseconds operation_time{25};
constexpr int long_row = static_cast<int>(long_time / operation_time);  ///< take long_time together

inline void sleep_a_while() { virtual_time::sleep(operation_time); }
inline void sleep_for_long() { virtual_time::sleep(long_time); }

/// Calls the function again and again, for long_time at least. Each call takes an operation_time.
template <class F> void repeat_for_long(F&& f) {
    for (int i = 0; i < long_row; ++i) f();
}

/// Something of a program's own, which blocks a thread until another one opens it.
class Door {
public:
    void open() const { state_->promise.set_value(); }
    void pass() const { state_->opened.wait(); }

private:
    struct State {
        std::promise<void> promise;
        std::shared_future<void> opened = promise.get_future().share();
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

inline Stream stream_named(const char* name, Device device = cpu_device(), int priority = 0) {
    return Stream{device, {.priority = priority, .name = name}};
}

}  // namespace heddle_test
