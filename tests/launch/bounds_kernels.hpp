// Kernels and helpers for tests of checked indices. For files compiled with HEDDLE_BOUNDS=1.
#pragma once

#include "support.hpp"

#include <heddle/memory/bounds.hpp>

#include <optional>
#include <string_view>

namespace heddle_test {

/// Reads element i + distance.
struct ReadAt {
    HEDDLE_FN void operator()(std::size_t i, View<const int> from, View<int> to,
                              std::size_t distance) const {
        to[i] = from[i + distance];
    }
};
/// Writes element i + distance.
struct WriteAt {
    HEDDLE_FN void operator()(std::size_t i, View<int> to, std::size_t distance) const {
        to[i + distance] = static_cast<int>(i);
    }
};
struct WriteHeld {
    View<int> first, to;
    HEDDLE_FN void operator()(std::size_t i) const { to[i] = 1; }
};
struct Two {
    View<int> a, b;
};
struct WriteInClass {
    HEDDLE_FN void operator()(std::size_t i, int, Two two) const { two.b[i] = 2; }
};
struct WriteRow {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, View2D<int> to) const { to(y, x) = 1; }
};
struct ReadRow {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, View2D<const int> from,
                              View2D<int> to) const {
        to(y, x) = from(y, x);
    }
};
struct WriteCube {
    HEDDLE_FN void operator()(std::size_t x, std::size_t y, std::size_t z, View<int> to) const {
        to[(z * 4 + y) * 4 + x] = 1;
    }
};
/// Assigns to the dummy element through a bad index, and then writes the right element.
struct GoOn {
    HEDDLE_FN void operator()(std::size_t i, View<int> to) const {
        int& wrong = to[to.size() + i];
        wrong = 5;
        to[i] = 7;
    }
};
/// Elements with an unusual size and alignment.
struct alignas(32) Wide {
    int value[40];
};
struct WriteWide {
    HEDDLE_FN void operator()(std::size_t i, View<Wide> to) const { to[i + 1].value[39] = 1; }
};

/// Returns the failure of the stream's work. Clears it.
inline std::optional<WorkFailed> failure_of(StreamRef s) {
    try {
        s.synchronize();
    } catch (const WorkFailed& failed) {
        s.clear_error();
        return failed;
    }
    return std::nullopt;
}
/// Returns the index that the failure reports, or null.
inline std::optional<IndexOutOfRange> index_of(const std::optional<WorkFailed>& failed) {
    if (!failed || failed->cause() == nullptr) return std::nullopt;
    try {
        std::rethrow_exception(failed->cause());
    } catch (const IndexOutOfRange& bad) {
        return bad;
    } catch (...) {
        return std::nullopt;
    }
}
inline bool has(const WorkFailed& failed, std::string_view text) {
    return std::string_view(failed.what()).find(text) != std::string_view::npos;
}

/// Requires that the work enqueued on `s` fails at this index and size, in this argument.
inline IndexOutOfRange require_bad(StreamRef s, std::size_t index, std::size_t size, int argument) {
    const std::optional<WorkFailed> failed = failure_of(s);
    REQUIRE(failed);
    INFO(failed->what());
    const std::optional<IndexOutOfRange> bad = index_of(failed);
    REQUIRE(bad);
    CHECK(bad->index() == index);
    CHECK(bad->size() == size);
    CHECK(bad->argument() == argument);
    return *bad;
}

}  // namespace heddle_test
