#include "timeline/page/escape.hpp"

#include "catch.hpp"
#include "core/base/utf8.hpp"

using namespace heddle::detail;

namespace {

std::string xml(std::string_view text) {
    std::string out;
    append_xml(out, text);
    return out;
}
std::string json(std::string_view text) {
    std::string out;
    append_json(out, text);
    return out;
}

}  // namespace

TEST_CASE("text is escaped for XML", "[timeline]") {
    CHECK(xml("a<b> & \"c\" 'd'") == "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
    CHECK(xml("\u00b5s \u20ac \U0001f9f5") == "\u00b5s \u20ac \U0001f9f5");
}

TEST_CASE("what XML cannot hold is replaced", "[timeline]") {
    CHECK(xml(std::string_view("a\0b\x1b\x7f", 5)) == "a\ufffd"
                                                      "b\ufffd\ufffd");
    CHECK(xml("a\tb\nc") == "a b c");
    CHECK(xml("\xef\xbf\xbf") == "\ufffd");
}

TEST_CASE("bytes that are not UTF-8 are replaced one by one", "[timeline]") {
    for (const std::string_view bad : {"\xff", "\xc3", "\x80", "\xf5"}) {
        CHECK(xml(bad) == "\ufffd");
        CHECK(json(bad) == "\"\ufffd\"");
    }
    CHECK(xml("\xc0\xaf") == "\ufffd\ufffd");                      // a longer form than necessary
    CHECK(xml("\xe0\x80\x80") == "\ufffd\ufffd\ufffd");            // a longer form than necessary
    CHECK(xml("\xed\xa0\x80") == "\ufffd\ufffd\ufffd");            // half of a surrogate pair
    CHECK(xml("\xf4\x90\x80\x80") == "\ufffd\ufffd\ufffd\ufffd");  // above U+10FFFF
    CHECK(xml("\xe2\x82x") == "\ufffd\ufffdx");                    // a character that is cut off
}

TEST_CASE("a JSON string can stand in a script of a page", "[timeline]") {
    CHECK(json("</script><!--") == R"("\u003c/script>\u003c!--")");
    CHECK(json(R"(a "b" \c)") == R"("a \"b\" \\c")");
    CHECK(json(std::string_view("\0\n\x1f\x7f", 4)) == R"("\u0000\u000a\u001f\u007f")");
}

TEST_CASE("a text is shortened to so many characters, not bytes", "[timeline]") {
    CHECK(shortened("Hash", 4) == "Hash");
    CHECK(shortened("Hashes", 4) == "Has\u2026");
    CHECK(shortened("\u20ac\u20ac\u20ac", 2) == "\u20ac\u2026");
    CHECK(shortened("Hash", 1) == "\u2026");
    CHECK(shortened("Hash", 0).empty());
}
