// Passes check::ScopedOff to the tests of the runtime, which are also linked without the checker.
#include <heddle/observe/check.hpp>

#include "support.hpp"

namespace heddle_test {
namespace {

[[maybe_unused]] const bool is_set = [] {
    call_unchecked = [](const std::function<void()>& function) {
        const check::ScopedOff off;
        function();
    };
    return true;
}();

}  // namespace
}  // namespace heddle_test
