// SourcePlace: a place in the source, with a copy of the file's name.
#pragma once

#include <string>

#include <heddle/detail/visible.hpp>

namespace heddle HEDDLE_VISIBLE {

/// A place in the source, in reports of the checker and the watch. Owns its text, so that it can
/// outlive the code that it names. The file is empty if the place is unknown.
struct SourcePlace {
    std::string file;     ///< as passed to the compiler
    unsigned line = 0;    ///< from 1; 0 if unknown
    unsigned column = 0;  ///< from 1; 0 if unknown; see SourceLocation
};

}  // namespace heddle
