// The common last step of tests that check the order of operations.
#pragma once

#include "support.hpp"

namespace heddle_test {

/// Checks that nothing is noted while the gate is closed. Then opens it, waits for the stream and
/// checks the notes and their order. `line` is the caller's.
inline void check_held(const OrderLog& seen, Gate& gate, StreamRef last, const Strings& order,
                       int line = __builtin_LINE()) {
    INFO("in line " << line);
    finish_work(test_device());
    CHECK(seen.seen().empty());
    gate.open();
    last.synchronize();
    CHECK(seen.seen() == order);
}

}  // namespace heddle_test
