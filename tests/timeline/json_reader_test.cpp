#include "timeline/json_reader.hpp"

#include "catch.hpp"

#include <string>

using heddle_test::BadJson;
using heddle_test::Json;
using heddle_test::read_json;

TEST_CASE("the tests' JSON reader takes what is JSON", "[timeline]") {
    const Json json = read_json(R"( {"a": [1, -2.50e+3, true, null], "b\"": {}} )");
    CHECK(json["a"].items.size() == 4);
    CHECK(json["a"].items[0].whole() == 1);
    CHECK(json["a"].items[1].text == "-2.50e+3");
    CHECK(json.has("b\""));
    CHECK(read_json(R"("\u00e9\ud83e\uddf5\n/")").text == "\u00e9\U0001f9f5\n/");
    CHECK(read_json("\"\u00e9\U0001f9f5\"").text == "\u00e9\U0001f9f5");
}

TEST_CASE("the tests' JSON reader refuses what is none", "[timeline]") {
    for (const char* text : {"",
                             "{",
                             "[1,]",
                             "{\"a\":1,}",
                             "{\"a\":1,\"a\":2}",
                             "{a:1}",
                             "01",
                             "1.",
                             ".5",
                             "+1",
                             "1e",
                             "nul",
                             "\"a",
                             "\"\n\"",
                             "\"\\x\"",
                             "\"\\u12\"",
                             "\"\\udc80\"",
                             "\"\\ud800x\"",
                             "\"\xff\"",
                             "\"\xc0\xaf\"",
                             "\"\xed\xa0\x80\"",
                             "\"\xc3\"",
                             "1 2",
                             "[1 2]",
                             "{} x",
                             "NaN"}) {
        INFO(text);
        CHECK_THROWS_AS(read_json(text), BadJson);
    }
}
