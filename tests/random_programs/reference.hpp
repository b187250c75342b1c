// Computes a program's expected result: runs its statements on the host, one after the other.
#pragma once

#include "program.hpp"

#include <string>
#include <vector>

namespace heddle_test::programs {

/// The result of reading an array, or a possible result: either elements or a failure.
struct Answer {
    int statement = -1;
    bool may_give = false;
    bool may_throw = false;
    bool is_known = true;  ///< whether `elements` is known
    std::vector<int> elements = {};
    std::string thrown = {};  ///< the text of the exception
};

/// The result of a program: all buffers that exist at the end, and all arrays that the host has
/// read before.
struct Outcome {
    std::vector<std::vector<int>> buffers;
    std::vector<std::vector<int>> seen;
    /// For programs with failures: whether each stream is poisoned at the end. Only streams that
    /// exist for the whole program count.
    std::vector<bool> failed;
    std::vector<Answer> answers;
    /// For programs with failures: whether the elements of an array are unknown, because work was
    /// dropped that should have written them.
    std::vector<bool> unknown;
    /// Whether failures depend on timing. Then the rest is unknown.
    bool is_unsure = false;
};

/// Returns the initial contents of a buffer.
std::vector<int> first_values(const Program& p, int buffer);
/// Returns the numbers that an upload statement copies.
std::vector<int> uploaded(const Program& p, const Statement& s);

inline int scaled(int x, Word a, Word b) { return static_cast<int>(static_cast<Word>(x) * a + b); }

/// Does the work of a statement in the buffers of `out`.
void do_work(const Program& p, const Statement& s, int round, Outcome& out);

Outcome expected(const Program& p, Mode mode);
/// Returns the result of a program that may fail, in a mode without captures (failures.cpp).
Outcome expected_with_failures(const Program& p, Mode mode);

/// Describes the first difference. Returns an empty string if there is none.
std::string difference(const Program& p, const Outcome& expected, const Outcome& actual);

}  // namespace heddle_test::programs
