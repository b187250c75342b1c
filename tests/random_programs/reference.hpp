// What a program has to come to: its statements one after the other, on the host.
#pragma once

#include "program.hpp"

#include <vector>

namespace heddle_test::programs {

/// What is there at the end: every buffer that still is, and what was looked at on the way.
struct Outcome {
    std::vector<std::vector<int>> buffers;
    std::vector<std::vector<int>> seen;
};

/// The numbers a buffer begins with.
std::vector<int> first_values(const Program& p, int buffer);
/// What an upload of these numbers brings.
std::vector<int> uploaded(const Program& p, const Statement& s);

inline int scaled(int x, Word a, Word b) { return static_cast<int>(static_cast<Word>(x) * a + b); }

Outcome expected(const Program& p, Mode mode);

/// The first difference, in words; empty if there is none.
std::string difference(const Program& p, const Outcome& expected, const Outcome& actual);

}  // namespace heddle_test::programs
