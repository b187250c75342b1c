// A program that hangs is printed, and ends the process. So does one that crashes: its title is printed.
#pragma once

#include <functional>
#include <string>

namespace heddle_test::programs {

/// While it lives, the program has to come to an end in HEDDLE_TEST_PATIENCE seconds. Stands in for the watchdog of the test.
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
