// Captures within batches: the batch still covers the work of streams that have left it.
#include "kernels.hpp"
#include "support.hpp"

#include <algorithm>

using namespace heddle_test;

namespace {

constexpr std::size_t n = 1000;

/// A batch on `here.stream`, with another stream in it. The batch's first stream is being captured.
/// A third stream waits for the other stream, and so joins the batch. The third stream sets `x` to
/// 7, and is then destroyed.
struct CaptureInBatch {
    Stream here{test_device()}, side{test_device()}, other{test_device()};
    Array<int> kept = zeros<int>(here, n), x = zeros<int>(here, n);
    Batch batch{BatchOptions{.on_cpu = true}};

    template <class F> void run(F&& look) {
        here.synchronize();
        const ScopedStream current(here);
        ScopedBatch in(batch, here);
        side.wait_stream(here);
        launch(side, Add{}, dim(n), kept, 1);
        {
            ScopedCapture capture(here);
            launch(here, Add{}, dim(1), kept, 5);
            {
                const Stream gone(test_device());
                gone.wait_stream(side);
                launch(gone, Add{}, dim(n), x, 7);
            }
            look();
            (void)capture.end();
        }
        in.end();
        here.synchronize();
        side.synchronize();
    }
};

}  // namespace

TEST_CASE("an array of a stream that is gone is read although a capture has the batch's stream") {
    const Drained drained;
    CaptureInBatch it;
    Ints seen;
    it.run([&] {
        const ScopedStream on(it.other, {.wait_on_enter = false});
        seen = to_host(it.x);
    });
    CHECK(seen == Ints(n, 7));
    CHECK(to_host(it.other, it.kept) == Ints(n, 1));
}

TEST_CASE("memory of a stream that is gone stays although a capture has the batch's stream") {
    const Drained drained;
    CaptureInBatch it;
    it.x = pinned<int>(n);
    std::fill(it.x.begin(), it.x.end(), 0);
    Array<int> later;
    it.run([&] {
        it.x.reset();
        later = pinned<int>(n);
        std::fill(later.begin(), later.end(), 3);
    });
    CHECK(Ints(later.begin(), later.end()) == Ints(n, 3));
}

TEST_CASE(
    "a stream of a batch that a capture has taken goes on in the batch, after what was sent") {
    const Drained drained;
    CaptureInBatch it;
    Graph graph;
    it.here.synchronize();
    const ScopedStream current(it.here);
    ScopedBatch in(it.batch, it.here);
    it.side.wait_stream(it.here);
    launch(it.side, Add{}, dim(n), it.kept, 1);
    {
        ScopedCapture capture(it.here);
        it.side.wait_stream(it.here);
        launch(it.side, Add{}, dim(n), it.kept, 10);
        it.here.wait_stream(it.side);
        graph = capture.end();
    }
    launch(it.side, Add{}, dim(n), it.kept, 100);
    in.end();
    CHECK(to_host(it.side, it.kept) == Ints(n, 101));
    graph.launch(it.side);
    CHECK(to_host(it.side, it.kept) == Ints(n, 111));
}
