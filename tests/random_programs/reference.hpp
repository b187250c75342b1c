// The expected result of a program: its statements, run one after the other on the host.
#pragma once

#include "program.hpp"

#include <vector>

namespace heddle_test::programs {

/// The result of a query of an array, or a possible result: elements, or a failure.
struct Answer {
    int statement = -1;
    bool may_give = false;
    bool may_throw = false;
    bool is_known = true;  ///< whether the elements are known
    std::vector<int> elements = {};
};

/// The result of a program: every buffer that still exists at the end, and every array that the
/// host read on the way.
struct Outcome {
    std::vector<std::vector<int>> buffers;
    std::vector<std::vector<int>> seen;
    /// Programs with failures: for each stream that exists for the whole program, whether it is
    /// poisoned at the end.
    std::vector<bool> failed;
    std::vector<Answer> answers;
    /// Programs with failures: arrays with unknown elements, because work that should have written
    /// all of them was dropped.
    std::vector<bool> unknown;
    /// Whether failures depend on timing, so that the rest is unknown.
    bool is_unsure = false;
};

/// Returns the initial contents of a buffer.
std::vector<int> first_values(const Program& p, int buffer);
/// Returns the numbers that an upload statement copies.
std::vector<int> uploaded(const Program& p, const Statement& s);

inline int scaled(int x, Word a, Word b) { return static_cast<int>(static_cast<Word>(x) * a + b); }

/// Does a statement's work in the buffers of `out`.
void do_work(const Program& p, const Statement& s, int round, Outcome& out);

Outcome expected(const Program& p, Mode mode);
/// Returns the same for programs that fail, in modes that capture nothing (failures.cpp).
Outcome expected_with_failures(const Program& p, Mode mode);

/// Returns a description of the first difference, or an empty string.
std::string difference(const Program& p, const Outcome& expected, const Outcome& actual);

}  // namespace heddle_test::programs
