# Other people's libraries: the machine's own where find_package knows it, else the release pinned
# here, downloaded and checked against its hash. heddle_need(NAME) makes one of them available.

include(FetchContent)

# Marks targets that were downloaded as other people's: their headers cause no warnings. (SYSTEM as
# an argument of FetchContent_Declare does the same, but CMake 3.25 takes it for a part of the
# hash.)
macro(heddle_foreign)
    foreach(target ${ARGN})
        if(TARGET ${target})
            set_target_properties(${target} PROPERTIES SYSTEM ON)
        endif()
    endforeach()
endmacro()

# Makes a dependency's targets available: fmt::fmt-header-only, Catch2::Catch2, CLI11::CLI11,
# nlohmann_json::nlohmann_json, heddle_xxhash, OpenSSL::Crypto. The last is never downloaded:
# without it, its target is missing. A macro, because find_package leaves variables that its caller
# needs (Catch2_VERSION).
macro(heddle_need name)
    if("${name}" STREQUAL "fmt" AND NOT TARGET fmt::fmt-header-only)
        set(FMT_INSTALL OFF)
        FetchContent_Declare(fmt
            URL https://github.com/fmtlib/fmt/releases/download/11.2.0/fmt-11.2.0.zip
            URL_HASH SHA256=203eb4e8aa0d746c62d8f903df58e0419e3751591bb53ff971096eaa0ebd4ec3
            DOWNLOAD_EXTRACT_TIMESTAMP OFF
            FIND_PACKAGE_ARGS 8)
        FetchContent_MakeAvailable(fmt)
        heddle_foreign(fmt fmt-header-only)
    elseif("${name}" STREQUAL "Catch2" AND NOT TARGET Catch2::Catch2)
        FetchContent_Declare(Catch2
            URL https://github.com/catchorg/Catch2/archive/refs/tags/v3.8.1.tar.gz
            URL_HASH SHA256=18b3f70ac80fccc340d8c6ff0f339b2ae64944782f8d2fca2bd705cf47cadb79
            DOWNLOAD_EXTRACT_TIMESTAMP OFF
            FIND_PACKAGE_ARGS NAMES Catch2)
        FetchContent_MakeAvailable(Catch2)
        heddle_foreign(Catch2 Catch2WithMain)
        if(Catch2_VERSION AND Catch2_VERSION VERSION_LESS 2.13)
            message(FATAL_ERROR
                "heddle: the tests need Catch2 2.13 or newer, and this is ${Catch2_VERSION}")
        endif()
    elseif("${name}" STREQUAL "nlohmann_json" AND NOT TARGET nlohmann_json::nlohmann_json)
        FetchContent_Declare(nlohmann_json
            URL https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
            URL_HASH SHA256=d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d
            DOWNLOAD_EXTRACT_TIMESTAMP OFF
            FIND_PACKAGE_ARGS 3.10)
        FetchContent_MakeAvailable(nlohmann_json)
        heddle_foreign(nlohmann_json)
    elseif("${name}" STREQUAL "CLI11" AND NOT TARGET CLI11::CLI11)
        FetchContent_Declare(CLI11
            URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.5.0.tar.gz
            URL_HASH SHA256=17e02b4cddc2fa348e5dbdbb582c59a3486fa2b2433e70a0c3bacb871334fd55
            DOWNLOAD_EXTRACT_TIMESTAMP OFF
            FIND_PACKAGE_ARGS 2)
        FetchContent_MakeAvailable(CLI11)
        heddle_foreign(CLI11)
    elseif("${name}" STREQUAL "xxHash" AND NOT TARGET heddle_xxhash)
        # Its headers alone, compiled into the file that includes them. XXH3 is stable since 0.8.
        find_path(HEDDLE_XXHASH_INCLUDE xxhash.h)
        mark_as_advanced(HEDDLE_XXHASH_INCLUDE)
        set(heddle_xxhash_include "${HEDDLE_XXHASH_INCLUDE}")
        set(heddle_xxhash_minor 0)
        if(HEDDLE_XXHASH_INCLUDE)
            file(STRINGS "${HEDDLE_XXHASH_INCLUDE}/xxhash.h" heddle_xxhash_minor
                REGEX "define +XXH_VERSION_MINOR ")
            string(REGEX REPLACE ".*XXH_VERSION_MINOR +([0-9]+).*" "\\1"
                heddle_xxhash_minor "${heddle_xxhash_minor}")
        endif()
        if(heddle_xxhash_minor LESS 8)
            FetchContent_Declare(xxHash
                GIT_REPOSITORY https://github.com/Cyan4973/xxHash.git
                GIT_TAG bbb27a5efb85b92a0486cf361a8635715a53f6ba  # v0.8.2
                SOURCE_SUBDIR headers_only)                       # no CMakeLists.txt there
            FetchContent_MakeAvailable(xxHash)
            set(heddle_xxhash_include "${xxhash_SOURCE_DIR}")
        endif()
        add_library(heddle_xxhash INTERFACE)
        target_include_directories(heddle_xxhash SYSTEM INTERFACE "${heddle_xxhash_include}")
    elseif("${name}" STREQUAL "libcrypto" AND NOT TARGET OpenSSL::Crypto)
        find_package(OpenSSL 1.1.1 QUIET GLOBAL COMPONENTS Crypto)
    endif()
endmacro()
