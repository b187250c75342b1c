// Reports of races in real programs: the two operations, their places, and the missing order.

#include <heddle/graph/conditional_nodes.hpp>

#include "check/checked_streams.hpp"
#include "child.hpp"

using namespace heddle_test;
using check::RaceKind;

namespace {

/// Returns the place `lines` lines above the call, in the format of reports.
std::string line_above(unsigned lines = 1, Where where = {}) {
    const std::string file = where.file;
    return file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(where.line - lines);
}

template <class T> struct Twice {
    HEDDLE_FN void operator()(std::size_t i, View<T> x) const { x[i] *= 2; }
};

}  // namespace

TEST_CASE("device: a report of a graph's part names the stream of its launch and the node") {
    CheckedRun s;
    Event event(s.a.device());
    auto write_node = fill_node(s.x, 1).name("first fill");
    const std::string made = line_above();
    auto record = record_node(event);
    write_node.after(record);
    GraphNode(write_node).build().launch(s.a);
    const std::string launched = line_above();
    wait_unseen(s.a);
    s.b.wait_event(event);
    read(s.b, s.x, s.y);
    const std::string text = only_text(s.checked);
    CHECK_THAT(text, !contains("stream 9223372036854775"));
    CHECK_THAT(text, contains("graph launch on stream a of "));
    CHECK_THAT(text, contains("enqueued at " + launched));
    CHECK_THAT(text, contains("its fill node 'first fill', made at " + made + ", writes it\n"));
    CHECK_THAT(text, contains("b.wait_stream(a);"));
}

TEST_CASE("device: an edge for a node of a body is the conditional node's") {
    CheckedStreams s;
    Array<int> value = zeros<int>(s.a, 1);
    synchronize();
    Checked checked;
    const Graph body = fill_node(s.x, 1).build();
    auto choice = if_node(value, body);
    const std::string at_choice = line_above();
    auto other = fill_node(s.x, 2);
    const std::string at_other = line_above();
    Graph graph = build({choice, other});
    graph.launch(s.a);
    s.a.synchronize();
    const std::string text = only_text(checked);
    CHECK_THAT(text,
               contains("Missing: an edge between the nodes of the same graph that contain them"));
    CHECK_THAT(text, contains("node 'fill 1' of " + at_other +
                              " with the node 'conditional 0' of " + at_choice + "\n"));
}

TEST_CASE("device: an edge for a node of a child graph is the child graph's") {
    CheckedRun s;
    const bool is_nested = GENERATE(false, true);
    Graph inner = fill_node(s.x, 1).build();
    if (is_nested) inner = child_node(inner).build();
    auto child = child_node(inner).name("part");
    const std::string at_child = line_above();
    auto other = fill_node(s.x, 2);
    const std::string at_other = line_above();
    Graph graph = build({child, other});
    graph = graph.clone();
    graph.launch(s.a);
    s.a.synchronize();
    const std::string text = only_text(s.checked);
    CHECK_THAT(text, contains(" of " + at_other + " with the node 'part' of " + at_child));
}

TEST_CASE("device: captured nodes are ordered by a wait between the streams") {
    CheckedRun s;
    std::string first, second;
    Graph graph = capture(s.a, [&] {
        s.b.wait_stream(s.a);
        fill(s.b, s.x, 1);
        first = line_above();
        copy(s.a, s.y, s.x);
        second = line_above();
        s.a.wait_stream(s.b);
    });
    graph.launch(s.a);
    s.a.synchronize();
    const std::string text = only_text(s.checked);
    CHECK_THAT(text, contains("captured on stream b at " + first));
    CHECK_THAT(text, contains("captured on stream a at " + second));
    CHECK_THAT(text, contains("Missing: after " + first + " and before " + second +
                              ", for example\n      a.wait_stream(b);"));
    CHECK_THAT(text, !contains("after()"));
}

TEST_CASE("report_says_scope_without_wait") {
    CheckedStreams s;
    const ScopedStream outer(s.a);
    Checked checked;
    std::string place;
    write(current_stream(), s.x);
    SECTION("a scope") {
        const ScopedStream inner(s.b, {.wait_on_enter = false});
        place = line_above();
        write(current_stream(), s.x);
        const std::string text = only_text(checked);
        CHECK_THAT(text, contains("ScopedStream at " + place +
                                  " made 'b' current without a wait "
                                  "for 'a': wait_on_enter = false."));
        CHECK_THAT(text, contains("b.wait_stream(a);"));
        CHECK_THAT(text, contains("or remove wait_on_enter = false at " + place + "\n"));
    }
    SECTION("set_stream()") {
        set_stream(s.b, {.wait = false});
        place = line_above();
        write(current_stream(), s.x);
        CHECK_THAT(only_text(checked), contains("or remove wait = false at " + place + "\n"));
    }
    SECTION("a scope that would have waited too early") {
        const ScopedStream inner(s.b, {.wait_on_enter = false});
        s.b.wait_stream(s.a);
        write(s.a, s.y);
        write(current_stream(), s.y);
        CHECK_THAT(only_text(checked), !contains("wait_on_enter"));
    }
}

TEST_CASE("device: an event that a graph waits for was recorded too early") {
    CheckedRun s;
    Event event(s.a.device());
    event.record(s.a);
    const std::string recorded = line_above();
    fill(s.a, s.x, 1);
    const std::string filled = line_above();
    wait_unseen(s.a);
    auto wait = wait_node(event);
    const std::string waited = line_above();
    GraphNode(fill_node(s.x, 2).after(wait)).build().launch(s.b);
    wait_unseen(s.b);
    CHECK_THAT(only_text(s.checked),
               contains("The wait at " + waited + " is too early: its event was recorded at " +
                        recorded + ", before the work at " + filled + " was enqueued"));
}

TEST_CASE("device: reports of rows and columns say which") {
    CheckedRun s;
    Array<int> x = zeros<int>(s.a, size);
    s.a.synchronize();
    const auto columns = [&](std::size_t first, std::size_t count) {
        return View2D<int>(x.view().subview(16 + first, size - 16 - first), 4, count, 8);
    };
    const bool is_flat = GENERATE(false, true);
    copy_2d(s.a, columns(0, 4), View2D<int>(s.y.view(), 4, 4, 8));
    wait_unseen(s.a);
    if (is_flat) fill(s.b, x.view().subview(24, 8), 1);
    else copy_2d(s.b, columns(3, 4), View2D<int>(s.z.view(), 4, 4, 8));
    wait_unseen(s.b);
    const std::string text = only_text(s.checked);
    if (is_flat) CHECK_THAT(text, contains("in common: bytes [96, 112) of the array"));
    else
        CHECK_THAT(text, contains("in common: bytes [12, 16) of each of the rows [2, 6), 32 bytes "
                                  "apart, of the array"));
}

TEST_CASE("device: a wide fill against columns, later, and the other way round") {
    const bool is_fill_first = GENERATE(false, true);
    CheckedRun s;
    Array<int> x = zeros<int>(s.a, size);
    s.a.synchronize();
    const auto copy_columns = [&] {
        copy_2d(s.b, View2D<int>(x.view().subview(2, size - 2), 8, 3, 8),
                View2D<int>(s.z.view(), 8, 3, 8));
        wait_unseen(s.b);
    };
    if (!is_fill_first) copy_columns();
    fill(s.a, x, 1);
    wait_unseen(s.a);
    if (is_fill_first) copy_columns();
    CHECK_THAT(only_text(s.checked),
               contains("in common: bytes [8, 20) of each of the rows [0, 8), "
                        "32 bytes apart, of the array"));
}

TEST_CASE("device: branches of a fork are not told to wait for each other") {
    CheckedRun s;
    fork_join(s.a, [&] { write(current_stream(), s.x); }, [&] { write(current_stream(), s.x); });
    const std::string text = only_text(s.checked);
    CHECK_THAT(text, contains("They are in two branches of the fork at reports_device_test.cpp"));
    CHECK_THAT(text, contains("Missing: enqueue both in one branch, or the second after the fork"));
    CHECK_THAT(text, !contains("wait_stream"));
}

TEST_CASE("device: two calls on one line are two places") {
    CheckedRun s;
    // clang-format off
    fill(s.a, s.x, 1); wait_unseen(s.a); fill(s.b, s.x, 2);
    // clang-format on
    const std::string place = line_above(2);
    wait_unseen(s.b);
    (void)s.checked.end();
    REQUIRE(s.checked.races().size() == 1);
    const check::Race race = s.checked.races()[0];
    CHECK_THAT(race.text, !contains("again"));
    CHECK(race.first.where.column < race.second.where.column);
    CHECK_THAT(race.text,
               contains("and before " + place + ":" + std::to_string(race.second.where.column)));
}

TEST_CASE("device: the same call again is told as one that is reached again") {
    CheckedRun s;
    for (const Stream* stream : {&s.a, &s.b}) {
        fill(*stream, s.x, 1);
        wait_unseen(*stream);
    }
    CHECK_THAT(only_text(s.checked), contains(" is reached again, for example\n"));
}

TEST_CASE("device: kernels of collectives are named by what they do") {
    if (test_devices().size() < 2) HEDDLE_SKIP("needs two devices");
    CheckedStreams s;
    DeviceGroup group({test_devices()[0], test_devices()[1]});
    const Stream other(test_devices()[1]);
    Array<float> x = zeros<float>(s.a, size), y = zeros<float>(other, size);
    synchronize();
    Checked checked({.strict = true});
    fill(s.b, x, 1.0f);
    wait_unseen(s.b);
    group.all_reduce(ReduceOp::sum, std::vector<View<const float>>{x, y},
                     std::vector<View<float>>{x, y});
    for (const Device one : {test_devices()[0], test_devices()[1]})
        current_stream(one).synchronize();
    (void)checked.end();
    REQUIRE_FALSE(checked.races().empty());
    std::string all;
    for (const check::Race& race : checked.races()) all += race.text;
    CHECK_THAT(all,
               contains("of a collective") || contains("collective '"));  // the second is for NCCL
    CHECK_THAT(all, !contains("detail::"));
}

TEST_CASE("names_with_templates_and_lambdas") {
    CheckedRun s;
    launch(s.a, Twice<int>{}, dim(size), s.x);
    wait_unseen(s.a);
    launch(s.b, [] HEDDLE_FN(std::size_t i, View<int> x) { x[i] = 3; }, dim(size), s.x);
    wait_unseen(s.b);
    const std::string text = only_text(s.checked);
    CHECK_THAT(text, contains("Twice<int>"));
    CHECK_THAT(text, contains("'lambda "));
    CHECK_THAT(text, !contains("anonymous"));
    CHECK_THAT(text, !contains("size_t"));
}

TEST_CASE("device: memory that is not heddle's is certain if both sides declared it") {
    const bool waits = GENERATE(false, true);
    const Drained drained;
    std::vector<int> x(size);
    const Stream a(cpu_device()), b(cpu_device());
    Checked checked;
    launch_host(a, signals_nothing([] {}), writes(View<int>(x)));
    wait_unseen(a);
    if (waits) b.wait_stream(a);
    launch(b, Twice<int>{}, dim(size), View<int>(x));
    wait_unseen(b);
    b.synchronize();
    if (waits) return checked.expect_silence();
    const check::Race race = checked.expect(RaceKind::write_after_write);
    CHECK_THAT(race.text, contains("of memory that heddle does not own\n"));
}

TEST_CASE("device: a graph that was built before the check is at least possible") {
    CheckedStreams s;
    Graph graph = kernel_node(Twice<int>{}, dim(size), s.x).build();
    Checked checked({.strict = true});
    graph.launch(s.a);
    wait_unseen(s.a);
    read(s.b, s.x, s.y);
    const check::Summary found = checked.end();
    CHECK(found.certain + found.possible == 1);
    REQUIRE(checked.races().size() == 1);
    if (found.possible == 1)
        CHECK_THAT(checked.races()[0].text,
                   contains("Not certain, because the graph was built before the check began"));
}

TEST_CASE("device: the summary names the array that a kernel's pointer points into") {
    const Drained drained;
    const Stream s(test_device());
    Checked checked;
    Array<int> x = zeros<int>(s, size);
    const std::string made = line_above();
    int* const p = x.data() + 3;  // nvcc allows no init-captures here
    launch(s, [p] HEDDLE_FN(std::size_t i) { p[i] = 7; }, dim(10));
    s.synchronize();
    const check::Summary found = checked.end();
    REQUIRE(found.undeclared_at.size() == 1);
    CHECK_THAT(found.undeclared_at[0], contains("into the array made at " + made));
}

TEST_CASE("fork_child_does_not_check") {
    HEDDLE_SKIP_WITHOUT_FORK();
    if (test_device().is_cuda()) HEDDLE_SKIP("CUDA refuses everything after fork()");
    CheckedRun s;
    write(s.a, s.x);
    s.a.synchronize();
    const ChildResult child = run_forked([&] {
        const std::uint64_t before = check::summary().operations;
        const Stream a, b;
        Array<int> x = zeros<int>(a, size);
        a.synchronize();
        write(a, x);
        write(b, x);  // this call has a race
        const check::Summary found = check::summary();
        return found.operations == before && found.certain == 0 ? 0 : 1;
    });
    CHECK(child.status == 0);
    write(s.b, s.x);  // the parent process continues here
    CHECK(check::summary().operations > 0);
    s.checked.expect_silence();
}
