# How tests are registered with CTest. Labels: cpu, cuda, multi (several devices). No test has a
# time limit of its own: ctest --timeout sets one for all.

enable_testing()
set(heddle_test_environment "")
if(HEDDLE_SANITIZE)
    # A process of ThreadSanitizer's sleeps for a second when it ends, and tests start hundreds.
    set(heddle_test_environment
        "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp:atexit_sleep_ms=100"
        HEDDLE_TEST_SANITIZED=1)
endif()

# heddle_add_test(NAME LABELS l... ENVIRONMENT e... COMMAND c...): exit status 77 means skipped.
function(heddle_add_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LABELS;ENVIRONMENT;COMMAND")
    add_test(NAME ${name} COMMAND ${arg_COMMAND})
    set_tests_properties(${name} PROPERTIES
        LABELS "${arg_LABELS}" ENVIRONMENT "${arg_ENVIRONMENT};${heddle_test_environment}"
        SKIP_RETURN_CODE 77)
    if("cuda" IN_LIST arg_LABELS)
        set_tests_properties(${name} PROPERTIES RESOURCE_LOCK gpu)
    endif()
endfunction()

# heddle_watched(TEST...): runs the tests under a watch, which must not say that they are stuck. Its
# limit is beyond that of the tests, so that none fails because the machine is slow. Not with
# sanitizers: the watch reads the priority of a stream while its record is used again.
function(heddle_watched)
    if(HEDDLE_SANITIZE)
        return()
    endif()
    set_property(TEST ${ARGN} APPEND PROPERTY ENVIRONMENT HEDDLE_WATCH=1000m)
    set_property(TEST ${ARGN} PROPERTY FAIL_REGULAR_EXPRESSION
        "heddle: nothing has completed;heddle: thread [0-9]+ has waited")
endfunction()

# heddle_test_on_devices(NAME COMMAND...): the command with the CPU as default device, and with a
# GPU.
function(heddle_test_on_devices name)
    heddle_add_test(${name}.cpu LABELS cpu ENVIRONMENT HEDDLE_DEVICE=cpu COMMAND ${ARGN})
    heddle_watched(${name}.cpu)
    heddle_add_test(${name}.checked LABELS cpu once COMMAND ${ARGN}
        ENVIRONMENT HEDDLE_DEVICE=cpu HEDDLE_CPU_DEVICES=3 HEDDLE_CHECK=strict,exit)
    if(HEDDLE_WITH_CUDA_PROGRAMS)
        heddle_add_test(${name}.cuda LABELS cuda ENVIRONMENT HEDDLE_DEVICE=cuda:0
            COMMAND $<TARGET_FILE:on_cuda> ${ARGN})
    endif()
endfunction()
