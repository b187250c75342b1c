// The ways in which a host queries an array for its elements.
#pragma once

#include "program.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle_test::programs {

/// The streams whose failures a way to query throws.
enum class Hears : std::uint8_t {
    users,       ///< of all users of `x`; `s` is a new stream that is current
    stream,      ///< of `s` only, which becomes a user of `x`
    clone,       ///< the same, and of the users of an array that `s` makes
    only_waits,  ///< of `s` only, which the host waits for, and which does not read `x`
};

/// A way to query. `ask` returns the elements of `x`, and throws heddle's exceptions.
struct Way {
    const char* name;  ///< with `s` for the stream that it names
    Hears hears;
    bool (*fits)(const BufferInfo& x, bool is_cuda);
    std::vector<int> (*ask)(StreamRef s, const Array<int>& x);
};
std::span<const Way> ways_to_ask();

}  // namespace heddle_test::programs
