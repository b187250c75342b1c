// Runs tests that need their own process: a hidden test case of this program, or a forked child.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace heddle_test {

struct ChildResult {
    int status = -1;     ///< exit status; -1 if a signal ended the process
    int signal = 0;      ///< that signal; SIGALRM after a hang
    std::string output;  ///< standard output and standard error (run_test_case only)
};

/// Runs a hidden test case of this program in a new process, with "NAME=value" added to its
/// environment. The destructor ends the process if it still runs.
class Child {
public:
    explicit Child(const std::string& name, const std::vector<std::string>& environment = {});
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    int id() const { return id_; }  ///< of the process
    /// Returns the output read so far, standard output and standard error.
    const std::string& output() const { return output_; }
    /// Reads the next output. Waits at most `patience` for it. Returns false if the child has
    /// closed its output.
    bool read(std::chrono::milliseconds patience);
    /// Blocks until the child has ended.
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

/// Skips a test that calls run_forked() on builds where that does not work.
#define HEDDLE_SKIP_WITHOUT_FORK()                                                                 \
    if (HEDDLE_TEST_SANITIZED)                                                                     \
    HEDDLE_SKIP("sanitizers do not work in the child of a process with threads")

/// Forks. The child runs `body` and exits at once with the result as its status: 99 if `body`
/// throws, 98 if it throws a heddle::Error. Not for sanitized processes: another thread may have
/// locked their allocator at the fork (LLVM 14). Begin tests with HEDDLE_SKIP_WITHOUT_FORK().
ChildResult run_forked(const std::function<int()>& body);

/// Ends this process with SIGALRM if it is still running after a while.
void end_if_it_hangs();

}  // namespace heddle_test
