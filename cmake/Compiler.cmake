# The oldest compilers and standard libraries that heddle supports. scripts/setup reads this file.
# Only these are tested. The public headers need C++20's <source_location>, which libstdc++ has
# since version 11.
set(heddle_oldest_gcc 12)
set(heddle_oldest_clang 14)
set(heddle_oldest_libstdcxx 11)
set(heddle_oldest_libcxx 19)

set(heddle_compilers "g++ ${heddle_oldest_gcc} or newer, or clang ${heddle_oldest_clang} or newer \
with libstdc++ ${heddle_oldest_libstdcxx} or libc++ ${heddle_oldest_libcxx} or newer")
set(heddle_compiler "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
set(heddle_compiler_is_old OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS heddle_oldest_gcc)
        set(heddle_compiler_is_old ON)
    endif()
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS heddle_oldest_clang)
        set(heddle_compiler_is_old ON)
    elseif(NOT DEFINED HEDDLE_STANDARD_LIBRARY_IS_NEW)
        # clang uses the newest libstdc++ of the machine, which may be older than clang.
        file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/heddle_standard_library.cpp" "
            #include <version>
            #if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE < ${heddle_oldest_libstdcxx}
            #error libstdc++ is too old
            #elif defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < ${heddle_oldest_libcxx}0000
            #error libc++ is too old
            #endif
            int main() {}")
        try_compile(HEDDLE_STANDARD_LIBRARY_IS_NEW
            "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/heddle_standard_library"
            "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/heddle_standard_library.cpp")
    endif()
    if(DEFINED HEDDLE_STANDARD_LIBRARY_IS_NEW AND NOT HEDDLE_STANDARD_LIBRARY_IS_NEW)
        unset(HEDDLE_STANDARD_LIBRARY_IS_NEW CACHE)
        set(heddle_compiler_is_old ON)
        string(APPEND heddle_compiler " with an old standard library")
    endif()
endif()
if(heddle_compiler_is_old)
    message(FATAL_ERROR
        "heddle: the C++ compiler is too old: ${CMAKE_CXX_COMPILER} is ${heddle_compiler}, and "
        "heddle needs ${heddle_compilers}. To choose another compiler, set CXX or "
        "CMAKE_CXX_COMPILER, and configure in an empty folder. (Older ones lack parts of C++20, "
        "such as <source_location>, or are not tested.)")
endif()
