// The layout of handles' state for a debugger: src/tool/gdb/heddle_gdb.py reads it from memory,
// without debug information of the library and without calling any function.
#pragma once

#include <cstddef>
#include <cstdint>

/// Defines the symbol heddle_offset_NAME, an offset of a member in bytes.
#define HEDDLE_OFFSET(name, offset)                                                                \
    extern "C" {                                                                                   \
    extern const std::uint32_t heddle_offset_##name;                                               \
    [[gnu::used]] const std::uint32_t heddle_offset_##name = offset;                               \
    }

// offsetof is standard for plain structs only, but compilers support it for all.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
