// Runs tests that need their own process: a hidden test case of this program, or a forked child.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace heddle_test {

struct ChildResult {
    int status = -1;     ///< exit status; -1 if a signal ended the process
    int signal = 0;      ///< that signal; SIGALRM if it hung
    std::string output;  ///< standard output and standard error (run_test_case only)
};

/// A hidden test case of this program that runs in a new process, with "NAME=value" added to its
/// environment. The destructor ends it if it still runs.
class Child {
public:
    explicit Child(const std::string& name, const std::vector<std::string>& environment = {});
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    int id() const { return id_; }  ///< of the process
    /// Returns what it has printed, to standard output and standard error, as far as it is read.
    const std::string& output() const { return output_; }
    /// Reads what it prints next, for which it waits at most so long. Returns false if the child
    /// has closed its output.
    bool read(std::chrono::milliseconds patience);
    /// Waits until the child has ended.
    ChildResult wait();

private:
    int id_ = 0;
    int pipe_ = -1;
    std::string output_;
};

/// Runs a hidden test case of this program in a new process, with "NAME=value" added to its
/// environment.
ChildResult run_test_case(const std::string& name,
                          const std::vector<std::string>& environment = {});

/// Skips a test that calls run_forked() where that cannot work.
#define HEDDLE_SKIP_WITHOUT_FORK()                                                                 \
    if (HEDDLE_TEST_SANITIZED)                                                                     \
    HEDDLE_SKIP("sanitizers do not work in the child of a process with threads")

/// Forks. The child runs `body` and ends at once with the result as its status: 99 if `body`
/// throws, 98 if it throws a heddle::Error. Not for sanitized processes, whose allocator another
/// thread may have locked at the fork (LLVM 14): tests begin with HEDDLE_SKIP_WITHOUT_FORK().
ChildResult run_forked(const std::function<int()>& body);

/// Ends this process with SIGALRM if it is still running after a while.
void end_if_it_hangs();

}  // namespace heddle_test
