// Failures do not depend on the moment: a call on a stream that has failed, and the same call on
// one that fails a moment later, leave an array that gives the same answer, in whatever way it is
// asked, and whether or not the stream still exists.
#include "core/failure/left_failures.hpp"
#include "kernels.hpp"
#include "support.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <heddle/by_data.hpp>

using namespace heddle_test;

namespace {

constexpr std::size_t size = 100;

/// x[i] = 1, for a view that the kernel holds.
struct SetHeld {
    View<int> x;
    HEDDLE_FN void operator()(std::size_t i) const { x[i] = 1; }
};

struct Arrays {
    Array<int> x = zeros<int>(test_device(), size), from = full<int>(test_device(), size, 1);
    Array<int> pinned_from = pinned<int>(size), pageable_from = pageable<int>(size);
    std::vector<int> host = std::vector<int>(size, 1);
    std::optional<Graph> graph;
    Batch batch{{.on_cpu = true}};

    Arrays() {
        std::ranges::fill(pinned_from, 1);
        std::ranges::fill(pageable_from, 1);
        current_stream(test_device()).synchronize();
    }
};

/// A public call that writes 1 to all of `x`.
struct Call {
    const char* name;
    void (*enqueue)(StreamRef, Arrays&);
};

View2D<int> rows_of(Array<int>& x) { return View2D<int>(x.view(), size / 10, 10); }

constexpr Call calls[] = {
    {"launch", [](StreamRef s, Arrays& a) { launch(s, Set{}, dim(size), a.x, 1); }},
    {"launch, the kernel holds the view",
     [](StreamRef s, Arrays& a) { launch(s, SetHeld{a.x.view()}, dim(size)); }},
    {"prepared launch",
     [](StreamRef s, Arrays& a) {
         auto prepared = prepare(test_device(), Set{}, dim(size), a.x, 1);
         prepared.launch(s);
     }},
    {"Graph::launch",
     [](StreamRef s, Arrays& a) {
         Stream capturing(test_device());
         a.graph = capture(capturing, [&] { fill(capturing, a.x, 1); });
         a.graph->launch(s);
     }},
    {"batch",
     [](StreamRef s, Arrays& a) {
         const ScopedStream in{s};
         const ScopedBatch recorded(a.batch);
         launch(s, Set{}, dim(size), a.x, 1);
         fill(s, a.x, 1);
     }},
    {"fill", [](StreamRef s, Arrays& a) { fill(s, a.x, 1); }},
    {"fill of a rectangle", [](StreamRef s, Arrays& a) { fill(s, rows_of(a.x), 1); }},
    {"copy", [](StreamRef s, Arrays& a) { copy(s, a.x, a.from); }},
    {"copy_2d", [](StreamRef s, Arrays& a) { copy_2d(s, rows_of(a.x), rows_of(a.from)); }},
    {"copy of pinned memory", [](StreamRef s, Arrays& a) { copy(s, a.x, a.pinned_from); }},
    {"copy of pageable memory", [](StreamRef s, Arrays& a) { copy(s, a.x, a.pageable_from); }},
    {"copy of a vector", [](StreamRef s, Arrays& a) { copy(s, a.x, a.host); }},
    {"launch_host that says what it writes",
     [](StreamRef s, Arrays& a) { launch_host(s, [] {}, writes(a.x)); }},
    {"launch_host that holds a view",
     [](StreamRef s, Arrays& a) { launch_host(s, [view = a.x.view()] { (void)view; }); }},
    {"all_reduce",
     [](StreamRef s, Arrays& a) {
         DeviceGroup group({test_device()}, {.transport = Transport::copies});
         const std::vector<StreamRef> streams{s};
         const std::vector<View<const int>> from{std::as_const(a.from).view()};
         const std::vector<View<int>> to{a.x.view()};
         group.all_reduce(streams, ReduceOp::sum, from, to);
     }},
    {"full", [](StreamRef s, Arrays& a) { a.x = full<int>(s, size, 1); }},
    {"from_host", [](StreamRef s, Arrays& a) { a.x = from_host(s, a.host); }},
    {"clone", [](StreamRef s, Arrays& a) { a.x = clone(s, a.from); }},
};

/// When a stream fails, and what becomes of it then.
enum class Moment { before, later };
enum class End { stays, is_destroyed };

/// Enqueues a call on a stream that fails before it or, held back by a gate, after it was enqueued.
class Failed {
public:
    Failed(Moment moment, End end, const Call& call, Arrays& arrays) {
        Gate gate;
        if (moment == Moment::before) {
            poison(*stream, "first");
        } else {
            gate.hold(*stream);
            launch_host(*stream, [] { throw Boom("first"); });
        }
        call.enqueue(*stream, arrays);
        if (end == End::is_destroyed) stream.reset();
        gate.open();
    }
    std::optional<Stream> stream{std::in_place, test_device()};
};

/// Clears all failures at the end of a case.
struct Cleared {
    ~Cleared() { (void)clear_errors(); }
};

/// A way to ask an array.
struct Question {
    const char* name;
    void (*ask)(Arrays&);
};

const Question questions[] = {
    {"to_host(x)", [](Arrays& a) { (void)to_host(a.x); }},
    {"to_host(order, x)",
     [](Arrays& a) {
         order_by_data order(test_device());
         (void)to_host(order, a.x);
     }},
    {"copy(order, vector, x)",
     [](Arrays& a) {
         order_by_data order(test_device());
         copy(order, a.host, a.x);
     }},
    {"a copy through an order",
     [](Arrays& a) {
         order_by_data order(test_device());
         copy(order, a.pinned_from, a.x);
         order.synchronize();
     }},
    {"a kernel through an order",
     [](Arrays& a) {
         order_by_data order(test_device());
         launch(order, CopyKernel{}, dim(size), a.x, a.from);
         order.synchronize();
     }},
    {"a host function through an order",
     [](Arrays& a) {
         order_by_data order(test_device());
         launch_host(order, [] {}, reads(a.x));
         order.synchronize();
     }},
};

std::string answer(const Question& question, Arrays& arrays) {
    const auto error = error_of([&] { question.ask(arrays); });
    return error ? cause_of(*error) : "none";
}

}  // namespace

TEST_CASE("an array that dropped work should have written throws its failure, for each call") {
    const Reports reports;  // of streams that end without anybody told
    for (const Call& call : calls)
        for (const Moment moment : {Moment::before, Moment::later})
            for (const End end : {End::stays, End::is_destroyed}) {
                const Cleared cleared;
                CAPTURE(call.name, moment == Moment::later, end == End::is_destroyed);
                Arrays arrays;
                const Failed failed(moment, end, call, arrays);
                CHECK(answer(questions[0], arrays) == "first");
            }
}

TEST_CASE("an array that dropped work should have written throws its failure however it is asked") {
    const Reports reports;
    for (const Question& question : questions)
        for (const Moment moment : {Moment::before, Moment::later})
            for (const End end : {End::stays, End::is_destroyed}) {
                const Cleared cleared;
                CAPTURE(question.name, moment == Moment::later, end == End::is_destroyed);
                Arrays arrays;
                const Failed failed(moment, end, calls[0], arrays);
                CHECK(answer(question, arrays) == "first");
            }
}

TEST_CASE("memory of the host that dropped work should have written throws its failure") {
    const Reports reports;
    const Call writes_pinned{"", [](StreamRef s, Arrays& a) { fill(s, a.pinned_from, 2); }};
    const Call writes_pageable{"", [](StreamRef s, Arrays& a) { fill(s, a.pageable_from, 2); }};
    const auto copy_to_device = [](Arrays& a) { copy(a.x, a.pageable_from); };
    const auto on_host_of_order = [](Arrays& a) {
        order_by_data order(test_device());
        (void)on_host(order, a.pinned_from);
    };
    for (const Moment moment : {Moment::before, Moment::later})
        for (const End end : {End::stays, End::is_destroyed}) {
            const Cleared cleared;
            CAPTURE(moment == Moment::later, end == End::is_destroyed);
            Arrays arrays;
            const Failed pinned_failed(moment, end, writes_pinned, arrays);
            const Failed pageable_failed(moment, end, writes_pageable, arrays);
            CHECK(answer({"", copy_to_device}, arrays) == "first");
            CHECK(answer({"", on_host_of_order}, arrays) == "first");
            CHECK(answer({"", [](Arrays& a) { (void)to_host(a.pinned_from); }}, arrays) == "first");
            CHECK(answer({"", [](Arrays& a) { (void)to_host(a.pageable_from); }}, arrays) ==
                  "first");
        }
}

TEST_CASE("an array throws a stream's failure until it is cleared where it is") {
    const Cleared cleared;
    Arrays arrays;
    const Failed failed(Moment::before, End::stays, calls[0], arrays);
    StreamRef here = current_stream(test_device());
    CHECK(answer(questions[0], arrays) == "first");
    CHECK(here.clear_error() != nullptr);            // which had taken it over
    CHECK(answer(questions[0], arrays) == "first");  // the stream still has it
    CHECK(failed.stream->clear_error() != nullptr);
    CHECK(here.clear_error() != nullptr);
    CHECK(to_host(arrays.x) == Ints(size, 0));  // what was dropped stays dropped
    calls[0].enqueue(*failed.stream, arrays);
    CHECK(to_host(arrays.x) == Ints(size, 1));  // what is new works
}

TEST_CASE("the failure of a stream that is gone is cleared by whatever has taken it over") {
    const Cleared cleared;
    const Reports reports;
    Arrays arrays;
    { const Failed failed(Moment::before, End::is_destroyed, calls[0], arrays); }
    CHECK(answer(questions[0], arrays) == "first");
    CHECK(current_stream(test_device()).clear_error() != nullptr);
    CHECK(to_host(arrays.x) == Ints(size, 0));
}

TEST_CASE("clear_errors() clears what streams that are gone have left") {
    const Reports reports;
    Arrays arrays;
    { const Failed failed(Moment::later, End::is_destroyed, calls[0], arrays); }
    (void)clear_errors(test_device());
    CHECK(to_host(arrays.x) == Ints(size, 0));
}

TEST_CASE("an array that a failed stream only read is as it was once the stream is gone") {
    const Cleared cleared;
    const Reports reports;
    Arrays arrays;
    const Call reads_from{"", [](StreamRef s, Arrays& a) { copy(s, a.x, a.from); }};
    { const Failed failed(Moment::before, End::is_destroyed, reads_from, arrays); }
    settle(test_device());
    CHECK(to_host(arrays.from) == Ints(size, 1));
    CHECK(answer(questions[0], arrays) == "first");
}

TEST_CASE("what streams leave does not grow while they fail for ever") {
    const Cleared cleared;
    const Reports reports;
    Arrays arrays;
    for (std::size_t i = 0; i < 2 * detail::most_failures_left; ++i)
        const Failed failed(Moment::before, End::is_destroyed, calls[0], arrays);
    CHECK(detail::failures_left.load() <= detail::most_failures_left);
    CHECK(answer(questions[0], arrays) == "first");
}

TEST_CASE("misuse is refused on a stream that has failed, as on one that fails later") {
    const Cleared cleared;
    const Reports reports;
    View<int> gone;
    {
        Array<int> short_lived = zeros<int>(test_device(), size);
        gone = short_lived.view();
    }
    current_stream(test_device()).synchronize();
    Stream failed(test_device());
    poison(failed);
    CHECK_THROWS_AS(launch(failed, Set{}, dim(size), gone, 1), UsageError);
    CHECK_THROWS_AS(fill(failed, gone, 1), UsageError);
    CHECK_THROWS_AS(launch_host(failed, [] {}, writes(gone)), UsageError);
    CHECK_THROWS_AS(launch(failed, Set{}, dim(size), Array<int>(), 1), UsageError);
}
