#include "timeline/page/columns.hpp"

#include "catch.hpp"

#include <cstdint>
#include <limits>

#include <heddle/error.hpp>

using namespace heddle::detail;

namespace {

using Numbers = std::vector<std::int64_t>;

struct Written {
    std::string bytes;
    ColumnEntry entry;
};

Written written(const Numbers& values) {
    Written column;
    column.entry = append_column(column.bytes, values);
    return column;
}

/// Returns numbers of all sizes. They are the same in each run.
Numbers mixed_numbers(std::size_t count) {
    Numbers numbers;
    std::uint64_t random = 42;
    while (numbers.size() < count) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        numbers.push_back(static_cast<std::int64_t>(random) >> (random >> 7) % 64);
        if (random % 5 == 0) numbers.insert(numbers.end(), random % 9, numbers.back());
    }
    return numbers;
}

}  // namespace

TEST_CASE("a column reads back as it was written", "[timeline]") {
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    for (const Numbers& values :
         {Numbers{}, Numbers{0}, Numbers{least, most, 0, most, least}, Numbers(100'000, -7),
          Numbers{1, 2, 3, 4, 5, 6, 7, 8}, mixed_numbers(10'000)}) {
        const Written column = written(values);
        CHECK(column.bytes.size() == column.entry.bytes);
        CHECK(read_column(column.bytes, column.entry) == values);
    }
}

TEST_CASE("a column is read from the front of more bytes", "[timeline]") {
    std::string bytes;
    const ColumnEntry first = append_column(bytes, Numbers{1, 300});
    const ColumnEntry second = append_column(bytes, Numbers{-5});
    CHECK(read_column(bytes, first) == Numbers{1, 300});
    CHECK(read_column(std::string_view(bytes).substr(first.bytes), second) == Numbers{-5});
}

// The same columns as in page/columns.test.mjs.
TEST_CASE("a column is written in the shortest code", "[timeline]") {
    const auto check = [](const Numbers& values, ColumnCode code, std::string_view text) {
        const Written column = written(values);
        CHECK(column.entry.code == code);
        CHECK(base64(column.bytes) == text);
    };
    check({3, -2, 1, -1, 128, 16384, 0, 0}, ColumnCode::values, "BgMCAYACgIACAAA=");
    check({1000000, 1000302, 999927, 1000223}, ColumnCode::differences, "gIl63ATtBdAE");
    check({7, 7, 7, -1, -1}, ColumnCode::value_runs, "DgIBAQ==");
    check({5, 6, 7, 8, 9, 10, 11}, ColumnCode::difference_runs, "CgACBQ==");
}

TEST_CASE("a column says its least and greatest value", "[timeline]") {
    const Written column = written({4, -9, 12, 0});
    CHECK(column.entry.least == -9);
    CHECK(column.entry.most == 12);
    CHECK(written({}).entry.most == 0);
}

TEST_CASE("a million equal or counted values take a few bytes", "[timeline]") {
    Numbers counted(1'000'000);
    for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<std::int64_t>(i);
    CHECK(written(counted).bytes.size() < 10);
    CHECK(written(Numbers(1'000'000, 5)).bytes.size() < 10);
}

TEST_CASE("bytes that end inside a column are refused", "[timeline]") {
    const Written column = written(mixed_numbers(50));
    const std::string_view bytes = column.bytes;
    CHECK_THROWS(read_column(bytes.substr(0, bytes.size() - 1), column.entry));
    CHECK_THROWS(read_column({}, column.entry));
    CHECK_THROWS(read_column(std::string(20, '\xff'), {.count = 1}));
}

TEST_CASE("runs that are longer than their column are refused", "[timeline]") {
    Numbers values(50, 7);
    values.resize(100, 8);
    const Written column = written(values);
    ColumnEntry shorter = column.entry;
    for (shorter.count = 51; shorter.count < 100; ++shorter.count)
        CHECK_THROWS(read_column(column.bytes, shorter));
}

TEST_CASE("base64 pads to four digits", "[timeline]") {
    CHECK(base64("") == "");
    CHECK(base64(std::string_view("\0", 1)) == "AA==");
    CHECK(base64("\xff\xfe") == "//4=");
    CHECK(base64("Man") == "TWFu");
    CHECK(base64("Many") == "TWFueQ==");
}
