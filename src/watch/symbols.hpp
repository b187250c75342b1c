// Functions of programs and libraries that only their files name, and names as reports have them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace heddle::detail {

/// An address whose function is looked for. Addresses are those of the file, without the distance
/// at which it was loaded.
struct LookedUp {
    std::uintptr_t address = 0;
    std::string function = {};  ///< as compilers write it; empty if none was found
    std::uintptr_t begin = 0;   ///< where the function begins
};

/// Looks for functions in the symbol table of an ELF file, where functions stand that the loader
/// does not know: lambdas, and what is static or in a program without -rdynamic. Finds none if the
/// file is stripped, or is not the one of which `loaded` is the beginning in memory. Reads the
/// table piece by piece. Throws std::bad_alloc.
void look_up_in_file(const char* path, const void* loaded, std::span<LookedUp> addresses);

/// Returns a function's demangled name as reports have it: "lambda #1 in main()" for
/// "main::{lambda()#1}::operator()() const". Of heddle's function that calls a kernel or a host
/// function, it is the name of that.
std::string readable_function(std::string name);

}  // namespace heddle::detail
