// Batches reuse the tapes in which they record, but not before the work of a tape has run.
#include "support.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

using namespace heddle_test;

namespace {

/// Plain bytes, too many for a graph to copy them elsewhere.
struct Large {
    std::array<int, 200> values;
    explicit Large(int value) { values.fill(value); }
    bool is(int value) const {
        return std::ranges::all_of(values, [value](int one) { return one == value; });
    }
};

/// A stream, and the values that its host functions read, in the order in which they ran.
struct Noted {
    Stream s{test_device()};
    Ints expected, found;

    void enqueue(int value) {
        expected.insert(expected.end(), 2, value);
        launch_host(s, [this, large = Large(value)] {
            const int first = large.values.front();
            found.push_back(large.is(first) ? first : -1);
        });
        // This function has a destructor, so it is not trivially copyable.
        launch_host(s, [this, shared = std::make_shared<Large>(value)] {
            const int first = shared->values.front();
            found.push_back(shared->is(first) ? first : -1);
        });
    }
};

}  // namespace

TEST_CASE("what batches recorded stays as it was until it has run, whatever is recorded "
          "meanwhile") {
    Noted noted;
    const Drained drained;
    Batch kept({.remembered = 1, .on_cpu = true});
    // Each graph that waits behind the gate occupies the driver's resources for a stream.
    reserve_streams(test_device(), 128);
    Gate gate(noted.s);
    for (int i = 0; i < 100; ++i) {
        // The kept batch changes the arguments of its graph each time. The other batch is
        // destroyed, with its tape, before that batch's work can run.
        ScopedBatch in(kept, noted.s);
        noted.enqueue(i);
        in.end();
        Batch gone({.on_cpu = true});
        ScopedBatch in_other(gone, noted.s);
        noted.enqueue(1000 + i);
    }
    CHECK(noted.found.empty());
    gate.open();
    noted.s.synchronize();
    CHECK(noted.found == noted.expected);
}

TEST_CASE("tapes are recorded anew while workers end what was on them") {
    Noted noted[2];
    const Drained drained;
    Batch kept({.remembered = 1, .on_cpu = true});
    for (int i = 0; i < static_cast<int>(repetitions(3000, 200)); ++i) {
        Noted& on = noted[i % 3 == 0];
        ScopedBatch in(kept, on.s);
        on.enqueue(i);
        in.end();
        if (i % 7 == 0) kept.clear();
        if (i % 5 == 0) on.s.synchronize();
    }
    for (const Noted& one : noted) {
        one.s.synchronize();
        CHECK(one.found == one.expected);
    }
}
