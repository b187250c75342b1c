// heddle::check and HEDDLE_CHECK on streams of the device under test.
#include "check/checked_streams.hpp"
#include "child.hpp"

using namespace heddle_test;

TEST_CASE("on_race_gets_data") {
    const Drained drained;
    const Stream a({.name = "halo"}), b({.name = "main"});
    Array<int> x = zeros<int>(a, size);
    a.synchronize();
    Checked checked;
    launch(a, Add{}, dim(size), x, 1);
    const unsigned line = __LINE__ - 1;
    wait_unseen(a);
    launch(b, Add{}, dim(size), x, 1);
    const check::Summary found = checked.end();
    CHECK(found.certain == 1);
    CHECK(found.possible == 0);
    CHECK(found.operations >= 2);
    REQUIRE(checked.races().size() == 1);
    const check::Race race = checked.races().front();
    CHECK(race.kind == check::RaceKind::write_after_write);
    CHECK(race.certain);
    CHECK(race.first.where.line == line);
    CHECK(race.second.where.line == line + 3);
    CHECK_THAT(race.first.where.file, contains("check_test.cpp"));
    CHECK_THAT(race.first.stream, contains("halo of "));
    CHECK(race.first.argument == 0);
    CHECK(race.data == x.data());
    CHECK(race.bytes == size * sizeof(int));
    CHECK_THAT(race.text, contains("main.wait_stream(halo);"));
    a.synchronize();
    b.synchronize();
}

TEST_CASE("the event that nobody waited for is named") {
    const Drained drained;
    const Stream a({.name = "halo"}), b({.name = "main"});
    Array<int> x = zeros<int>(a, size);
    const Event early = a.record_event();
    Checked checked;
    launch(a, Add{}, dim(size), x, 1);
    const Event done = a.record_event();
    const unsigned line = __LINE__ - 1;
    const Event late = a.record_event();
    b.wait_event(early);
    wait_unseen(a);
    launch(b, Add{}, dim(size), x, 1);
    checked.end();
    REQUIRE(checked.races().size() == 1);
    CHECK_THAT(checked.races().front().text,
               contains("wait_event() of main for the event that check_test.cpp:" +
                        std::to_string(line) + " records"));
    a.synchronize();
    b.synchronize();
}

TEST_CASE("one missing wait that shows in several places is asked for once") {
    const Drained drained;
    const Stream a({.name = "halo"}), b({.name = "main"});
    Array<int> x = zeros<int>(a, size), y = zeros<int>(a, size);
    a.synchronize();
    Checked checked;
    launch(a, Add{}, dim(size), x, 1);
    launch(a, Add{}, dim(size), y, 1);
    wait_unseen(a);
    launch(b, Add{}, dim(size), x, 1);
    const unsigned line = __LINE__ - 1;
    launch(b, Add{}, dim(size), y, 1);
    wait_unseen(b);
    launch(a, Add{}, dim(size), x, 1);  // the opposite direction needs another wait
    wait_unseen(a);
    launch(b, Add{}, dim(size), x, 1);  // a use after that operation needs another wait, too
    checked.end();
    const std::string before = "check_test.cpp:" + std::to_string(line) + " (reported already)";
    REQUIRE(checked.races().size() == 4);
    for (const std::size_t i : {0u, 2u, 3u}) {
        INFO(checked.races()[i].text);
        CHECK_THAT(checked.races()[i].text, !contains("reported already"));
    }
    CHECK_THAT(checked.races()[1].text, contains(before));
    a.synchronize();
    b.synchronize();
}

TEST_CASE("a program whose streams wait is silent") {
    const Drained drained;
    const Stream a, b;
    Checked checked({.strict = true});
    Array<int> x = zeros<int>(a, size);
    launch(a, Add{}, dim(size), x, 1);
    b.wait_stream(a);
    launch(b, Add{}, dim(size), x, 1);
    const Event done = b.record_event();
    a.wait_event(done);
    launch(a, Add{}, dim(size), x, 1);
    const std::vector<int> back = to_host(a, x);
    CHECK(back[0] == 3);
    a.synchronize();
    x.reset();
    const check::Summary found = checked.end();
    for (const check::Race& race : checked.races()) UNSCOPED_INFO(race.text);
    CHECK(found.certain == 0);
    CHECK(found.possible == 0);
    CHECK(found.faults == 0);
}

TEST_CASE("same_pair_is_counted_not_repeated") {
    const Drained drained;
    const Stream a, b;
    Array<int> x = zeros<int>(a, size);
    synchronize();
    Checked checked;
    for (int i = 0; i < 5; ++i) {
        launch(a, Add{}, dim(size), x, 1);
        wait_unseen(a);
        launch(b, Add{}, dim(size), x, 1);
        wait_unseen(b);
    }
    synchronize();
    CHECK(checked.end().certain <= 2);  // one race for each order of the two launches
}

TEST_CASE("what is enqueued within ScopedOff accesses nothing, and orders as always") {
    const Drained drained;
    const Stream a, b;
    Array<int> x = zeros<int>(a, size), y = zeros<int>(a, size);
    synchronize();
    Checked checked;
    {
        const check::ScopedOff off;
        launch(a, Add{}, dim(size), x, 1);
        wait_unseen(a);
    }
    launch(b, Add{}, dim(size), x, 1);
    launch(a, Add{}, dim(size), y, 1);
    {
        const check::ScopedOff off;
        b.wait_stream(a);
    }
    launch(b, Add{}, dim(size), y, 1);
    synchronize();
    CHECK(checked.end().certain == 0);
}

TEST_CASE("synchronized() counts as a host wait") {
    const Drained drained;
    const Stream a, b;
    Array<int> x = zeros<int>(a, size);
    synchronize();
    Checked checked;
    launch(a, Add{}, dim(size), x, 1);
    wait_unseen(a);
    check::synchronized(a);
    launch(b, Add{}, dim(size), x, 1);
    wait_unseen(b);
    check::synchronized(test_device());
    launch(a, Add{}, dim(size), x, 1);
    CHECK(checked.end().certain == 0);
    synchronize();
}

TEST_CASE("stopped_and_started") {
    const Drained drained;
    const Stream a, b;
    Array<int> x = zeros<int>(a, size);
    synchronize();
    CHECK(check::stop().operations == 0);
    {
        Checked checked;
        CHECK_THROWS_AS(check::start(), UsageError);
        launch(a, Add{}, dim(size), x, 1);
        wait_unseen(a);
        CHECK(check::summary().operations == 1);
    }
    launch(b, Add{}, dim(size), x, 1);
    wait_unseen(b);
    Checked again;
    launch(a, Add{}, dim(size), x, 1);  // operations before the check are unknown to it
    CHECK(again.end().certain == 0);
    synchronize();
}

TEST_CASE("child: enqueues a race", "[.child]") {
    const Stream a, b;
    Array<int> x = zeros<int>(a, size);
    a.synchronize();
    launch(a, Add{}, dim(size), x, 1);
    wait_unseen(a);
    launch(b, Add{}, dim(size), x, 1);
    std::printf("after the race\n");
    std::fflush(stdout);
    a.synchronize();
    b.synchronize();
}

TEST_CASE("HEDDLE_CHECK prints races and a summary, and leaves the exit status") {
    const ChildResult child = run_test_case("child: enqueues a race", {"HEDDLE_CHECK=1"});
    INFO(child.output);
    CHECK(child.status == 0);
    CHECK_THAT(child.output, contains("heddle check: RACE (write after write)"));
    CHECK_THAT(child.output, contains("heddle check: 1 race, 0 possible"));
}

TEST_CASE("exit_status_66") {
    const ChildResult child = run_test_case("child: enqueues a race", {"HEDDLE_CHECK=strict,exit"});
    INFO(child.output);
    CHECK(child.status == 66);
    CHECK_THAT(child.output, contains("after the race"));
}

TEST_CASE("abort_stops_at_the_call") {
    const ChildResult child = run_test_case("child: enqueues a race", {"HEDDLE_CHECK=abort"});
    INFO(child.output);
    CHECK(child.status != 0);
    CHECK_THAT(child.output, contains("heddle check: RACE"));
    CHECK(child.output.find("after the race") == std::string::npos);
}

TEST_CASE("HEDDLE_CHECK refuses what it does not know, and checks nothing") {
    const ChildResult child = run_test_case("child: enqueues a race", {"HEDDLE_CHECK=loud"});
    INFO(child.output);
    CHECK(child.status == 0);
    CHECK_THAT(
        child.output,
        contains(
            "'loud' is not an option of HEDDLE_CHECK: write 0, 1, or words from strict, abort"));
    CHECK(child.output.find("RACE") == std::string::npos);
}

TEST_CASE("a wrong HEDDLE_CHECK that asks for a status ends the program with it") {
    const ChildResult child = run_test_case("child: enqueues a race", {"HEDDLE_CHECK=exit,loud"});
    INFO(child.output);
    CHECK(child.status == 66);
    CHECK_THAT(
        child.output,
        contains(
            "'loud' is not an option of HEDDLE_CHECK: write 0, 1, or words from strict, abort"));
    CHECK(child.output.find("after the race") == std::string::npos);
}

TEST_CASE("HEDDLE_CHECK's words may have spaces around them") {
    const ChildResult child = run_test_case("child: enqueues a race", {"HEDDLE_CHECK= 1 , exit"});
    INFO(child.output);
    CHECK(child.status == 66);
    CHECK_THAT(child.output, contains("heddle check: 1 race"));
}

TEST_CASE("child: enqueues what is in order", "[.child]") {
    const Stream a;
    Array<int> x = zeros<int>(a, size);
    launch(a, Add{}, dim(size), x, 1);
    a.synchronize();
}

TEST_CASE("HEDDLE_CHECK=summary says so if there is nothing to say, and else it is silent") {
    for (const bool sums_up : {false, true}) {
        const ChildResult child =
            run_test_case("child: enqueues what is in order",
                          {sums_up ? "HEDDLE_CHECK=summary,exit" : "HEDDLE_CHECK=1,exit"});
        INFO(child.output);
        CHECK(child.status == 0);
        const std::string text = "heddle check: 0 races, 0 possible; ";
        CHECK((child.output.find(text) != std::string::npos) == sums_up);
    }
}

TEST_CASE("HEDDLE_CHECK=0 checks nothing") {
    const ChildResult child = run_test_case("child: enqueues a race", {"HEDDLE_CHECK=0"});
    CHECK(child.status == 0);
    CHECK(child.output.find("heddle check") == std::string::npos);
}
