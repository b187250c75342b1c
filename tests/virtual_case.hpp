// Hidden test cases that use virtual time. Each runs in a process of its own.
#pragma once

#include <string>

#include "child.hpp"
#include "support.hpp"
#include "virtual_time.hpp"

/// Runs a hidden test case that begins with virtual_time::begin(). Checks that it passes. Hides the
/// GPUs, because their driver's threads never rest. Use it directly in the body of a test.
#define HEDDLE_CHECK_IN_VIRTUAL_TIME(name)                                                         \
    do {                                                                                           \
        if (const std::string reason = virtual_time::reason_not(); !reason.empty())                \
            HEDDLE_SKIP(reason);                                                                   \
        const ChildResult result =                                                                 \
            run_test_case(name, {"HEDDLE_TEST_DEVICE=cpu", "CUDA_VISIBLE_DEVICES="});              \
        INFO(result.output);                                                                       \
        CHECK(result.status == 0);                                                                 \
    } while (false)
