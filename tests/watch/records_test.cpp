// The watch looks at records of streams at any time: also while they become other streams. What is
// plain memory there shows under ThreadSanitizer.
#include "watch/held.hpp"
#include "watch/progress.hpp"

using namespace heddle_test;

TEST_CASE("the watch looks while records of streams are used again", "[watch]") {
    const Drained drained;
    const Flag has_ended;
    std::thread opening([has_ended] {
        constexpr int more_than_are_kept = 1500;
        for (int i = 0; i < more_than_are_kept; ++i) {
            const Stream s = named("used again", -(i % 3));
            launch_host(s, [] {});
        }
        has_ended.set();
    });
    detail::Progress progress;
    while (!has_ended.is_set()) {
        progress.look(1'000'000);
        (void)what_is_pending();
    }
    opening.join();
    CHECK(StreamRef(named("last", -1)).priority() == -1);
}
