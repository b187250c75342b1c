# heddle_choice(NAME VARIABLE TEXT): the cache entry NAME, which is AUTO (by default), ON or OFF.
# TEXT is its description. Sets VARIABLE to its value in capitals. Other values are errors.
macro(heddle_choice name variable what)
    set(${name} AUTO CACHE STRING "${what}: AUTO, ON or OFF")
    set_property(CACHE ${name} PROPERTY STRINGS AUTO ON OFF)
    string(TOUPPER "${${name}}" ${variable})
    if(NOT ${variable} MATCHES "^(AUTO|ON|OFF|TRUE|FALSE|YES|NO|1|0)$")
        message(FATAL_ERROR "heddle: ${name} is AUTO, ON or OFF, not \"${${name}}\"")
    endif()
endmacro()

# heddle_decide(NAME VARIABLE PROBLEM FILE): sets HEDDLE_WITH_NAME to whether heddle is built with
# it, after the choice in VARIABLE: it is, with FILE, unless there is a PROBLEM. That is an error if
# it was asked for.
macro(heddle_decide name variable problem file)
    set(HEDDLE_WITH_${name} OFF)
    if(NOT ${variable} STREQUAL "AUTO" AND NOT ${variable})
        message(STATUS "heddle: built without ${name} (HEDDLE_${name}=${HEDDLE_${name}})")
    elseif("${problem}" STREQUAL "")
        set(HEDDLE_WITH_${name} ON)
        message(STATUS "heddle: built with ${name} (${file})")
    elseif(${variable} STREQUAL "AUTO")
        message(STATUS "heddle: built without ${name} (${problem})")
    else()
        message(FATAL_ERROR "heddle: HEDDLE_${name}=${HEDDLE_${name}}, but ${problem}")
    endif()
endmacro()
