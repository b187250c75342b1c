#include "json/json.hpp"

#include "catch.hpp"

#include <cstddef>
#include <limits>
#include <string_view>

using namespace heddle;

TEST_CASE("a JSON string escapes quotes, backslashes and control characters", "[json]") {
    CHECK(json::string("") == R"("")");
    CHECK(json::string(R"(a "b" \c)") == R"("a \"b\" \\c")");
    CHECK(json::string(std::string_view("\0\n\x1f\x7f", 4)) == R"("\u0000\u000a\u001f\u007f")");
}

TEST_CASE("a JSON string keeps UTF-8", "[json]") {
    CHECK(json::string("\u00b5s \u20ac \U0001f9f5") == "\"\u00b5s \u20ac \U0001f9f5\"");
}

TEST_CASE("a JSON string escapes each byte that is not UTF-8", "[json]") {
    CHECK(json::string("\xff") == R"("\udcff")");
    CHECK(json::string("\xc3") == R"("\udcc3")");                      // cut-off character
    CHECK(json::string("\xc0\xaf") == R"("\udcc0\udcaf")");            // longer than necessary
    CHECK(json::string("\xed\xa0\x80") == R"("\udced\udca0\udc80")");  // half of a surrogate pair
    CHECK(json::string("\xe2\x82x") == R"("\udce2\udc82x")");
}

TEST_CASE("a JSON number is the shortest that reads back", "[json]") {
    CHECK(json::number(0.1) == "0.1");
    CHECK(json::number(-3.0) == "-3");
    CHECK(json::number(1e300) == "1e+300");
    CHECK(json::number(std::size_t{18446744073709551615u}) == "18446744073709551615");
}

TEST_CASE("a JSON number has the decimals that were asked for", "[json]") {
    CHECK(json::number(0.00001, 6) == "0.000010");
    CHECK(json::number(std::numeric_limits<double>::max(), 0).size() == 309);
}

TEST_CASE("what JSON has no number for is null", "[json]") {
    CHECK(json::number(std::numeric_limits<double>::quiet_NaN()) == "null");
    CHECK(json::number(-std::numeric_limits<double>::infinity(), 3) == "null");
}

TEST_CASE("JSON arrays and objects keep the order of their parts", "[json]") {
    CHECK(json::array({}) == "[]");
    CHECK(json::array({"1", "2"}) == "[1, 2]");
    CHECK(json::array_of_lines({}) == "[]");
    CHECK(json::array_of_lines({"1", "2"}) == "[\n  1,\n  2\n]");
    CHECK(json::object({{"b", "1"}, {"a", json::array({})}}) == R"({"b": 1, "a": []})");
}
