// Tests that need a process of their own: a hidden test case of this program, or a forked child.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace heddle_test {

struct ChildResult {
    int status = -1;     ///< exit status; -1 when a signal ended it
    int signal = 0;      ///< that signal (SIGALRM: it hung)
    std::string output;  ///< standard output and standard error (run_test_case only)
};

/// Runs a hidden test case of this program in a new process, with "NAME=value" added to its environment.
ChildResult run_test_case(const std::string& name, const std::vector<std::string>& environment = {});

/// Forks; the child runs `body` and ends with its result as status, at once: 99 when it throws, 98 on a heddle error.
ChildResult run_forked(const std::function<int()>& body);

/// The process ends by SIGALRM if it is still there after a while.
void end_if_it_hangs();

}  // namespace heddle_test
