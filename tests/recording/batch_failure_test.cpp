// Failures in batches: they poison the same streams as the same work without a batch.
#include "support.hpp"

#include <atomic>

using namespace heddle_test;

namespace {

/// A batch with the first stream `s` and two others, `p` and `q`. `p` and `q` do not wait for work
/// that is enqueued on `s` after `begin`.
struct Three {
    Stream s{test_device(), {.name = "s"}}, p{test_device(), {.name = "p"}},
        q{test_device(), {.name = "q"}};
    ScopedStream current{s};
    Batch batch{BatchOptions{.on_cpu = true}};
    std::atomic<int> ran{0};

    void count(StreamRef on) {
        launch_host(on, [this] { ++ran; });
    }
    static void fail(StreamRef on, const char* why) {
        launch_host(on, [why] { throw Boom(why); });
    }
    /// Waits for all streams. Returns the names of those that failed, and clears their failures.
    std::string failed() {
        std::string names;
        for (StreamRef one : {StreamRef(s), StreamRef(p), StreamRef(q)})
            if (one.clear_error() != nullptr) names += one.name();
        return names;
    }
};

}  // namespace

TEST_CASE("a failure in a batch poisons no stream that does not come after it") {
    const Drained drained;
    for (std::size_t i = 0; i < repetitions(100, 10); ++i) {
        Three it;
        {
            ScopedBatch in(it.batch);
            it.count(it.s);
            it.p.wait_stream(it.s);
            Three::fail(it.s, "s failed");
            for (int k = 0; k < 5; ++k) it.count(it.p);
            const Event before = it.p.record_event();
            it.q.wait_event(before);
            it.count(it.q);
        }
        // On CUDA, the first host function connects the three streams.
        const std::string failed = it.failed();
        if (test_device().is_cuda()) {
            CHECK(failed == "spq");
            continue;
        }
        CHECK(failed == "s");
        CHECK(it.ran == 7);
    }
}

TEST_CASE("a failure in a batch poisons no stream whose part is not connected with it") {
    const Drained drained;
    Three it;
    {
        ScopedBatch in(it.batch);
        it.p.wait_stream(it.s);
        it.q.wait_stream(it.p);
        Three::fail(it.p, "p failed");
        it.count(it.s);
        it.count(it.q);
    }
    CHECK(it.failed() == "p");
    CHECK(it.ran == 2);
}

TEST_CASE("a failure in a batch poisons the streams that have waited for it") {
    const Drained drained;
    Three it;
    {
        ScopedBatch in(it.batch);
        it.p.wait_stream(it.s);
        Three::fail(it.p, "p failed");
        it.q.wait_stream(it.p);
        it.count(it.q);
        it.count(it.s);
    }
    CHECK(it.failed() == "pq");
    CHECK(it.ran == 1);
}

TEST_CASE("a stream that failed in one graph of a batch stays failed in the next ones") {
    const Drained drained;
    Three it;
    Gate gate(it.s);
    {
        ScopedBatch in(it.batch);
        it.p.wait_stream(it.s);
        it.q.wait_stream(it.s);
        Three::fail(it.p, "p failed");
        it.count(it.q);
        in.flush();
        it.count(it.p);
        it.count(it.q);
        it.count(it.s);
        in.flush();
        it.q.wait_stream(it.p);
        it.count(it.q);
        it.count(it.s);
    }
    gate.open();
    CHECK(it.failed() == "pq");
    CHECK(it.ran == 4);
}

TEST_CASE("a failure that is cleared while its batch is open fails nothing that comes later") {
    const Drained drained;
    const bool clears_all = GENERATE(false, true);
    CAPTURE(clears_all);
    Three it;
    std::atomic<bool> may_fail{false};
    ScopedBatch in(it.batch);
    it.p.wait_stream(it.s);
    launch_host(it.p, [&] {
        may_fail.wait(false);
        throw Boom("p failed");
    });
    in.flush();  // p has not failed so far, so it stays in the batch
    may_fail = true;
    may_fail.notify_all();
    if (clears_all) CHECK(clear_errors(test_device()).size() == 1);
    else CHECK(it.p.clear_error() != nullptr);
    it.count(it.p);
    it.q.wait_stream(it.p);
    it.s.wait_stream(it.p);
    it.count(it.q);
    it.count(it.s);
    in.end();
    CHECK(it.failed() == "");
    CHECK(it.ran == 3);
}

TEST_CASE("an array has the failure of what ended before its batch was sent") {
    const bool is_branch = GENERATE(false, true);
    CAPTURE(is_branch);
    const Drained drained;
    Three it;
    Array<int> x = ready_zeros<int>(it.s, 4);
    {
        ScopedBatch in(it.batch);
        it.p.wait_stream(it.s);
        const auto work = [&](StreamRef on) {
            Three::fail(on, "too early");
            fill(on, x, 1);
        };
        if (is_branch) {
            fork_join(it.p, work, [](StreamRef) {});
        } else {
            const Stream own(test_device());
            own.wait_stream(it.p);
            work(own);
        }
    }
    const Stream reader(test_device());
    const ScopedStream current(reader, {.wait_on_enter = false});
    CHECK_THROWS_AS(to_host(x), WorkFailed);
    // On CUDA, all work that is connected with a host function fails if the function fails.
    if (test_device().is_cpu()) CHECK(it.failed() == (is_branch ? "p" : ""));
    (void)clear_errors(test_device());
}

TEST_CASE("a wait after a batch brings the failure of the stream that is waited for") {
    const Drained drained;
    Three it;
    Gate gate(it.s);
    {
        ScopedBatch in(it.batch);
        it.p.wait_stream(it.s);
        it.count(it.p);
        Three::fail(it.s, "s failed");
    }
    it.count(it.p);
    it.q.wait_stream(it.p);
    it.p.wait_stream(it.s);
    it.count(it.p);
    it.count(it.q);
    gate.open();
    CHECK(it.failed() == "sp");
    CHECK(it.ran == 3);
}

TEST_CASE("a stream that failed in one batch is failed in the next one, before that is known") {
    const Drained drained;
    Three it;
    Gate gate(it.s);
    for (int i = 0; i < 2; ++i) {
        ScopedBatch in(it.batch);
        it.p.wait_stream(it.s);
        if (i == 0) Three::fail(it.p, "p failed");
        it.count(it.p);
        it.count(it.s);
    }
    gate.open();
    CHECK(it.failed() == "p");
    CHECK(it.ran == 2);
}

TEST_CASE(
    "a failure in a batch on a stream that is gone is reported, if no stream comes after it") {
    const Drained drained;
    const Reports reports;
    Three it;
    {
        ScopedBatch in(it.batch);
        {
            const Stream gone(test_device());
            gone.wait_stream(it.s);
            Three::fail(gone, "it is gone");
        }
        it.count(it.s);
    }
    CHECK(it.failed().empty());
    it.batch.clear();
    CHECK(it.ran == 1);
    CHECK(eventually([&] { return reports.count() == 1; }));
    CHECK(mentions(reports.all()[0], "it is gone"));
}

TEST_CASE(
    "a failure in a captured graph keeps no branch from running that does not come after it") {
    if (test_device().is_cuda())
        HEDDLE_SKIP("on CUDA later host functions of the graph are dropped");
    const Drained drained;
    Three it;
    Graph graph = capture(it.s, [&] {
        it.p.wait_stream(it.s);
        Three::fail(it.p, "p failed");
        it.count(it.p);
        for (int i = 0; i < 5; ++i) it.count(it.s);
        it.s.wait_stream(it.p);
        it.count(it.s);
    });
    graph.launch(it.s);
    CHECK(it.failed() == "s");
    CHECK(it.ran == 5);
}
