// Finds functions that are named only in the symbol table of their file, and makes names readable
// for reports.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace heddle::detail {

/// An address whose function is looked up. Addresses are offsets in the file: the load offset has
/// been subtracted.
struct LookedUp {
    std::uintptr_t address = 0;
    std::string function = {};  ///< the symbol's name; empty if none was found
    std::uintptr_t begin = 0;   ///< the function's address
};

/// Looks up functions in the symbol table of an ELF file. Finds functions that the loader does not
/// know: lambdas, static functions, and all functions of a program linked without -rdynamic. No
/// function is found if the file is stripped, or if `loaded` is not the beginning of this file in
/// memory. Reads the table in pieces. Throws std::bad_alloc.
void look_up_in_file(const char* path, const void* loaded, std::span<LookedUp> addresses);

/// Returns a demangled name in readable form: "lambda #1 in main()" for
/// "main::{lambda()#1}::operator()() const". heddle calls kernels and host functions through
/// functions of its own. For such a function, returns the name of the kernel or host function.
std::string readable_function(std::string name);

}  // namespace heddle::detail
