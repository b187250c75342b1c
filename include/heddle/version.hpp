// The version of these headers, for the preprocessor and as text.
#pragma once

/// The version as one number, to be compared by the preprocessor: 10000 times the major version
/// plus 100 times the minor one plus the patch. 0.1.0 is 100, 1.2.3 is 10203.
#define HEDDLE_VERSION 100

/// The version as text, "major.minor.patch". CMake reads the project's version from this line.
#define HEDDLE_VERSION_TEXT "0.1.0"
