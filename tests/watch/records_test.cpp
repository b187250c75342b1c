// The watch may read a stream's record at any time, even while the record is being reused for
// another stream. ThreadSanitizer would report members that should be atomic but are not.
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

TEST_CASE("streams that hand work to each other have no cause, however often one looks",
          "[watch]") {
    const Drained drained;
    const Flag is_enough;
    std::thread working([is_enough] {
        const Stream a = named("a"), b = named("b");
        while (!is_enough.is_set()) {
            launch_host(a, [] {});
            b.wait_stream(a);
            launch_host(b, [] {});
            a.wait_stream(b);
            a.synchronize();
            b.synchronize();
        }
    });
    constexpr int looks = 1500;
    std::vector<std::string> wrong;
    for (int i = 0; i < looks; ++i)
        for (const PendingCause& one : what_is_pending().causes)
            if (one.kind != CauseKind::operation_runs) wrong.push_back(one.text);
    is_enough.set();
    working.join();
    INFO((wrong.empty() ? "" : wrong.front()));
    CHECK(wrong.empty());
}
