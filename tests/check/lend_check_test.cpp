// Loans under the checker: findings about lent streams remain certain.
#include "check/checked.hpp"
#include "lend.hpp"

using namespace heddle_test;

TEST_CASE("check: loans that are ordered are not reported") {
    const Stream s(cpu_device()), t(cpu_device());
    Checked checked;
    Array<int> x = zeros<int>(s, 8);
    for (int i = 0; i < 3; ++i) {
        lend(s, [&] { enqueue_natively(s, [] {}); }, writes(x));
        t.wait_stream(s);
        lend(t, [&] { enqueue_natively(t, [] {}); }, reads(x));
        s.wait_stream(t);
    }
    s.synchronize();
    checked.expect_silence();
}

TEST_CASE("check: a missing order between two loans is certain") {
    const Stream s(cpu_device()), t(cpu_device());
    Checked checked;
    Array<int> x = zeros<int>(s, 8);
    t.wait_stream(s);
    lend(s, [&] { enqueue_natively(s, [] {}); }, writes(x));
    lend(t, [&] { enqueue_natively(t, [] {}); }, writes(x));
    const check::Race race = checked.expect(check::RaceKind::write_after_write);
    CHECK(race.text.find("native work in lend()") != std::string::npos);
    synchronize_device(cpu_device());
}

TEST_CASE("check: a stream that was lent leaves no doubt about later work") {
    const Stream s(cpu_device()), t(cpu_device());
    Checked checked;
    Array<int> x = zeros<int>(s, 8);
    t.wait_stream(s);
    lend(s, [&] { enqueue_natively(s, [] {}); });
    fill(s, x, 1);
    fill(t, x, 2);
    (void)checked.expect(check::RaceKind::write_after_write);
    synchronize_device(cpu_device());
}
