// Functions that are named only in the files of programs and libraries, and readable names for
// reports.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace heddle::detail {

/// An address whose function is looked up. Addresses are relative to the file, without its load
/// offset.
struct LookedUp {
    std::uintptr_t address = 0;
    std::string function = {};  ///< the symbol's name; empty if none was found
    std::uintptr_t begin = 0;   ///< the function's address
};

/// Looks up functions in the symbol table of an ELF file. It names functions that the loader does
/// not know: lambdas, static ones, and those of a program without -rdynamic. No function is found
/// if the file is stripped, or if `loaded` is not the beginning of this file in memory. Reads the
/// table in pieces. Throws std::bad_alloc.
void look_up_in_file(const char* path, const void* loaded, std::span<LookedUp> addresses);

/// Returns a demangled name in the form for reports: "lambda #1 in main()" for
/// "main::{lambda()#1}::operator()() const". For heddle's function that calls a kernel or a host
/// function, returns the name of that kernel or function.
std::string readable_function(std::string name);

}  // namespace heddle::detail
