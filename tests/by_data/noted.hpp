// Arrays, and a DataOrder whose operations append notes to a record. Tests must include
// kernels.hpp, too, because CMake recognises files with kernels by that include.
#pragma once

#include "kernels.hpp"
#include "support.hpp"

#include <heddle/by_data.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace heddle_test::by_data {

inline constexpr std::size_t n = 64;
inline constexpr DataWaits all_waits[] = {DataWaits::newest, DataWaits::exact,
                                          DataWaits::automatic};

inline Ints constant(int value) { return Ints(n, value); }
/// Returns an array that all streams may use immediately.
inline Array<int> array() {
    Array<int> made = zeros<int>(test_device(), n);
    current_stream(test_device()).synchronize();
    return made;
}

struct Noted {
    explicit Noted(int streams = 2, DataWaits waits = DataWaits::automatic)
        : order(test_device(), {.streams = streams, .waits = waits, .spread = DataSpread::always}) {
    }

    template <class... A> void note(const char* what, const A&... accesses) {
        launch_host(order, [seen = seen, what] { seen.add(what); }, accesses...);
    }
    /// Holds the stream of an operation that has these accesses. Returns that stream.
    template <class... A> StreamRef hold(const Gate& gate, const A&... accesses) {
        StreamRef held;
        order.task({accesses...}, [&](StreamRef s) {
            gate.hold(s);
            held = s;
        });
        return held;
    }
    /// Returns whether exactly these notes appear, in any order, while the gate is closed.
    bool sees_only(const Strings& notes) const {
        (void)eventually(
            [&] { return std::ranges::all_of(notes, [&](auto& one) { return seen.has(one); }); });
        finish_work(test_device());
        return seen.seen().size() == notes.size();
    }
    bool has_seen_nothing() const { return sees_only({}); }
    /// Returns whether the first note was made before the second one.
    bool is_before(const std::string& first, const std::string& second) const {
        const Strings all = seen.seen();
        const auto a = std::ranges::find(all, first), b = std::ranges::find(all, second);
        return a != all.end() && b != all.end() && a < b;
    }

    OrderLog seen;
    DataOrder order;
};

}  // namespace heddle_test::by_data
