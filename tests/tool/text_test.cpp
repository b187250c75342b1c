#include "text.hpp"

#include "catch.hpp"

#include <chrono>
#include <sstream>  // Catch2 prints durations

using namespace heddle::tool;
using namespace std::chrono_literals;

TEST_CASE("a time is read with its unit, exactly", "[text]") {
    CHECK(parse_time("0ns") == 0ns);
    CHECK(parse_time("800ns") == 800ns);
    CHECK(parse_time("250us") == 250us);
    CHECK(parse_time("250\u00b5s") == 250us);
    CHECK(parse_time("12.5ms") == 12500us);
    CHECK(parse_time("1.000000001s") == 1000000001ns);
    CHECK(parse_time("0.1s") == 100ms);
    CHECK(parse_time("31556952s") == 31556952s);
}

TEST_CASE("what is no time is refused", "[text]") {
    for (const char* text :
         {"", "10", "ms", "10 ms", "10m", "10msx", "1.ms", ".5ms", "1.-5ms", "-1ms", "+1ms",
          "1e3ms", "0x1ms", "31556953s", "99999999999999999999s", "1.99999999999999999999s"}) {
        INFO(text);
        CHECK(!parse_time(text));
    }
}
