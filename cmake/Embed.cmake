# Text files as string constants in C++.
#
# heddle_embed(OUTPUT NAMESPACE FILE...): makes OUTPUT, a .cpp file, when building, and again when a
# file changes. It defines a `const std::string_view` for each file, named as the file with "_" for
# ".": page_html for page.html. Declare them `extern` in a header. Add OUTPUT to a target's sources
# in the same folder. Relative paths of files are those of the current source folder, and that of
# OUTPUT is of the current build folder.
#
# This file is also the script that makes OUTPUT.

function(heddle_embed output namespace)
    cmake_path(ABSOLUTE_PATH output BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}" NORMALIZE)
    set(files "")
    foreach(file IN LISTS ARGN)
        cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
        list(APPEND files "${file}")
    endforeach()
    add_custom_command(OUTPUT "${output}"
        COMMAND "${CMAKE_COMMAND}" "-DHEDDLE_EMBED_OUTPUT=${output}"
            "-DHEDDLE_EMBED_NAMESPACE=${namespace}" "-DHEDDLE_EMBED_FILES=${files}"
            -P "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
        DEPENDS ${files} "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
        COMMENT "Embedding text in ${output}"
        VERBATIM)
endfunction()

# The rest is the script.
if(NOT DEFINED HEDDLE_EMBED_OUTPUT OR NOT CMAKE_SCRIPT_MODE_FILE)
    return()
endif()

# Compilers need not take a literal of more than 65536 characters.
set(most_characters 60000)
set(code "// Made by cmake/Embed.cmake.\n#include <string_view>\n\n")
string(APPEND code "namespace ${HEDDLE_EMBED_NAMESPACE} {\n")
foreach(file IN LISTS HEDDLE_EMBED_FILES)
    file(READ "${file}" text)
    string(LENGTH "${text}" length)
    string(FIND "${text}" ")heddle\"" terminator)
    if(length GREATER most_characters OR NOT terminator EQUAL -1)
        message(FATAL_ERROR
            "${file} cannot be embedded: it is longer than ${most_characters} bytes or holds "
            "\")heddle\" and a quote. Split it.")
    endif()
    cmake_path(GET file FILENAME name)
    string(MAKE_C_IDENTIFIER "${name}" name)
    string(APPEND code "\nextern const std::string_view ${name};\n"
        "const std::string_view ${name} = R\"heddle(${text})heddle\";\n")
endforeach()
string(APPEND code "\n}  // namespace ${HEDDLE_EMBED_NAMESPACE}\n")
file(WRITE "${HEDDLE_EMBED_OUTPUT}" "${code}")
