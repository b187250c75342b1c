# HEDDLE_MODULES: for builds by clang++ with its own standard library, without precompiled headers
# (CMAKE_DISABLE_PRECOMPILE_HEADERS). clang makes a module of each header of libc++, of Catch2 2.13
# and of heddle's public ones, once for the whole build. It compiles in less than half of the time,
# and still shows a source only its own includes. heddle/fmt.hpp is no module: sources
# include fmt as text, too.

option(HEDDLE_MODULES "Compile headers once, as clang's modules" OFF)

# heddle_as_text(MODULE FILE...): these sources, which define a macro that a header of the module
# asks for, include its headers as text. Call it in the CMakeLists.txt of their target.
function(heddle_as_text module)
    if(HEDDLE_MODULES)
        set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS "-fmodule-name=${module}")
    endif()
endfunction()

if(NOT HEDDLE_MODULES)
    return()
endif()
file(GLOB_RECURSE heddle_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/*.hpp")
list(FILTER heddle_headers EXCLUDE
     REGEX "/((cuda|fmt|bounds_nvcc|launch_nvcc(_checked)?|cub_[a-z]*)\\.hpp|with/[a-z_]*\\.hpp)$")
set(heddle_modules "module heddle {\n")
set(heddle_number 0)
foreach(header IN LISTS heddle_headers)
    string(APPEND heddle_modules
        "  module m${heddle_number} { header \"${header}\" export * }\n")
    math(EXPR heddle_number "${heddle_number} + 1")
endforeach()
string(APPEND heddle_modules "}\n")
find_file(HEDDLE_CATCH2_HEADER catch2/catch.hpp)
mark_as_advanced(HEDDLE_CATCH2_HEADER)
if(HEDDLE_CATCH2_HEADER)
    string(APPEND heddle_modules
        "module catch2 [system] { header \"${HEDDLE_CATCH2_HEADER}\" export * }\n")
endif()
set(heddle_module_map "${PROJECT_BINARY_DIR}/headers.modulemap")
file(CONFIGURE OUTPUT "${heddle_module_map}" CONTENT "${heddle_modules}" @ONLY)

# Targets with different options would each need a set of modules, which takes as long as a hundred
# sources: programs are position independent as the library is, and modules ignore the macros of
# targets. (Without NDEBUG, HEDDLE_HOST_ACCESSES is 1 for all.) clang takes a name that the source
# does not include for one that is shadowed.
set(heddle_ignored "")
foreach(name IN ITEMS FMT_HEADER_ONLY FMT_SHARED HEDDLE_CUDA_BUILT HEDDLE_HOST_ACCESSES
        HEDDLE_TEST_THREAD_OF_NCCL HEDDLE_THREAD_SANITIZER)
    list(APPEND heddle_ignored "-fmodules-ignore-macro=${name}")
endforeach()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(heddle_module_options -fPIC -fmodules "-fmodules-cache-path=${PROJECT_BINARY_DIR}/modules"
    "-fmodule-map-file=${heddle_module_map}" ${heddle_ignored}
    "-Wno-#warnings" -Wno-unused-command-line-argument)
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${heddle_module_options}>"
    "SHELL:$<$<COMPILE_LANGUAGE:CXX>:-Xclang -fmodules-local-submodule-visibility>")
list(APPEND heddle_warnings -Wno-shadow)
