// Operations for programs under the checker.
#pragma once

#include "check/checked.hpp"
#include "check/unseen.hpp"
#include "kernel_launches.hpp"
#include "support.hpp"

namespace heddle_test {

/// The number of elements of each array.
inline constexpr std::size_t size = 64;

/// Enqueues a kernel that reads and writes `x`. Then waits for it in a way that the checker cannot
/// see. So ThreadSanitizer sees no race where the checker reports one.
template <class X> void write(StreamRef stream, X&& x) {
    launch(stream, Add{}, dim(x.size()), x, 1);
    if (!stream.is_capturing()) wait_unseen(stream);
}
/// Same as write(), with a kernel that reads `x` and writes `y`.
template <class X, class Y> void read(StreamRef stream, const X& x, Y&& y) {
    launch(stream, AddTo{}, dim(x.size()), x, y);
    if (!stream.is_capturing()) wait_unseen(stream);
}

/// Streams of the device under test, and arrays of ints. Must be created before the check begins.
struct CheckedStreams {
    CheckedStreams() { synchronize(); }
    Drained drained;
    Stream a{{.name = "a"}}, b{{.name = "b"}}, c{{.name = "c"}};
    Array<int> x = zeros<int>(a, size), y = zeros<int>(a, size), z = zeros<int>(a, size);
};

/// Ends the check. Returns the text of its only race.
inline std::string only_text(Checked& checked) {
    (void)checked.end();
    const std::vector<check::Race> all = checked.races();
    for (const check::Race& race : all) UNSCOPED_INFO(race.text);
    REQUIRE(all.size() == 1);
    return all[0].text;
}

/// CheckedStreams, and a check that begins after they were made.
struct CheckedRun : CheckedStreams {
    Checked checked;
};

}  // namespace heddle_test
