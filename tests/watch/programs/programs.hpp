// Small programs that hang, each for one known cause, and long programs that do not hang. They run
// in virtual time, which passes only while their work sleeps.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <heddle/heddle.hpp>

#include "support.hpp"
#include "virtual_time.hpp"

namespace heddle_test {

/// A program that never ends, and the report that the watch must make. The report is described by
/// parts of its text. In a part, "{mark}" stands for a place that the program has marked by here().
struct HangingProgram {
    std::string name;
    void (*run)();
    /// The causes. For each, the report must have a line that begins with "cause:" and contains all
    /// parts. Each such line must match a cause in this list or in the next one.
    std::vector<Strings> causes;
    std::vector<Strings> other_causes;  ///< allowed as well, because they are true, too
    Strings says;                       ///< texts that the report must contain anywhere
};

/// A program that ends. It runs far longer than the limit of its watch, but each of its operations
/// is shorter than the limit. The watch must not report anything.
struct HealthyProgram {
    std::string name;
    void (*run)();
    Strings environment = {};
};

std::vector<HangingProgram> hanging_work();        ///< hang in kernels and host functions
std::vector<HangingProgram> hanging_order();       ///< hang in streams, events and waiting threads
std::vector<HangingProgram> hanging_recordings();  ///< hang in captures, batches and graphs
std::vector<HangingProgram> hanging_together();    ///< hang in pools, pipelines, groups, processes

std::vector<HealthyProgram> healthy_work();
std::vector<HealthyProgram> healthy_order();
std::vector<HealthyProgram> healthy_recordings();
std::vector<HealthyProgram> healthy_together();

/// Removes the time limit of this test. The test's programs have their own limits, and the total
/// time depends on the machine.
void leave_limit_to_programs();

/// Prints the text that must replace "{mark}".
void print_mark(std::string_view mark, std::string_view text);
/// Marks the place of the call, and returns it.
Where here(std::string_view mark, Where where = {});
/// Prints the line, and flushes.
void print_line(std::string_view line);
/// Prints that all work of the hang is enqueued. Call it once, before the last wait.
inline void print_hangs() { print_line("hangs"); }

/// Blocks until the process ends.
[[noreturn]] void never_return();

/// Reads a handle from a pipe. Another process must have written the whole handle.
EventHandle read_handle(int pipe_end);

/// A kernel that never returns at the index `at`.
struct Forever {
    HEDDLE_FN void operator()(std::size_t i, View<float> x, int at) const {
        if (i == static_cast<std::size_t>(at)) never_return();
        x[i] += 1;
    }
};

struct Increment {
    HEDDLE_FN void operator()(std::size_t i, View<float> x) const { x[i] += 1; }
};

/// A kernel that runs for operation_time.
struct Sleep {
    HEDDLE_FN void operator()(std::size_t i, View<float> x) const;
};

/// A time that is far longer than the watch's limit in a healthy program.
constexpr std::chrono::milliseconds long_time{1000};
/// The duration of an operation in a healthy program. The watch's limit is longer.
constexpr std::chrono::milliseconds operation_time{25};
/// The number of such operations that together take long_time.
constexpr int long_row = static_cast<int>(long_time / operation_time);

inline void sleep_a_while() { virtual_time::sleep(operation_time); }
inline void sleep_for_long() { virtual_time::sleep(long_time); }

/// Calls the function again and again, for at least long_time. Each call must last operation_time.
template <class F> void repeat_for_long(F&& f) {
    for (int i = 0; i < long_row; ++i) f();
}

/// Blocks a thread, in a way that heddle does not see, until another thread opens it.
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
