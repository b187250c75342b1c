// If a program hangs, prints the program and ends the process. If the process crashes, prints the
// title of the last program.
#pragma once

#include <functional>
#include <string>

namespace heddle_test::programs {

/// Requires that a program ends within patience(1 minute). Replaces the test's own watchdog.
class Watch {
public:
    Watch(const std::string& title, const std::function<std::string()>& text);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

private:
    std::size_t id_;
};

}  // namespace heddle_test::programs
