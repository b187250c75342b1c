#include <heddle/memory/range.hpp>

#include "support.hpp"

using heddle::MemoryRange;

namespace {

MemoryRange at(std::uintptr_t address, std::size_t bytes, std::size_t rows = 1,
               std::size_t pitch = 0) {
    return {reinterpret_cast<const void*>(address), bytes, rows, pitch};
}

}  // namespace

TEST_CASE("a range extends from its first row to the end of its last one") {
    CHECK(at(100, 8).extent() == 8);
    CHECK(at(100, 8).end() == 108);
    CHECK(at(100, 8, 3, 20).extent() == 48);
    CHECK(at(100, 8, 3, 20).total() == 24);
    CHECK(at(100, 8, 0, 20).extent() == 0);
    CHECK(at(100, 8, 1, 20).extent() == 8);
}

TEST_CASE("ranges overlap if neither ends before the other begins") {
    CHECK(at(100, 8).overlaps(at(107, 1)));
    CHECK_FALSE(at(100, 8).overlaps(at(108, 8)));
    CHECK_FALSE(at(108, 8).overlaps(at(100, 8)));
    CHECK(at(100, 8, 3, 20).overlaps(at(110, 4)));  // the bytes lie between two rows
    CHECK_FALSE(at(100, 8, 3, 20).overlaps(at(148, 4)));
}

TEST_CASE("rows without gaps are not strided, and one row never is") {
    CHECK(at(100, 8, 3, 20).is_strided());
    CHECK_FALSE(at(100, 8, 3, 8).is_strided());
    CHECK_FALSE(at(100, 8, 1, 20).is_strided());
}

TEST_CASE("a part of one row is bytes of it, and of several rows it is rows") {
    CHECK(at(100, 8).part(2, 3) == at(102, 3, 1, 3));
    CHECK(at(100, 8, 3, 20).part(1, 2) == at(120, 8, 2, 20));
    CHECK(at(100, 8, 3, 20).part(2, 1) == at(140, 8, 1, 8));
}
