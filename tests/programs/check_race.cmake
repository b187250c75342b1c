# cmake -DPROGRAM=... -DCASE=... -DREPORTED=... -P check_race.cmake: runs a case of stream_races
# under ThreadSanitizer. REPORTED is a list of texts, separated by commas, that the reports must
# contain. If REPORTED is empty, there must be no report.
execute_process(COMMAND "${PROGRAM}" "${CASE}" RESULT_VARIABLE status
    OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(REPORTED STREQUAL "")
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "${CASE} has no race, but its exit status is ${status}:\n${output}")
    endif()
    return()
endif()
if(NOT status EQUAL 66 OR NOT output MATCHES "WARNING: ThreadSanitizer: (data race|heap-use-after-free)")
    message(FATAL_ERROR "${CASE} has a race, but its exit status is ${status}:\n${output}")
endif()
string(REPLACE "," ";" names "${REPORTED}")
foreach(name IN LISTS names)
    string(FIND "${output}" "${name}" found)
    if(found EQUAL -1)
        message(FATAL_ERROR "the report of ${CASE} does not name ${name}:\n${output}")
    endif()
endforeach()
