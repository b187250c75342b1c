// What the programs of this folder share. Each exits with 0 if all holds, 1 if not, and 77 without
// a GPU.
#pragma once

#include <cstdio>

inline int bad = 0;
inline void want(bool holds, const char* what) {
    if (!holds) std::printf("not so: %s\n", what), ++bad;
}
