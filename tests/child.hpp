// Runs tests in a process of their own: hidden test cases of this program, and forked children.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace heddle_test {

struct ChildResult {
    int status = -1;     ///< exit status; -1 if a signal ended the process
    int signal = 0;      ///< the signal that ended it; SIGALRM if it hung
    std::string output;  ///< standard output and standard error (run_test_case only)
};

/// Runs a hidden test case of this program in a new process. Adds "NAME=value" to its environment.
/// The destructor ends the process if it is still running.
class Child {
public:
    explicit Child(const std::string& name, const std::vector<std::string>& environment = {});
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    int id() const { return id_; }  ///< id of the process
    /// Returns the output that was read so far, from standard output and standard error.
    const std::string& output() const { return output_; }
    /// Reads more output. Waits for it, but at most for `patience`. Returns false if the child has
    /// closed its output.
    bool read(std::chrono::milliseconds patience);
    /// Blocks until the child has ended.
    ChildResult wait();

private:
    int id_ = 0;
    int pipe_ = -1;
    std::string output_;
};

/// Runs a hidden test case of this program in a new process. Adds "NAME=value" to its
/// environment.
ChildResult run_test_case(const std::string& name,
                          const std::vector<std::string>& environment = {});
/// Checks that a hidden test case of this program succeeds in a new process.
void check_test_case(const std::string& name, const std::vector<std::string>& environment = {});

/// Returns the bytes as text, to pass them to a child. read_hex() reads them back.
std::string hex_of(std::span<const std::byte> bytes);
void read_hex(const std::string& text, std::span<std::byte> bytes);

/// Skips a test that calls run_forked() in builds where run_forked() does not work.
#define HEDDLE_SKIP_WITHOUT_FORK()                                                                 \
    if (HEDDLE_TEST_SANITIZED)                                                                     \
    HEDDLE_SKIP("sanitizers do not work in the child of a process with threads")

/// Forks. The child runs `body` and exits with its result, or with 98 if `body` throws a
/// heddle::Error, or with 99 if it throws another exception. Does not work with sanitizers: another
/// thread may have locked the sanitizer's allocator (LLVM 14). Begin tests with
/// HEDDLE_SKIP_WITHOUT_FORK().
ChildResult run_forked(const std::function<int()>& body);
/// Checks that run_forked(body) exits with 0. `line` is the caller's.
void check_forked(const std::function<int()>& body, int line = __builtin_LINE());

/// Returns whether the main thread is blocked.
bool main_thread_is_blocked();

/// Ends this process by SIGALRM if it runs for too long.
void end_if_it_hangs();

}  // namespace heddle_test
