# heddle_choice(NAME VARIABLE WHAT): the cache entry NAME, which is AUTO (by default), ON or OFF,
# and says WHAT it is about; in VARIABLE in capitals. Anything else is an error.
macro(heddle_choice name variable what)
    set(${name} AUTO CACHE STRING "${what}: AUTO, ON or OFF")
    set_property(CACHE ${name} PROPERTY STRINGS AUTO ON OFF)
    string(TOUPPER "${${name}}" ${variable})
    if(NOT ${variable} MATCHES "^(AUTO|ON|OFF|TRUE|FALSE|YES|NO|1|0)$")
        message(FATAL_ERROR "heddle: ${name} is AUTO, ON or OFF, not \"${${name}}\"")
    endif()
endmacro()
