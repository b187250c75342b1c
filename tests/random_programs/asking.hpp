// The ways in which a host asks an array for its elements.
#pragma once

#include "program.hpp"

#include <span>
#include <vector>

namespace heddle_test::programs {

/// A way to ask. `ask` returns the elements of `x`, and throws what heddle throws.
struct Way {
    const char* name;  ///< with `s` for the stream that it names
    /// Whether it runs on `s` and hears only that stream's failure. Else it waits for all users of
    /// `x`, and `s` is a new stream that is current.
    bool names_stream;
    bool (*fits)(const BufferInfo& x, bool is_cuda);
    std::vector<int> (*ask)(StreamRef s, const Array<int>& x);
};
std::span<const Way> ways_to_ask();

}  // namespace heddle_test::programs
