// Loans in batches and captures, through a DataOrder, and as observers receive them. Uses CPU
// streams, as in stream/lend_test.cpp.
#include "lend.hpp"

#include "waits_of.hpp"

#include <heddle/by_data.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace heddle_test;

TEST_CASE("a batch is flushed before a loan, records nothing in it, and goes on after it") {
    const OrderLog seen;
    const Drained drained;
    const Stream s = cpu_stream();
    Batch batch({.on_cpu = true});
    {
        ScopedBatch in{batch, s};
        seen.note(s, "1");
        CHECK(lend(s, [&] {
            note_natively(s, seen, "2");
            seen.note(s, "3");
            const Event event = s.record_event();
            note_natively(s, seen, "4");
            event.synchronize();
        }));
        seen.note(s, "5");
        seen.note(s, "6");
    }
    s.synchronize();
    CHECK(seen.seen() == Strings{"1", "2", "3", "4", "5", "6"});
}

TEST_CASE("streams of a batch wait for each other inside a loan") {
    const OrderLog seen;
    const Drained drained;
    const Stream s = cpu_stream(), t = cpu_stream();
    Batch batch({.on_cpu = true});
    {
        ScopedBatch in{batch, s};
        seen.note(s, "1");
        t.wait_stream(s);
        seen.note(t, "2");
        CHECK(lend(s, [&] {
            s.wait_stream(t);
            note_natively(s, seen, "3");
            t.wait_stream(s);
            seen.note(t, "4");
            s.wait_stream(t);
            note_natively(s, seen, "5");
        }));
        t.wait_stream(s);
        CHECK(lend(t, [&] { note_natively(t, seen, "6"); }));
        s.wait_stream(t);
        seen.note(s, "7");
    }
    s.synchronize();
    t.synchronize();
    CHECK(seen.seen() == Strings{"1", "2", "3", "4", "5", "6", "7"});
}

TEST_CASE("an array of a batch's second stream is freed after native work on that stream") {
    constexpr std::size_t bytes = 64 << 20;  // far more than other tests leave to be freed
    const auto in_use = [] { return memory_stats(cpu_device()).in_use; };
    const Drained drained;
    const Stream s = cpu_stream(), t = cpu_stream();
    Batch batch({.on_cpu = true});
    const Flag go;
    std::size_t before = 0;
    {
        ScopedBatch in{batch, s};
        launch_host(s, [] {});
        t.wait_stream(s);
        launch_host(t, [] {});
        before = in_use();
        const Array<char> x = empty<char>(t, bytes);
        CHECK(lend(t, [&] { enqueue_natively(t, [go] { go.wait(); }); }));
    }
    s.synchronize();
    CHECK(in_use() > before + bytes / 2);
    go.set();
    t.synchronize();
    CHECK(eventually([&] { return in_use() < before + bytes / 2; }));
}

TEST_CASE("what heddle's calls enqueue in a loan is captured, and waits are elided afterwards") {
    const OrderLog seen;
    const Drained drained;
    const Stream s = cpu_stream(), t = cpu_stream();
    Graph graph;
    {
        ScopedCapture scope{s};
        seen.note(s, "1");
        CHECK(lend(s, [&] {
            seen.note(s, "2");
            CHECK(lend(s, [&] { seen.note(s, "3"); }));
            t.wait_stream(s);
            seen.note(t, "4");
            s.wait_stream(t);
        }));
        seen.note(s, "5");
        graph = scope.end();
    }
    CHECK(seen.seen().empty());
    graph.launch(s);
    s.synchronize();
    CHECK(seen.seen() == Strings{"1", "2", "3", "4", "5"});
    t.wait_stream(s);
    CHECK(waits_of([&] { t.wait_stream(s); }) == elided);
}

TEST_CASE("a capture may begin or end inside a loan") {
    const OrderLog seen;
    const Drained drained;
    const Stream s = cpu_stream(), t = cpu_stream();
    Graph graph;
    CHECK(lend(s, [&] { graph = capture(s, [&] { seen.note(s, "1"); }); }));
    graph.launch(s);
    {
        ScopedCapture scope{s};
        seen.note(s, "2");
        CHECK(lend(s, [&] {
            seen.note(s, "3");
            graph = scope.end();
        }));
    }
    graph.launch(s);
    s.synchronize();
    CHECK(seen.seen() == Strings{"1", "2", "3"});
    t.wait_stream(s);
    CHECK(waits_of([&] { t.wait_stream(s); }) == elided);
}

TEST_CASE("no loan under a condition") {
    const Stream s = cpu_stream();
    const Array<int> flag = full<int>(s, 1, 1);
    std::optional<Error> error;
    (void)capture(s,
                  [&] { capture_if(s, flag, [&] { error = error_of([&] { lend(s, [] {}); }); }); });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::unsupported);
    CHECK(lend(s, [] {}));
}

TEST_CASE("by data, a loan is ordered by the data that it declares") {
    const Drained drained;
    const StreamRef maker = default_stream(cpu_device());
    Array<int> x = zeros<int>(maker, 8), y = zeros<int>(maker, 8);
    synchronize_device(cpu_device());
    DataOrder order(cpu_device(), {.streams = 3, .spread = DataSpread::always});
    for (int i = 0; i < 20; ++i) {
        fill(order, x, i);
        order.task({reads(x), writes(y)}, [&](StreamRef s) {
            lend(
                s,
                [&] {
                    enqueue_natively(s, [from = x.view(), to = y.view()] {
                        for (std::size_t k = 0; k < to.size(); ++k) to[k] += from[k];
                    });
                },
                reads(x), writes(y));
        });
    }
    CHECK(to_host(order, y) == Ints(8, 190));
}

namespace {
/// Stores the operations of one kind.
struct Kept final : Observer {
    explicit Kept(OpKind of) : kind(of) { add_observer(*this); }
    ~Kept() { remove_observer(*this); }
    void on_op(const OpInfo& op) noexcept override {
        if (op.kind != kind) return;
        ++count;
        accesses.assign(op.accesses.begin(), op.accesses.end());
        holds_pointers = op.holds_pointers;
        mode = op.mode;
        line = op.where.line;
    }
    OpKind kind;
    int count = 0;
    std::vector<OpAccess> accesses;
    bool holds_pointers = false;
    OpMode mode = OpMode::run;
    unsigned line = 0;
};
}  // namespace

TEST_CASE("a loan is one operation to observers, with the accesses that it declares") {
    const Stream s = cpu_stream();
    Array<int> x = zeros<int>(s, 8), y = zeros<int>(s, 4);
    s.synchronize();
    const int* const at = x.data();
    Kept kept(OpKind::native);
    lend(
        s,
        [&] {
            enqueue_natively(s, [] {});
            enqueue_natively(s, [] {});
        },
        reads(x), writes(y));
    CHECK(kept.count == 1);
    REQUIRE(kept.accesses.size() == 2);
    CHECK(kept.accesses[0].data == at);
    CHECK_FALSE(kept.accesses[0].writes());
    CHECK(kept.accesses[1].bytes == 4 * sizeof(int));
    CHECK(kept.accesses[1].writes());
    CHECK_FALSE(kept.holds_pointers);
    // clang-format off
    lend(s, [] {}); CHECK(kept.line == __LINE__);
    // clang-format on
    CHECK(kept.holds_pointers);
    (void)capture(s, [&] { lend(s, [] {}); });
    CHECK(kept.mode == OpMode::captured);
    CHECK(std::string(to_string(OpKind::native)) == "native");
}
