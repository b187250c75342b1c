// Reports of races in real programs suggest where to add a wait. They name streams, or describe
// them by another property that distinguishes them.
#include "check/checked_streams.hpp"

using namespace heddle_test;

// The nodes of a graph really race. A test can order the work of streams unseen by the checker, but
// not nodes.
#define HEDDLE_SKIP_IF_RACES_SHOW()                                                                \
    if (HEDDLE_TEST_TSAN != 0) HEDDLE_SKIP("the race is a data race, and reported as one")

namespace {

/// Returns the place of the line above the call, in the format of reports.
std::string line_above(Where where = {}) {
    const std::string file = where.file;
    return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(where.line - 1);
}

/// A function that is defined above its callers, and its line.
constexpr unsigned line_of_unpack = __LINE__ + 2;
void unpack(StreamRef stream, Array<int>& field) {
    fill(stream, field, 7);
    wait_unseen(stream);
}
const std::string at_unpack = "advice_device_test.cpp:" + std::to_string(line_of_unpack);

}  // namespace

TEST_CASE("device: a helper that stands above its caller is in no later round") {
    CheckedRun s;
    copy(s.a, s.y, s.x);
    const std::string first = line_above();
    wait_unseen(s.a);
    unpack(s.b, s.x);
    CHECK_THAT(only_text(s.checked),
               contains("Missing: after " + first + " and before " + at_unpack +
                        ", for example\n      b.wait_stream(a);"));
}

TEST_CASE("device: a helper that is called once more is reached again") {
    CheckedRun s;
    unpack(s.b, s.z);
    copy(s.a, s.y, s.x);
    const std::string first = line_above();
    wait_unseen(s.a);
    unpack(s.b, s.x);
    CHECK_THAT(only_text(s.checked), contains("Missing: after " + first + " and before " +
                                              at_unpack + " is reached again, for example\n"));
}

TEST_CASE("device: branches of a captured fork are not told to wait for each other") {
    HEDDLE_SKIP_IF_RACES_SHOW();
    CheckedRun s;
    const bool is_nested = GENERATE(false, true);
    std::string forked;
    Graph graph = capture(s.a, [&] {
        const auto race = [&] {
            const StreamRef base = current_stream();
            fork_join(base, [&] { fill(s.x, 1); }, [&] { fill(s.x.view().first(10), 2); });
            forked = line_above();
        };
        if (!is_nested) return race();
        fork_join([&] { fill(s.y, 1); }, race);
    });
    graph.launch(s.a);
    s.a.synchronize();
    const std::string text = only_text(s.checked);
    CHECK_THAT(text, contains("They are in two branches of the fork at " + forked + ", which"));
    CHECK_THAT(text, contains("Missing: enqueue both in one branch, or the second after the fork"));
    CHECK_THAT(text, !contains("wait_stream"));
    CHECK_THAT(text, !contains("stream stream"));
}

TEST_CASE("device: a fork whose place is not known is told without it") {
    CheckedRun s;
    const ScopedStream in(s.a);
    fork_join([&] { write(current_stream(), s.x); }, [&] { write(current_stream(), s.x); });
    const std::string text = only_text(s.checked);
    CHECK_THAT(text, contains("They are in two branches of a fork, which run at the same time.\n"));
    CHECK_THAT(text, contains("or the second after the fork\n"));
}

TEST_CASE("device: work of a captured branch and of its fork's inner one names the outer fork") {
    HEDDLE_SKIP_IF_RACES_SHOW();
    CheckedRun s;
    std::string outer;
    Graph graph = capture(s.a, [&] {
        const auto inner = [&] { fork_join([&] { fill(s.x, 1); }, [&] { fill(s.y, 1); }); };
        fork_join(s.a, [&] { fill(s.x, 2); }, inner);
        outer = line_above();
    });
    graph.launch(s.a);
    s.a.synchronize();
    CHECK_THAT(only_text(s.checked), contains("or the second after the fork of " + outer + "\n"));
}

TEST_CASE(
    "device: a stream that waits for a captured branch is told to wait, not to join the fork") {
    HEDDLE_SKIP_IF_RACES_SHOW();
    CheckedRun s;
    Graph graph = capture(s.a, [&] {
        s.b.wait_stream(s.a);
        fork_join([&] { fill(s.x, 1); }, [&] { fill(s.y, 1); });
        fill(s.b, s.x, 2);
        s.a.wait_stream(s.b);
    });
    graph.launch(s.a);
    s.a.synchronize();
    const std::string text = only_text(s.checked);
    CHECK_THAT(text, !contains("fork of"));
    CHECK_THAT(text, contains("a wait\n      of stream b for "));
}

TEST_CASE("device: of two nodes that write the one that was added first comes first") {
    HEDDLE_SKIP_IF_RACES_SHOW();
    CheckedRun s;
    auto second = fill_node(s.x, 3).name("second");
    const std::string at_second = line_above();
    auto first = fill_node(s.x.view().first(5), 2).name("first");
    const std::string at_first = line_above();
    Graph graph = build({first, second});
    graph.launch(s.a);
    s.a.synchronize();
    CHECK_THAT(only_text(s.checked), contains("after() on the fill node 'second' of " + at_second +
                                              " with the fill node 'first' of " + at_first));
}

TEST_CASE("device: a loop in a capture reaches its place again") {
    HEDDLE_SKIP_IF_RACES_SHOW();
    CheckedRun s;
    Graph graph = capture(s.a, [&] {
        s.b.wait_stream(s.a);
        for (int round = 0; round < 2; ++round) {
            copy(s.a, s.y, s.x);
            s.b.wait_stream(s.a);
            fill(s.b, s.x, round);
        }
        s.a.wait_stream(s.b);
    });
    graph.launch(s.a);
    s.a.synchronize();
    CHECK_THAT(only_text(s.checked), contains(" is reached again, for example\n      "
                                              "a.wait_stream(b);"));
}

TEST_CASE("device: streams without names are told by the places where they were made") {
    CheckedRun s;
    const Stream one(test_device());
    const std::string at_one = line_above();
    const Stream other(test_device());
    const std::string at_other = line_above();
    fill(one, s.x, 1);
    const std::string first = line_above();
    wait_unseen(one);
    fill(other, s.x, 2);
    const std::string second = line_above();
    wait_unseen(other);
    const std::string text = only_text(s.checked);
    const std::string number = "stream " + std::to_string(one.id()),
                      other_number = "stream " + std::to_string(other.id());
    CHECK_THAT(text, contains(" (made at " + at_one + "), enqueued at " + first));
    CHECK_THAT(text, contains("Missing: after " + first + " and before " + second +
                              ", a wait\n      of " + other_number + " (made at " + at_other +
                              ") for " + number + " (made at " + at_one + "), by wait_stream()\n"));
}

TEST_CASE("device: captured streams without names are told by the places where they were made") {
    HEDDLE_SKIP_IF_RACES_SHOW();
    CheckedRun s;
    const Stream one(test_device());
    const std::string at_one = line_above();
    Graph graph = capture(s.a, [&] {
        one.wait_stream(s.a);
        fill(one, s.x, 1);
        fill(s.a, s.x, 2);
        s.a.wait_stream(one);
    });
    graph.launch(s.a);
    s.a.synchronize();
    const std::string text = only_text(s.checked);
    const std::string number = "stream " + std::to_string(one.id());
    CHECK_THAT(text, contains("captured on " + number + " at "));
    CHECK_THAT(text, contains("a wait\n      of stream a for " + number + " (made at " + at_one +
                              "), by wait_stream()\n"));
}

TEST_CASE("device: the host is told to wait for a stream without a name in a sentence") {
    CheckedRun s;
    const Stream one(test_device());
    const std::string at_one = line_above();
    Array<int> fixed = pinned<int>(size);
    copy(one, fixed, s.x);
    wait_unseen(one);
    (void)on_host(fixed);
    CHECK_THAT(only_text(s.checked),
               contains("a wait\n      of the host for stream " + std::to_string(one.id()) +
                        " (made at " + at_one + "), by synchronize()\n"));
}
