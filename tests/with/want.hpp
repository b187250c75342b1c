// Helpers of the programs in this folder. The programs exit with 0 if all conditions hold, with 1
// if one is violated, and with 77 without a GPU.
#pragma once

#include <cstdio>

#include <heddle/heddle.hpp>

inline int bad = 0;
inline void want(bool holds, const char* what) {
    if (!holds) std::printf("failed: %s\n", what), ++bad;
}

/// Returns whether the call throws UsageError.
template <class F> bool is_refused(const F& f) {
    try {
        f();
    } catch (const heddle::UsageError&) {
        return true;
    }
    return false;
}

/// Waits twice for `other`. Checks that the first wait is inserted and the second is elided.
inline void want_one_wait(heddle::StreamRef waiter, heddle::StreamRef other, const char* what) {
    const heddle::OpCounter counter;
    waiter.wait_stream(other);
    const heddle::OpStats between = counter.stats();
    waiter.wait_stream(other);
    const heddle::OpStats after = counter.stats();
    want(between.waits_inserted == 1, what);
    want(after.waits_elided == between.waits_elided + 1, "elision goes on");
}
