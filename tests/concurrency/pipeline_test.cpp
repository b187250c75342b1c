// Pipelines: the order of results, backpressure, concurrent stages, and failures.
#include "kernels.hpp"
#include "support.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

using namespace heddle_test;

namespace {

/// y[i] = 2 x[i] + 1
struct TwiceAndOne {
    HEDDLE_FN void operator()(std::size_t i, View<const int> x, View<int> y) const {
        y[i] = 2 * x[i] + 1;
    }
};

void twice_and_one(StreamRef stream, View<const int> in, View<int> out) {
    launch(stream, TwiceAndOne{}, dim(in.size()), in, out);
}

/// Supplies the numbers below `total`, in order. A piece has at most `most` numbers.
struct Numbers {
    std::size_t total;
    std::size_t most = static_cast<std::size_t>(-1);
    int next = 0;
    std::size_t pieces = 0;
    std::size_t operator()(std::span<int> piece) {
        const std::size_t count =
            std::min({piece.size(), most, total - static_cast<std::size_t>(next)});
        std::iota(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(count), next);
        next += static_cast<int>(count);
        pieces += count > 0 ? 1 : 0;
        return count;
    }
};

/// Counts the results and the pieces. Also counts results that are wrong if the input is a Numbers.
struct Check {
    std::size_t seen = 0, wrong = 0, pieces = 0;
    void operator()(std::span<const int> piece) {
        ++pieces;
        for (const int y : piece) wrong += y != 2 * static_cast<int>(seen++) + 1;
    }
};

template <class P> void fill_piece(P& pipeline, int value) {
    const std::span<int> slot = pipeline.acquire();
    std::fill(slot.begin(), slot.end(), value);
    pipeline.submit(slot.size());
}

/// Checks that `device` can still be used.
void check_usable(Device device) {
    Check check;
    overlap<int, int>(device, Numbers{1000}, twice_and_one, std::ref(check), {.piece = 64});
    CHECK(check.seen == 1000);
    CHECK(check.wrong == 0);
    Stream stream(device);
    launch_host(stream, [] {});
    CHECK_NOTHROW(stream.synchronize());
}

/// Returns the message of the exception that `call` throws. If it has a cause, returns the cause's.
template <class F> std::string text_of(F&& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.cause() != nullptr ? cause_of(error) : error.what();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "nothing";
}

}  // namespace

TEST_CASE("results come in order, for any depth and size of a piece, with and without copies") {
    const bool in_place = GENERATE(false, true);
    const std::size_t depth = GENERATE(0u, 1u, 2u, 3u, 7u);
    const std::size_t piece = GENERATE(1u, 64u, 1000u);
    const std::size_t total = piece == 1 ? 50 : 5000;
    CAPTURE(in_place, depth, piece);
    Numbers numbers{total};
    Check check;
    overlap<int, int>(test_device(), std::ref(numbers), twice_and_one, std::ref(check),
                      {.depth = depth, .piece = piece, .in_place = in_place});
    CHECK(check.seen == total);
    CHECK(check.wrong == 0);
    CHECK(check.pieces == (total + piece - 1) / piece);
}

TEST_CASE("many small pieces, of changing sizes, arrive whole") {
    const bool in_place = GENERATE(false, true);
    const std::size_t total = 40 * repetitions(400, 50);
    std::size_t turn = 0;
    Numbers numbers{total};
    Check check;
    overlap<int, int>(test_device(),
                      [&](std::span<int> piece) {
                          numbers.most = 1 + turn++ % 63;
                          return numbers(piece);
                      },
                      twice_and_one, std::ref(check), {.piece = 64, .in_place = in_place});
    CHECK(check.seen == total);
    CHECK(check.wrong == 0);
    CHECK(check.pieces == numbers.pieces);
}

TEST_CASE("the sizes that a pipeline chooses take any input, and an empty one makes no piece") {
    const std::size_t total = GENERATE(0u, 1u, 100'000u);
    Check check;
    std::size_t works = 0;
    overlap<int, int>(
        test_device(), Numbers{total},
        [&](StreamRef s, View<const int> in, View<int> out) {
            ++works;
            twice_and_one(s, in, out);
        },
        std::ref(check));
    CHECK(check.seen == total);
    CHECK(check.wrong == 0);
    CHECK((works == 0) == (total == 0));
    const Pipeline<int, int> pipeline(test_device(), twice_and_one);
    CHECK(pipeline.depth() >= 4);
    CHECK(pipeline.piece() * sizeof(int) >= 256 << 10);
}

TEST_CASE("a last piece that is short has views as short as it is") {
    std::vector<std::size_t> in_sizes, out_sizes, written;
    overlap<int, int>(
        test_device(), Numbers{150},
        [&](StreamRef s, View<const int> in, View<int> out) {
            in_sizes.push_back(in.size());
            out_sizes.push_back(out.size());
            copy(s, out, in);
        },
        [&](std::span<const int> piece) { written.push_back(piece.size()); }, {.piece = 64});
    const std::vector<std::size_t> expected{64, 64, 22};
    CHECK(in_sizes == expected);
    CHECK(out_sizes == expected);
    CHECK(written == expected);
}

TEST_CASE("work says how many outputs a piece has, and pieces without any are not written") {
    std::vector<int> got;
    std::size_t piece_index = 0;
    overlap<int, int>(
        test_device(), Numbers{40},
        [&](StreamRef s, View<const int> in, View<int> out) -> std::size_t {
            REQUIRE(out.size() == 2);
            const std::size_t count = piece_index++ % 3;
            if (count > 0) copy(s, out.first(count), in.first(count));
            return count;
        },
        [&](std::span<const int> piece) {
            CHECK_FALSE(piece.empty());
            got.insert(got.end(), piece.begin(), piece.end());
        },
        {.piece = 8, .out_piece = 2});
    CHECK(got == std::vector<int>{8, 16, 17, 32});
}

TEST_CASE("more outputs than there is room for are an error") {
    CHECK_THROWS_AS((overlap<int, int>(
                        test_device(), Numbers{40},
                        [](StreamRef, View<const int> in, View<int>) { return in.size() + 1; },
                        [](std::span<const int>) {}, {.piece = 8})),
                    UsageError);
    check_usable(test_device());
}

TEST_CASE("input without output is worked on, piece by piece") {
    Stream outside(test_device());
    Array<int> sum = zeros<int>(outside, 64);
    const ScopedStream in_scope{outside};
    overlap<int>(test_device(), Numbers{64 * 10},
                 [&](StreamRef s, View<const int> in) { launch(s, AddTo{}, dim(64), in, sum); },
                 {.depth = 3, .piece = 64});
    const std::vector<int> sums = to_host(sum);
    for (std::size_t i = 0; i < 64; ++i) CHECK(sums[i] == static_cast<int>(10 * i + 64 * 45));
}

TEST_CASE("output without input is written until there is none") {
    std::vector<int> got;
    int step = 0;
    overlap<void, int>(
        test_device(),
        [&](StreamRef s, View<int> out) -> std::size_t {
            if (step == 20) return 0;
            const std::size_t count = step % 2 == 0 ? out.size() : 1;
            launch(s, Set{}, dim(count), out, step++);
            return count;
        },
        [&](std::span<const int> piece) { got.insert(got.end(), piece.begin(), piece.end()); },
        {.depth = 3, .piece = 4});
    std::vector<int> expected;
    for (int i = 0; i < 20; ++i) expected.insert(expected.end(), i % 2 == 0 ? 4 : 1, i);
    CHECK(got == expected);
}

TEST_CASE(
    "work comes after earlier work of the current stream, and has its stream as the current one") {
    DrainedGate gate;
    const Stream outside(test_device());
    Array<int> offset = zeros<int>(outside, 8);
    gate.hold(outside);
    launch(outside, Set{}, dim(8), offset, 5);
    const ScopedStream in_scope{outside};
    Pipeline<int, int> pipeline(test_device(),
                                [&](StreamRef s, View<const int> in, View<int> out) {
                                    CHECK(current_stream() == s);
                                    copy(out, in);
                                    launch(AddTo{}, dim(8), offset, out);
                                },
                                {.depth = 2, .piece = 8});
    fill_piece(pipeline, 1);
    CHECK(current_stream() == outside);
    finish_work(test_device());
    CHECK_FALSE(pipeline.is_ready());
    gate.open();
    const auto result = pipeline.pop();
    REQUIRE(result);
    CHECK(std::count(result->begin(), result->end(), 6) == 8);
}

TEST_CASE("a reader gets ahead of held work by as many pieces as there are slots, and no further") {
    const bool in_place = GENERATE(false, true);
    const std::size_t depth = GENERATE(1u, 2u, 5u);
    CAPTURE(in_place, depth);
    Flag full, opened;
    std::atomic<std::size_t> read{0}, done{0}, worst{0};
    Gate gate;
    std::thread opener([&] {
        full.wait();  // all slots are in use and no work is complete: the reader blocks
                      // now or soon
        finish_work(test_device());
        opened.set();
        gate.open();
    });
    bool first = true;
    overlap<int>(
        test_device(),
        [&](std::span<int> piece) -> std::size_t {
            const std::size_t ahead = ++read - done;
            worst = std::max(worst.load(), ahead);
            if (!opened.is_set()) CHECK(read <= depth);
            if (read == depth) full.set();
            return read <= 3 * depth ? piece.size() : 0;
        },
        [&](StreamRef s, View<const int>) {
            if (std::exchange(first, false)) gate.hold(s);
        },
        {.depth = depth,
         .piece = 16,
         .in_place = in_place,
         .progress = [&](std::uint64_t pieces, std::uint64_t) { done = pieces; }});
    opener.join();
    CHECK(worst == depth);
    CHECK(done == 3 * depth);
}

TEST_CASE(
    "where only taking results can free a slot, acquire() says so and push() takes what fits") {
    Pipeline<int, int> pipeline(test_device(), twice_and_one, {.depth = 3, .piece = 4});
    std::vector<int> numbers(20);
    std::iota(numbers.begin(), numbers.end(), 0);
    CHECK(pipeline.push(numbers) == 12);
    CHECK(pipeline.is_full());
    CHECK(pipeline.pending() == 3);
    CHECK_THROWS_AS(pipeline.acquire(), UsageError);
    CHECK(pipeline.push(numbers) == 0);
    const auto first = pipeline.pop();
    REQUIRE(first);
    CHECK(std::vector<int>(first->begin(), first->end()) == std::vector<int>{1, 3, 5, 7});
    CHECK_FALSE(pipeline.is_full());
    CHECK(pipeline.push(std::span(numbers).subspan(12, 3)) == 3);
    pipeline.finish();
    CHECK_THROWS_AS(pipeline.acquire(), UsageError);
    std::size_t left = 0;
    while (const auto result = pipeline.pop()) left += result->size();
    CHECK(left == 11);
}

TEST_CASE("no stage waits for a later one of other pieces") {
    const Drained drained;
    Gate working, leaving;
    Pipeline<int, int> pipeline(test_device(), twice_and_one,
                                {.depth = 3, .piece = 16, .in_place = false});
    for (int i = 0; i < 3; ++i) fill_piece(pipeline, 0);  // every slot has allocated its memory
    while (pipeline.pop()) {}
    leaving.hold(pipeline.copy_out_stream());
    fill_piece(pipeline, 1);
    REQUIRE(eventually(
        [&] { return pipeline.work_stream().is_complete(); }));  // `leaving` holds the copy out
    working.hold(pipeline.work_stream());
    fill_piece(pipeline, 2);
    REQUIRE(eventually(
        [&] { return pipeline.copy_in_stream().is_complete(); }));  // `working` holds the kernel
    CHECK_FALSE(pipeline.work_stream().is_complete());
    const std::span<int> third = pipeline.acquire();  // the host can fill another piece
    CHECK(third.size() == 16);
    CHECK_FALSE(pipeline.is_ready());
    leaving.open();
    const auto first = pipeline.pop();  // the first piece is popped while the second is held
    REQUIRE(first);
    CHECK(first->front() == 3);
    CHECK_FALSE(pipeline.work_stream().is_complete());
    working.open();
    const auto second = pipeline.pop();
    REQUIRE(second);
    CHECK(second->front() == 5);
}

TEST_CASE("what reading or writing throws comes out as it is, and the device is as before") {
    std::size_t calls = 0;
    const auto boom_at = [&calls](std::size_t n) {
        if (++calls == n) throw Boom("broken pipe");
    };
    SECTION("reading") {
        CHECK_THROWS_AS((overlap<int, int>(
                            test_device(),
                            [&](std::span<int> piece) {
                                boom_at(5);
                                std::fill(piece.begin(), piece.end(), 1);
                                return piece.size();
                            },
                            twice_and_one, [](std::span<const int>) {}, {.piece = 64})),
                        Boom);
    }
    SECTION("writing") {
        CHECK_THROWS_AS(
            (overlap<int, int>(test_device(), Numbers{6400}, twice_and_one,
                               [&](std::span<const int>) { boom_at(5); }, {.piece = 64})),
            Boom);
    }
    SECTION("telling of progress") {
        CHECK_THROWS_AS(
            (overlap<int, int>(
                test_device(), Numbers{6400}, twice_and_one, [](std::span<const int>) {},
                {.piece = 64, .progress = [&](std::uint64_t, std::uint64_t) { boom_at(5); }})),
            Boom);
    }
    check_usable(test_device());
}

TEST_CASE("what enqueueing work throws stops the pipeline, and every later call throws it again") {
    Pipeline<int, int> pipeline(
        test_device(),
        [count = 0](StreamRef s, View<const int> in, View<int> out) mutable {
            twice_and_one(s, in, out);
            if (++count == 2) throw Boom("no idea");
        },
        {.depth = 3, .piece = 16});
    fill_piece(pipeline, 1);
    CHECK_THROWS_AS(fill_piece(pipeline, 2), Boom);
    CHECK(pipeline.work_stream().is_complete());  // the pipeline has waited for its work
    CHECK_THROWS_AS(pipeline.pop(), Boom);
    CHECK_THROWS_AS(pipeline.acquire(), Boom);
    CHECK_THROWS_AS(pipeline.is_ready(), Boom);
    CHECK_THROWS_AS(pipeline.finish(), Boom);
    check_usable(test_device());
}

TEST_CASE("work that fails when it runs stops the pipeline with what it threw") {
    const bool in_place = GENERATE(false, true);
    const std::size_t failing = GENERATE(0u, 1u, 9u);
    CAPTURE(in_place, failing);
    std::size_t works = 0;
    std::atomic<int> running{0};
    const auto work = [&](StreamRef s, View<const int> in, View<int> out) {
        twice_and_one(s, in, out);
        const bool fails = works++ == failing;
        launch_host(s, [&running, fails] {
            ++running;
            if (fails) throw Boom("disk full");
            --running;
        });
    };
    Check check;
    CHECK(text_of([&] {
              overlap<int, int>(test_device(), Numbers{640}, work, std::ref(check),
                                {.piece = 64, .in_place = in_place});
          }) == "disk full");
    CHECK(running == 1);  // only the function that threw remains
    CHECK(check.wrong == 0);
    CHECK(check.pieces <= failing);
    check_usable(test_device());
}

TEST_CASE("a failure of input without output comes out, at the latest at the end") {
    const std::size_t failing = GENERATE(0u, 3u, 9u);
    std::size_t works = 0;
    CHECK(text_of([&] {
              overlap<int>(test_device(), Numbers{640},
                           [&](StreamRef s, View<const int>) {
                               if (works++ == failing)
                                   launch_host(s, [] { throw Boom("disk full"); });
                           },
                           {.depth = 2, .piece = 64});
          }) == "disk full");
    check_usable(test_device());
}

TEST_CASE(
    "a pipeline that is destroyed in the middle waits for what was submitted and drops the rest") {
    std::atomic<int> ran{0};
    {
        Pipeline<int, int> pipeline(test_device(),
                                    [&](StreamRef s, View<const int> in, View<int> out) {
                                        twice_and_one(s, in, out);
                                        launch_host(s, [&ran] { ++ran; });
                                    },
                                    {.depth = 4, .piece = 1000});
        fill_piece(pipeline, 1);
        fill_piece(pipeline, 2);
        REQUIRE(pipeline.pop());
        fill_piece(pipeline, 3);
        pipeline.acquire()[0] = 4;
    }
    CHECK(ran == 3);
    check_usable(test_device());
    { const Pipeline<int, int> unused(test_device(), twice_and_one); }
}

TEST_CASE("a failure of a pipeline's work that nobody asked for is reported once") {
    const Reports reports;
    const bool is_stopped = GENERATE(false, true);
    {
        Pipeline<int, int> pipeline(test_device(),
                                    [](StreamRef s, View<const int>, View<int>) {
                                        launch_host(s, [] { throw Boom("late"); });
                                    },
                                    {.depth = 4, .piece = 8});
        fill_piece(pipeline, 1);
        fill_piece(pipeline, 2);
        if (is_stopped) pipeline.stop();
        if (is_stopped) CHECK(reports.count() == 1);
    }
    REQUIRE(reports.count() == 1);
    CHECK(cause_of(reports.all().front()) == "late");
    check_usable(test_device());
}

TEST_CASE("a failure of a pipeline's work that a call has thrown is not reported too") {
    const Reports reports;
    {
        Pipeline<int, int> pipeline(test_device(),
                                    [](StreamRef s, View<const int>, View<int>) {
                                        launch_host(s, [] { throw Boom("late"); });
                                    },
                                    {.depth = 4, .piece = 8});
        fill_piece(pipeline, 1);
        CHECK(error_of([&] { (void)pipeline.pop(); }));
    }
    CHECK(reports.count() == 0);
    check_usable(test_device());
}

TEST_CASE("a failure of a pipeline's work is reported beside an exception of its user's") {
    const Reports reports;
    Gate gate;
    {
        Pipeline<int> pipeline(test_device(),
                               [&, calls = 0](StreamRef s, View<const int>) mutable {
                                   if (calls++ != 0) {
                                       gate.open();  // a known failure would be thrown
                                       throw Boom("of the user");
                                   }
                                   gate.hold(s);
                                   launch_host(s, [] { throw Boom("late"); });
                               },
                               {.depth = 4, .piece = 8});
        fill_piece(pipeline, 1);
        CHECK_THROWS_AS(fill_piece(pipeline, 2), Boom);
    }
    REQUIRE(reports.count() == 1);
    CHECK(cause_of(reports.all().front()) == "late");
    check_usable(test_device());
}

TEST_CASE("a pipeline that was stopped takes nothing more") {
    Pipeline<int, int> pipeline(test_device(), twice_and_one, {.depth = 2, .piece = 8});
    fill_piece(pipeline, 1);
    pipeline.stop();
    CHECK(pipeline.pending() == 0);
    CHECK_THROWS_AS(pipeline.pop(), UsageError);
    CHECK_THROWS_AS(pipeline.acquire(), UsageError);
    pipeline.stop();
}

TEST_CASE("misuse of a pipeline is said, and changes nothing") {
    Pipeline<int, int> pipeline(test_device(), twice_and_one, {.depth = 2, .piece = 8});
    CHECK_THROWS_AS(pipeline.submit(1), UsageError);
    const std::span<int> slot = pipeline.acquire();
    CHECK(mentions(error_of([&] { (void)pipeline.acquire(); }),
                   "a slot is already acquired: call submit() first; submit(0) releases the slot"));
    CHECK_THROWS_AS(pipeline.submit(9), UsageError);
    slot[0] = 7;
    pipeline.submit(1);
    const auto result = pipeline.pop();
    REQUIRE(result);
    CHECK(std::vector<int>(result->begin(), result->end()) == std::vector<int>{15});
    CHECK_FALSE(pipeline.pop());
    CHECK_THROWS_AS((Pipeline<int>(test_device(), [](StreamRef, View<const int>) {},
                                   {.piece = static_cast<std::size_t>(-1)})),
                    UsageError);
    CHECK_THROWS_AS(
        (Pipeline<int>(test_device(), [](StreamRef, View<const int>) {}, {.depth = 1025})),
        UsageError);
    const auto nothing = [](StreamRef, View<const int>) {};
    CHECK(mentions(
        error_of([&] { const Pipeline<int> of_none(test_device(), nothing, {.piece = 0}); }),
        "pieces have 0 elements: set .piece to 1 or more"));
    CHECK(mentions(error_of([&] {
                       const Pipeline<int, int> of_none(test_device(), twice_and_one,
                                                        {.out_piece = 0});
                   }),
                   "set .out_piece to 1 or more"));
    const Stream captured(test_device());
    const ScopedStream in_scope{captured};
    const ScopedCapture capture(captured);
    CHECK_THROWS_AS((Pipeline<int, int>(test_device(), twice_and_one)), UsageError);
}

TEST_CASE("a pipeline refuses a thread while another one is in a call of it") {
    Flag inside, opened;
    Pipeline<int> pipeline(test_device(),
                           [inside, opened](StreamRef, View<const int>) {
                               inside.set();
                               CHECK(opened.wait());
                           },
                           {.depth = 2, .piece = 8});
    std::thread other([&] {
        pipeline.acquire()[0] = 1;
        pipeline.submit(1);
    });
    REQUIRE(inside.wait());
    CHECK(mentions(error_of([&] { (void)pipeline.acquire(); }),
                   "another thread is executing a call on this pipeline"));
    CHECK_THROWS_AS(pipeline.finish(), UsageError);
    opened.set();
    other.join();
    pipeline.finish();  // the call had no effect
}

TEST_CASE("a slot that was released can be acquired again, and push() takes no acquired one") {
    Pipeline<int, int> pipeline(test_device(), twice_and_one, {.depth = 2, .piece = 8});
    const std::span<int> slot = pipeline.acquire();
    const std::vector<int> more(3);
    CHECK_THROWS_AS(pipeline.push(more), UsageError);
    pipeline.submit(0);
    CHECK(pipeline.acquire().data() == slot.data());
    pipeline.submit(0);
    CHECK(pipeline.push(more) == 3);
}

TEST_CASE("pieces can be sent from where they are, pinned or pageable") {
    const bool in_place = GENERATE(false, true);
    Array<int> fixed = pinned<int>(100);
    std::vector<int> plain(100);
    std::iota(fixed.begin(), fixed.end(), 0);
    std::iota(plain.begin(), plain.end(), 100);
    Pipeline<int, int> pipeline(test_device(), twice_and_one,
                                {.depth = 4, .piece = 60, .in_place = in_place});
    pipeline.submit(fixed.view().first(60));
    pipeline.submit(fixed.view().last(40));
    pipeline.submit(View<const int>(plain.data(), 50));
    std::ranges::copy(std::span(plain).last(50), pipeline.acquire().begin());
    pipeline.submit(50);
    CHECK_THROWS_AS(pipeline.submit(fixed.view().first(1)), UsageError);  // all slots are in use
    Check check;
    while (const auto result = pipeline.pop()) check(*result);
    CHECK(check.seen == 200);
    CHECK(check.wrong == 0);
    CHECK_THROWS_AS(pipeline.submit(fixed), UsageError);  // more than fits in a piece
    pipeline.submit(fixed.view().first(0));
    CHECK(pipeline.pending() == 0);
}

TEST_CASE("a slot can be filled by another stream") {
    const bool in_place = GENERATE(false, true);
    CAPTURE(in_place);
    DrainedGate gate;
    const Stream reader(cpu_device());
    Pipeline<int, int> pipeline(test_device(), twice_and_one,
                                {.depth = 3, .piece = 8, .in_place = in_place});
    const auto read = [&](int value) {
        launch_host(reader, [slot = pipeline.acquire(), value] {
            if (value < 0) throw Boom("no such file");
            std::fill(slot.begin(), slot.end(), value);
        });
        pipeline.copy_in_stream().wait_stream(reader);
        pipeline.submit(8);
    };
    gate.hold(reader);
    read(1);
    read(2);
    finish_work(test_device());
    CHECK_FALSE(pipeline.is_ready());
    gate.open();
    for (const int expected : {3, 5}) {
        const auto result = pipeline.pop();
        REQUIRE(result);
        CHECK(std::count(result->begin(), result->end(), expected) == 8);
    }
    CHECK(text_of([&] {
              read(-1);
              pipeline.pop();
          }) == "no such file");
    check_usable(test_device());
}

TEST_CASE("a pipeline is made and filled in a host function, where nothing may be waited for") {
    if (test_device().is_cuda()) HEDDLE_SKIP("host functions of GPUs enqueue nothing");
    const bool in_place = GENERATE(false, true);
    const Stream stream(test_device());
    std::optional<Pipeline<int, int>> pipeline;
    launch_host(stream, [&] {
        pipeline.emplace(test_device(), twice_and_one,
                         PipelineOptions{.depth = 2, .piece = 4, .in_place = in_place});
        fill_piece(*pipeline, 1);
        fill_piece(*pipeline, 2);
    });
    stream.synchronize();
    for (const int expected : {3, 5}) {
        const std::span<const int> result = pipeline->pop().value();
        CHECK(std::vector(result.begin(), result.end()) == Ints(4, expected));
    }
}

TEST_CASE("a pipeline in a batch comes after earlier work of the batch") {
    const bool on_cpu = GENERATE(false, true);
    const Stream outside(test_device());
    const ScopedStream in_scope{outside};
    Array<int> offset = zeros<int>(8);
    Batch batch({.on_cpu = on_cpu});
    std::vector<int> got;
    batch.run([&] {
        launch(Set{}, dim(8), offset, 5);
        overlap<int, int>(
            test_device(), Numbers{24},
            [&](StreamRef, View<const int> in, View<int> out) {
                copy(out, in);
                launch(AddTo{}, dim(8), offset, out);
            },
            [&](std::span<const int> piece) { got.insert(got.end(), piece.begin(), piece.end()); },
            {.piece = 8});
        launch(Set{}, dim(8), offset, 6);
    });
    std::vector<int> expected(24);
    std::iota(expected.begin(), expected.end(), 5);
    CHECK(got == expected);
    CHECK(to_host(offset) == std::vector<int>(8, 6));
}

TEST_CASE("the result at hand stays as it is while the next pieces are under way") {
    Pipeline<int, int> pipeline(test_device(), twice_and_one, {.depth = 1, .piece = 8});
    for (int i = 0; i < 10; ++i) {
        fill_piece(pipeline, i);
        CHECK(pipeline.is_full());
        const auto result = pipeline.pop();
        REQUIRE(result);
        finish_work(test_device());
        CHECK(std::count(result->begin(), result->end(), 2 * i + 1) == 8);
        CHECK_FALSE(pipeline.is_full());
    }
}

TEST_CASE("progress counts pieces and elements") {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
    overlap<int, int>(test_device(), Numbers{20}, twice_and_one, [](std::span<const int>) {},
                      {.piece = 8, .progress = [&](std::uint64_t pieces, std::uint64_t elements) {
                           told.emplace_back(pieces, elements);
                       }});
    CHECK(told == std::vector<std::pair<std::uint64_t, std::uint64_t>>{{1, 8}, {2, 16}, {3, 20}});
}

TEST_CASE("the streams of a pipeline have its name and priorities") {
    const Pipeline<int, int> pipeline(test_device(), twice_and_one,
                                      {.copy_priority = -1, .work_priority = -2, .name = "films"});
    const auto clamped = [](int priority) {
        return std::max(priority, test_device().priorities().greatest);
    };
    CHECK(pipeline.copy_in_stream().priority() == clamped(-1));
    CHECK(pipeline.copy_out_stream().priority() == clamped(-1));
    CHECK(pipeline.work_stream().priority() == clamped(-2));
    CHECK(pipeline.work_stream().name() == "films: work");
}

TEST_CASE("a pipeline takes work that can only be moved") {
    Pipeline<int, int> pipeline(
        test_device(),
        [one = std::make_unique<int>(1)](StreamRef s, View<const int> in, View<int> out) {
            copy(s, out, in);
            launch(s, Add{}, dim(out.size()), out, *one);
        },
        {.piece = 4});
    fill_piece(pipeline, 1);
    CHECK(pipeline.pop()->front() == 2);
}

TEST_CASE("one pipeline feeds another, and two threads have one each") {
    SECTION("fed") {
        Pipeline<int, int> second(test_device(), twice_and_one, {.depth = 3, .piece = 100});
        std::vector<int> got;
        const auto take = [&] {
            const auto result = second.pop();
            got.insert(got.end(), result->begin(), result->end());
        };
        overlap<int, int>(test_device(), Numbers{3000}, twice_and_one,
                          [&](std::span<const int> piece) {
                              while (!piece.empty()) {
                                  const std::size_t taken = second.push(piece);
                                  piece = piece.subspan(taken);
                                  if (taken == 0) take();
                              }
                          },
                          {.piece = 64});
        while (second.pending() > 0) take();
        REQUIRE(got.size() == 3000);
        bool right = true;
        for (int i = 0; i < 3000; ++i)
            right = right && got[static_cast<std::size_t>(i)] == 4 * i + 3;
        CHECK(right);
    }
    SECTION("side by side") {
        Check checks[2];
        std::thread other([&] {
            overlap<int, int>(test_device(), Numbers{20'000}, twice_and_one, std::ref(checks[0]),
                              {.piece = 100});
        });
        overlap<int, int>(test_device(), Numbers{20'000}, twice_and_one, std::ref(checks[1]),
                          {.piece = 100});
        other.join();
        for (const Check& check : checks) {
            CHECK(check.seen == 20'000);
            CHECK(check.wrong == 0);
        }
    }
}
