// Leases used in an open batch. Only the batch's thread can lease such a stream again until the
// batch is submitted.
#include "core/stream/registry.hpp"
#include "recording/spoil.hpp"
#include "support.hpp"

#include <algorithm>

using namespace heddle_test;

namespace {

/// A pool with one stream, and an open batch on a stream that is held by a gate.
struct Kept {
    const OrderLog seen;
    const Drained drained;
    Stream s{test_device()};
    StreamPool pool{test_device(), {.max_streams = 1, .shared = 1}};
    Gate gate;
    Batch batch{BatchOptions{.on_cpu = true}};

    Kept() { gate.hold(s); }
    /// Leases the stream, makes it wait for the batch's first stream, and enqueues a note with this
    /// text on it. Returns the id of the leased stream.
    std::uint64_t use(const std::string& what) {
        const StreamPool::Lease lease = pool.lease();
        lease.wait_stream(s);
        seen.note(lease, what);
        return lease.id();
    }
};

/// Leases a stream from the pool on another thread. Returns the error, if there is one.
std::optional<Error> error_elsewhere(StreamPool& pool) {
    std::optional<Error> error;
    on_another_thread([&] { error = error_of([&] { (void)pool.lease(); }); });
    return error;
}

}  // namespace

TEST_CASE("a lease that was used in an open batch and returned is not another thread's until the "
          "batch has sent its work") {
    Kept it;
    ScopedBatch in(it.batch, it.s);
    const std::uint64_t id = it.use("in the batch");
    CHECK(it.pool.leased() == 1);
    const std::optional<Error> error = error_elsewhere(it.pool);
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::usage);
    CHECK(mentions(error, "1 of them by batches that have not submitted their work"));
    in.flush();
    CHECK(it.pool.leased() == 0);
    // The batch is still open, but does not include the other thread's work.
    on_another_thread([&] {
        const StreamPool::Lease lease = it.pool.lease();
        CHECK(lease.id() == id);
        it.seen.note(lease, "of another thread");
        it.gate.open();
        lease.synchronize();
    });
    CHECK(it.seen.seen() == Strings{"in the batch", "of another thread"});
    in.end();
    CHECK(it.batch.last().graphs == 1);
}

TEST_CASE("a lease that a batch keeps is free once another thread's wait has sent the batch") {
    Kept it;
    Event after(test_device());
    const ScopedBatch in(it.batch, it.s);
    {
        const StreamPool::Lease lease = it.pool.lease();
        lease.wait_stream(it.s);
        it.seen.note(lease, "in the batch");
        after.record(lease);
    }
    on_another_thread([&] {
        CHECK(error_of([&] { (void)it.pool.lease(); }));
        const Stream waiter(test_device());
        waiter.wait_event(after);
        const StreamPool::Lease lease = it.pool.lease();
        it.seen.note(lease, "of another thread");
        it.gate.open();
        lease.synchronize();
    });
    CHECK(it.seen.seen() == Strings{"in the batch", "of another thread"});
}

TEST_CASE("a thread whose own batch keeps all streams of a pool leases them again, in the batch") {
    Kept it;
    {
        ScopedBatch in(it.batch, it.s);
        const std::uint64_t id = it.use("first");
        CHECK(it.use("second") == id);
        const StreamPool::Lease third = it.pool.lease();
        CHECK(third.id() == id);
        it.seen.note(third, "third");
        // This thread has the lease, so submitting the batch does not release the stream.
        it.s.wait_stream(third);
        CHECK(it.pool.leased() == 1);
        CHECK(it.batch.last().graphs == 0);
        in.flush();
        CHECK(error_elsewhere(it.pool));
        it.seen.note(third, "fourth");
    }
    CHECK(it.batch.last().graphs == 2);  // the stream was in the batch after in.flush()
    it.gate.open();
    it.s.synchronize();
    on_another_thread([&] { it.pool.lease().synchronize(); });
    CHECK(it.seen.seen() == Strings{"first", "second", "third", "fourth"});
}

TEST_CASE("a lease on which nothing unsent is recorded is another thread's as soon as it is "
          "returned") {
    Kept it;
    ScopedBatch in(it.batch, it.s);
    {
        const StreamPool::Lease lease = it.pool.lease();
        lease.wait_stream(it.s);
        it.seen.note(lease, "in the batch");
        in.flush();
    }
    CHECK(it.pool.leased() == 0);
    CHECK_FALSE(error_elsewhere(it.pool));
}

TEST_CASE("the lease of a batch's first stream is another thread's when the batch has ended") {
    Kept it;
    StreamPool::Lease lease = it.pool.lease();
    const std::uint64_t id = lease.id();
    ScopedBatch in(it.batch, lease);
    it.seen.note(lease, "in the batch");
    lease = StreamPool::Lease();
    CHECK(error_elsewhere(it.pool));
    in.flush();
    CHECK(error_elsewhere(it.pool));
    {
        const StreamPool::Lease again = it.pool.lease();
        CHECK(again.id() == id);
        it.seen.note(again, "in the batch too");
        in.flush();
    }
    CHECK(error_elsewhere(it.pool));
    in.end();
    on_another_thread([&] {
        const StreamPool::Lease other = it.pool.lease();
        CHECK(other.id() == id);
        other.synchronize();
    });
    CHECK(it.seen.seen() == Strings{"in the batch", "in the batch too"});
}

TEST_CASE("a lease that a batch keeps is free when an exception has left the batch") {
    Kept it;
    const auto body = [&] {
        const ScopedBatch in(it.batch, it.s);
        it.use("in the batch");
        throw Boom("out");
    };
    CHECK_THROWS_AS(body(), Boom);
    CHECK(it.pool.leased() == 0);
    on_another_thread([&] { it.seen.note(it.pool.lease(), "of another thread"); });
    it.gate.open();
    it.s.synchronize();
    on_another_thread([&] { it.pool.lease().synchronize(); });
    CHECK(it.seen.seen() == Strings{"in the batch", "of another thread"});
}

TEST_CASE("a lease that a batch keeps is free when the batch ends without being sent") {
    Kept it;
    ScopedBatch in(it.batch, it.s);
    it.use("lost with the batch");
    spoil_batch(it.s);
    CHECK(it.pool.leased() == 1);
    CHECK_THROWS_AS(in.end(), UsageError);
    CHECK(it.pool.leased() == 0);
    on_another_thread([&] {
        const StreamPool::Lease lease = it.pool.lease();
        it.seen.note(lease, "of another thread");
        lease.synchronize();
    });
    CHECK(it.seen.seen() == Strings{"of another thread"});
}

TEST_CASE("a lease returned in a capture inside a batch is no other lease, in the batch or not") {
    Kept it;
    std::optional<Graph> graph;
    {
        const ScopedBatch in(it.batch, it.s);
        StreamPool::Lease lease = it.pool.lease();
        const std::uint64_t id = lease.id();
        lease.wait_stream(it.s);
        it.seen.note(lease, "in the batch");
        graph = capture(it.s, [&] {
            lease.wait_stream(it.s);
            it.seen.note(lease, "in the graph");
            it.s.wait_stream(lease);
            lease = StreamPool::Lease();
            on_another_thread([&] {
                const StreamPool::Lease other = it.pool.lease();
                CHECK(other.id() != id);
                CHECK_FALSE(other.is_capturing());
                launch_host(other, [] {});
                other.synchronize();
            });
        });
    }
    graph->launch(it.s);
    it.gate.open();
    it.s.synchronize();
    CHECK(it.seen.seen() == Strings{"in the batch", "in the graph"});
}

TEST_CASE("a lease used in a batch and returned in a capture of the batch's first stream is kept "
          "until the batch is sent") {
    Kept it;
    ScopedBatch in(it.batch, it.s);
    std::optional<Graph> graph;
    {
        StreamPool::Lease lease = it.pool.lease();
        lease.wait_stream(it.s);
        graph = capture(it.s, [&] {
            it.seen.note(lease, "in the batch");
            lease = StreamPool::Lease();
            CHECK(error_elsewhere(it.pool));
        });
    }
    CHECK(error_elsewhere(it.pool));
    in.end();
    it.gate.open();
    CHECK_FALSE(error_elsewhere(it.pool));
    it.s.synchronize();
    on_another_thread([&] { it.pool.lease().synchronize(); });
    CHECK(it.seen.seen() == Strings{"in the batch"});
}

TEST_CASE("a pool may be destroyed while an open batch keeps its streams") {
    Kept it;
    {
        const ScopedBatch in(it.batch, it.s);
        {
            StreamPool pool(test_device());
            const StreamPool::Lease lease = pool.lease();
            lease.wait_stream(it.s);
            it.seen.note(lease, "in the batch");
            it.s.wait_stream(lease);
        }
        it.seen.note(it.s, "after it");
    }
    it.gate.open();
    it.s.synchronize();
    CHECK(it.seen.seen() == Strings{"in the batch", "after it"});
}

TEST_CASE("threads with a batch each share the streams of one pool, and none works in another's "
          "batch") {
    StreamPool pool(test_device(), {.max_streams = 3, .shared = 1});
    std::atomic<int> strays{0}, refused{0};
    on_threads(4, [&](int t) {
        const Stream s(test_device());
        Batch batch({.on_cpu = true});
        std::atomic<int> ran{0};
        int enqueued = 0;
        for (std::size_t i = 0; i < repetitions(500, 50); ++i) {
            ScopedBatch in(batch, s);
            for (int k = 0; k < 2; ++k) {
                const auto error = error_of([&] {
                    const StreamPool::Lease lease = pool.lease();
                    lease.wait_stream(s);
                    launch_host(lease, [&ran] { ++ran; });
                    ++enqueued;
                    s.wait_stream(lease);
                });
                if (error) ++refused;
            }
            if ((i + static_cast<std::size_t>(t)) % 3 == 0) in.flush();
            in.end();
            s.synchronize();  // covers all work of this thread
            if (ran != enqueued) ++strays;
        }
    });
    CHECK(strays == 0);
    CHECK(pool.leased() == 0);
    CHECK(pool.size() <= 3);
}

TEST_CASE("a batch that sends again and again forgets the leases that it has sent") {
    Kept it;
    it.gate.open();
    StreamPool pool(test_device());
    ScopedBatch in(it.batch, it.s);
    std::size_t farthest = 0;
    for (int i = 0; i < 50; ++i) {
        for (int k = 0; k < 2; ++k) {
            const StreamPool::Lease lease = pool.lease();
            lease.wait_stream(it.s);
            launch_host(lease, [] {});
            it.s.wait_stream(lease);
            farthest = std::max(farthest, detail::record_of(lease).participant);
        }
        in.flush();
    }
    CHECK(farthest == 2);
}
