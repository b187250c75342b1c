#include "timeline/file/trace_columns.hpp"

#include "catch.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "random.hpp"

using namespace heddle::detail;

namespace {

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
const std::vector<std::uint64_t> corners = {
    0, 1, 2, 0x7f, 0x80, 1 << 14, largest / 2, 1 + largest / 2, largest - 1, largest};

/// Returns a table with a full column and one other column.
std::string table_of(const std::vector<std::uint64_t>& values) {
    TableWriter table;
    for (const std::uint64_t value : values)
        table.begin_row(), table.number(1u), table.number(value);
    return table.bytes();
}

std::vector<std::uint64_t> values_of(std::string_view bytes) {
    TableReader table(bytes);
    std::vector<std::uint64_t> values(table.rows());
    for (std::uint64_t& value : values) {
        unsigned one = 0;
        table.begin_row(), table.number(one), table.number(value);
    }
    table.finish();
    return values;
}

}  // namespace

TEST_CASE("a column gives back any numbers", "[timeline]") {
    CHECK(values_of(table_of({})).empty());
    CHECK(values_of(table_of(corners)) == corners);
    heddle_test::Random random(1);
    for (int round = 0; round < 100; ++round) {
        std::vector<std::uint64_t> values(random.below(100));
        for (std::uint64_t& value : values)
            value = random.below(3) != 0 ? 0 : random.below(largest) >> random.below(64);
        CHECK(values_of(table_of(values)) == values);
    }
}

TEST_CASE("a column of zeros costs a few bytes", "[timeline]") {
    std::vector<std::uint64_t> values(100'000);
    const std::size_t without = table_of(values).size();
    CHECK(without < values.size() + 10);  // bytes of the full column
    values.back() = 7;
    CHECK(table_of(values).size() == without + 6);
    CHECK(values_of(table_of(values)) == values);
}

TEST_CASE("a prediction has no effect on what is read back", "[timeline]") {
    for (const std::uint64_t value : corners)
        for (const std::uint64_t none : corners)
            for (const std::uint64_t predicted : corners) {
                CHECK(predicted + undo_zigzag(zigzag(value - predicted)) == value);
                const std::uint64_t code = code_unless(value, none, predicted);
                CHECK((code == 0) == (value == none));
                CHECK(undo_code_unless(code, none, predicted) == value);
            }
}

TEST_CASE("a number that its field cannot hold is refused", "[timeline]") {
    CHECK(from_bits<std::uint8_t>(255) == 255);
    CHECK_THROWS_AS(from_bits<std::uint8_t>(256), BadTrace);
    CHECK(from_bits<int>(to_bits(-1)) == -1);
    CHECK_THROWS_AS(from_bits<int>(1u << 31), BadTrace);
    CHECK(from_bits<bool>(1));
    CHECK_THROWS_AS(from_bits<bool>(2), BadTrace);
    CHECK(from_bits<heddle::OpKind>(3) == heddle::OpKind::copy);
    CHECK_THROWS_AS(from_bits<heddle::OpKind>(259), BadTrace);
}

TEST_CASE("a table has no more rows than bytes", "[timeline]") {
    std::string claims;
    put_varint(claims, std::uint64_t{1} << 40);
    CHECK_THROWS_AS(TableReader(claims), BadTrace);                   // the columns are missing
    CHECK_THROWS_AS(TableReader(claims + "\x02\x01\x01"), BadTrace);  // has only two rows
}

TEST_CASE("a table with rows left over is refused", "[timeline]") {
    std::string bytes = table_of({1, 2, 3});
    bytes.front() = 2;
    CHECK_THROWS_AS(values_of(bytes), BadTrace);
}

TEST_CASE("columns of a newer version are ignored", "[timeline]") {
    TableWriter table;
    for (const unsigned value : {4u, 5u})
        table.begin_row(), table.number(1u), table.number(value), table.number(99u);
    CHECK(values_of(table.bytes()) == std::vector<std::uint64_t>{4, 5});
}

TEST_CASE("columns that an older version lacks are zeros", "[timeline]") {
    TableWriter table;
    for (int row = 0; row < 2; ++row) table.begin_row(), table.number(1u);
    CHECK(values_of(table.bytes()) == std::vector<std::uint64_t>{0, 0});
}

TEST_CASE("a varint that is cut off or too long is refused", "[timeline]") {
    for (const std::string_view bytes :
         {std::string_view(""), std::string_view("\x80"), std::string_view("\xff\xff"),
          std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
          std::string_view("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01")}) {
        std::string_view rest = bytes;
        CHECK_THROWS_AS(take_varint(rest), BadTrace);
    }
}
