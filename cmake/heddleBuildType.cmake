# Warns a project that uses heddle and has no build type. Kernels for CPU devices are compiled with
# the project's own files: at -O0 they run many times slower, and nothing else would say so. Used by
# the installed package and by heddle as a directory of a project.
get_property(heddle_is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT heddle_is_multi_config AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CXX_FLAGS MATCHES "-O"
   AND NOT heddle_FIND_QUIETLY)
    message(WARNING
        "heddle: this project has no build type. Its kernels for CPU devices will be compiled "
        "without optimisation. Configure it with -DCMAKE_BUILD_TYPE=Release, RelWithDebInfo or "
        "Debug, or set CMAKE_BUILD_TYPE before heddle is looked for.")
endif()
unset(heddle_is_multi_config)
