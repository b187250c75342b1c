// The ways in which a host can read the elements of an array.
#pragma once

#include "program.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace heddle_test::programs {

/// The streams whose failures a read throws.
enum class Hears : std::uint8_t {
    users,       ///< those of all users of `x`; the current stream `s` is new
    stream,      ///< only those of `s`, which becomes a user of `x`
    clone,       ///< as `stream`, and those of users of an array that `s` makes
    only_waits,  ///< only those of `s`: the host waits for `s`, but `s` does not read `x`
};

/// A way to read an array. `ask` returns the elements of `x`, and throws heddle's exceptions.
struct Way {
    const char* name;  ///< in the name, `s` stands for the stream that the call names
    Hears hears;
    bool (*fits)(const BufferInfo& x, bool is_cuda);
    std::vector<int> (*ask)(StreamRef s, const Array<int>& x);
};
std::span<const Way> ways_to_ask();

}  // namespace heddle_test::programs
