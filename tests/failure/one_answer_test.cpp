// Failures do not depend on timing. A query of an array has the same answer, whether the stream
// failed before or after the call that writes the array. All ways to query the array agree, even if
// the stream no longer exists.
#include "core/failure/left_failures.hpp"
#include "kernels.hpp"
#include "support.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <heddle/by_data.hpp>
#include <heddle/with/dlpack.hpp>

using namespace heddle_test;

namespace {

constexpr std::size_t size = 100;

/// x[i] = 1, through a view that the kernel object holds.
struct SetHeld {
    View<int> x;
    HEDDLE_FN void operator()(std::size_t i) const { x[i] = 1; }
};

/// x[i] = 1, as a dependent kernel.
struct SetAfterPrimary {
    static constexpr bool waits_for_primary = true;
    HEDDLE_FN void operator()(std::size_t i, View<int> x) const {
        wait_for_primary();
        x[i] = 1;
    }
};

/// The objects that the calls use. They outlive the stream that fails.
struct Arrays {
    Array<int> x = zeros<int>(test_device(), size), from = full<int>(test_device(), size, 1);
    Array<int> pinned_from = pinned<int>(size), pageable_from = pageable<int>(size);
    std::vector<int> host = std::vector<int>(size, 1), lent = std::vector<int>(size, 0);
    Loan loan;
    std::optional<Graph> graph;
    Batch batch{{.on_cpu = true}};
    std::unique_ptr<Pipeline<int>> pipeline;
    StreamPool pool{test_device()};
    ProgrammaticEvent started;
    /// A stream for each device except the first, and arrays for the ranks of the group.
    std::vector<Stream> others;
    std::vector<Array<int>> sent, received;

    Arrays() {
        std::ranges::fill(pinned_from, 1);
        std::ranges::fill(pageable_from, 1);
        current_stream(test_device()).synchronize();
    }
};

/// A public call that sets all of `x` to 1.
struct Call {
    const char* name;
    void (*enqueue)(StreamRef, Arrays&);
};

View2D<int> rows_of(Array<int>& x) { return View2D<int>(x.view(), size / 10, 10); }

/// Captures work, and launches the graph on `s`.
template <class F> void launch_captured(StreamRef s, Arrays& a, F&& body) {
    Stream capturing(test_device());
    a.graph = capture(capturing, [&] { body(StreamRef(capturing)); });
    a.graph->launch(s);
}

/// Calls collective(group, streams, from, to) on all devices under test. Each rank has an array of
/// `sent` elements in `from` and one of `received` elements in `to`. `s` is the first rank's
/// stream. Moves the last rank's result to `a.x`.
template <class F>
void on_all_devices(StreamRef s, Arrays& a, std::size_t sent, std::size_t received,
                    F&& collective) {
    const std::vector<Device> devices = test_devices();
    DeviceGroup group(devices, {.transport = Transport::copies});
    std::vector<StreamRef> streams{s};
    for (const Device device : devices) {
        if (device != devices[0]) streams.emplace_back(a.others.emplace_back(device));
        a.sent.push_back(zeros<int>(device, sent));
        a.received.push_back(zeros<int>(device, received));
        current_stream(device).synchronize();
    }
    std::vector<View<const int>> from;
    std::vector<View<int>> to;
    for (std::size_t rank = 0; rank < devices.size(); ++rank) {
        from.push_back(std::as_const(a.sent[rank]).view());
        to.push_back(a.received[rank].view());
    }
    collective(group, streams, from, to);
    a.x = std::move(a.received.back());
}

using Streams = std::vector<StreamRef>;
using From = std::vector<View<const int>>;
using To = std::vector<View<int>>;

/// All public calls that enqueue a write of an array. scripts/check_docs reports missing ones.
constexpr Call calls[] = {
    {"launch", [](StreamRef s, Arrays& a) { launch(s, Set{}, dim(size), a.x, 1); }},
    {"launch, the kernel holds the view",
     [](StreamRef s, Arrays& a) { launch(s, SetHeld{a.x.view()}, dim(size)); }},
    {"launch of touching()",
     [](StreamRef s, Arrays& a) {
         launch(s, Set{}, dim(size), touching(a.x, {a.x.view().first(1)}), 1);
     }},
    {"prepared launch",
     [](StreamRef s, Arrays& a) {
         auto prepared = prepare(test_device(), Set{}, dim(size), a.x, 1);
         prepared.launch(s);
     }},
    {"launch_dependent",
     [](StreamRef s, Arrays& a) { launch_dependent(s, SetAfterPrimary{}, dim(size), a.x); }},
    {"launch_triggering",
     [](StreamRef s, Arrays& a) { launch_triggering(s, a.started, Set{}, dim(size), a.x, 1); }},
    {"Graph::launch",
     [](StreamRef s, Arrays& a) { launch_captured(s, a, [&](StreamRef c) { fill(c, a.x, 1); }); }},
    {"Graph::launch of nodes",
     [](StreamRef s, Arrays& a) {
         auto node = kernel_node(test_device(), Set{}, dim(size), a.x, 1);
         a.graph = fill_node(a.x, 1).after(node).build();
         a.graph->launch(s);
     }},
    {"capture_into",
     [](StreamRef s, Arrays& a) {
         a.graph = host_node(test_device(), [] {}).build();
         const Stream capturing(test_device());
         capture_into(*a.graph, capturing, [&] { fill(capturing, a.x, 1); });
         a.graph->launch(s);
     }},
    {"capture_if in a graph",
     [](StreamRef s, Arrays& a) {
         launch_captured(s, a, [&](StreamRef c) {
             capture_if(c, a.from.view().first(1), [&] { fill(c, a.x, 1); });
         });
     }},
    {"capture_while in a graph",
     [](StreamRef s, Arrays& a) {
         launch_captured(s, a, [&](StreamRef c) {
             capture_while(c, a.from.view().first(1), [&] {
                 fill(c, a.from, 0);
                 fill(c, a.x, 1);
             });
         });
     }},
    {"batch",
     [](StreamRef s, Arrays& a) {
         const ScopedStream in{s};
         const ScopedBatch recorded(a.batch);
         launch(s, Set{}, dim(size), a.x, 1);
         fill(s, a.x, 1);
     }},
    {"fill", [](StreamRef s, Arrays& a) { fill(s, a.x, 1); }},
    {"fill_zero", [](StreamRef s, Arrays& a) { fill_zero(s, a.x); }},
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
    {"used_on", [](StreamRef s, Arrays& a) { a.x.used_on(s); }},
    {"launch_host on adopted memory",
     [](StreamRef s, Arrays& a) {
         a.x = adopt(MemoryKind::pageable, new int[size](), size, [](int* p) { delete[] p; });
         launch_host(s, [] {}, writes(a.x));
     }},
    {"from_dlpack",
     [](StreamRef s, Arrays& a) {
         a.x = from_dlpack<int>(s, to_dlpack(pageable<int>(size)).release());
         launch_host(s, [] {}, writes(a.x));
     }},
    {"to_dlpack", [](StreamRef s, Arrays& a) { (void)to_dlpack(s, a.x); }},
    {"launch_host on lent memory",
     [](StreamRef s, Arrays& a) {
         a.x = a.loan.lend(cpu_device(), a.lent);
         launch_host(s, [] {}, writes(a.x));
     }},
    {"all_reduce of one device",
     [](StreamRef s, Arrays& a) {
         DeviceGroup group({test_device()}, {.transport = Transport::copies});
         group.all_reduce(Streams{s}, ReduceOp::sum, From{std::as_const(a.from).view()},
                          To{a.x.view()});
     }},
    {"all_reduce",
     [](StreamRef s, Arrays& a) {
         on_all_devices(s, a, size, size, [](auto& group, auto& streams, auto& from, auto& to) {
             group.all_reduce(streams, ReduceOp::sum, from, to);
         });
     }},
    {"reduce",
     [](StreamRef s, Arrays& a) {
         on_all_devices(s, a, size, size, [](auto& group, auto& streams, auto& from, auto& to) {
             group.reduce(streams, ReduceOp::sum, group.size() - 1, from, to.back());
         });
     }},
    {"reduce_scatter",
     [](StreamRef s, Arrays& a) {
         const std::size_t all = size * test_devices().size();
         on_all_devices(s, a, all, size, [](auto& group, auto& streams, auto& from, auto& to) {
             group.reduce_scatter(streams, ReduceOp::sum, from, to);
         });
     }},
    {"broadcast",
     [](StreamRef s, Arrays& a) {
         on_all_devices(s, a, size, size, [](auto& group, auto& streams, auto&, auto& to) {
             group.broadcast(streams, 0, to);
             if (group.size() == 1) fill(streams[0], to[0], 1);  // broadcast had no work
         });
     }},
    {"all_gather",
     [](StreamRef s, Arrays& a) {
         const std::size_t all = size * test_devices().size();
         on_all_devices(s, a, size, all, [](auto& group, auto& streams, auto& from, auto& to) {
             group.all_gather(streams, from, to);
         });
     }},
    {"gather",
     [](StreamRef s, Arrays& a) {
         const std::size_t all = size * test_devices().size();
         on_all_devices(s, a, size, all, [](auto& group, auto& streams, auto& from, auto& to) {
             group.gather(streams, group.size() - 1, from, to.back());
         });
     }},
    {"scatter",
     [](StreamRef s, Arrays& a) {
         const std::size_t all = size * test_devices().size();
         on_all_devices(s, a, all, size, [](auto& group, auto& streams, auto& from, auto& to) {
             group.scatter(streams, 0, from.front(), to);
         });
     }},
    {"full", [](StreamRef s, Arrays& a) { a.x = full<int>(s, size, 1); }},
    {"zeros", [](StreamRef s, Arrays& a) { a.x = zeros<int>(s, size); }},
    {"from_host", [](StreamRef s, Arrays& a) { a.x = from_host(s, a.host); }},
    {"clone", [](StreamRef s, Arrays& a) { a.x = clone(s, a.from); }},
    {"fork_join",
     [](StreamRef s, Arrays& a) { fork_join(s, [&](StreamRef branch) { fill(branch, a.x, 1); }); }},
    {"fork_join_n",
     [](StreamRef s, Arrays& a) {
         fork_join_n(s, 2, [&](std::size_t i, StreamRef branch) {
             if (i == 0) fill(branch, a.x, 1);
         });
     }},
    {"fork_join_devices",
     [](StreamRef s, Arrays& a) {
         fork_join_devices(s, {test_device()},
                           [&](std::size_t, StreamRef branch) { fill(branch, a.x, 1); });
     }},
    {"StreamPool::lease",
     [](StreamRef s, Arrays& a) {
         const StreamPool::Lease leased = a.pool.lease();
         leased.wait_stream(s);
         fill(leased, a.x, 1);
     }},
    {"StreamPool::shared",
     [](StreamRef s, Arrays& a) {
         const StreamRef shared = a.pool.shared();
         shared.wait_stream(s);
         fill(shared, a.x, 1);
     }},
    {"Pipeline::submit",
     [](StreamRef s, Arrays& a) {
         a.pipeline = std::make_unique<Pipeline<int>>(
             test_device(), [s, &a](StreamRef work, View<const int> in) {
                 work.wait_stream(s);
                 launch(work, CopyKernel{}, dim(in.size()), in, a.x.view().first(in.size()));
             });
         (void)a.pipeline->acquire();
         a.pipeline->submit(size);
     }},
    {"Pipeline::push",
     [](StreamRef s, Arrays& a) {
         a.pipeline = std::make_unique<Pipeline<int>>(
             test_device(), [&a](StreamRef work, View<const int> in) { copy(work, a.x, in); });
         a.pipeline->work_stream().wait_stream(s);
         a.pipeline->push(a.host);
     }},
};

/// The same calls through a DataOrder, which inherits the current stream's failure.
struct CallByData {
    const char* name;
    void (*enqueue)(DataOrder&, Arrays&);
};

constexpr CallByData calls_by_data[] = {
    {"launch", [](DataOrder& o, Arrays& a) { launch(o, Set{}, dim(size), a.x, 1); }},
    {"prepared launch",
     [](DataOrder& o, Arrays& a) {
         auto prepared = prepare(test_device(), Set{}, dim(size), a.x, 1);
         launch(o, prepared);
     }},
    {"launch_host", [](DataOrder& o, Arrays& a) { launch_host(o, [] {}, writes(a.x)); }},
    {"task",
     [](DataOrder& o, Arrays& a) {
         o.task({writes(a.x)}, [&](StreamRef stream) { fill(stream, a.x, 1); });
     }},
    {"fill", [](DataOrder& o, Arrays& a) { fill(o, a.x, 1); }},
    {"fill_zero", [](DataOrder& o, Arrays& a) { fill_zero(o, a.x); }},
    {"copy", [](DataOrder& o, Arrays& a) { copy(o, a.x, a.from); }},
    {"copy_2d", [](DataOrder& o, Arrays& a) { copy_2d(o, rows_of(a.x), rows_of(a.from)); }},
    {"copy of pinned memory", [](DataOrder& o, Arrays& a) { copy(o, a.x, a.pinned_from); }},
    {"copy of pageable memory", [](DataOrder& o, Arrays& a) { copy(o, a.x, a.pageable_from); }},
    {"copy of a vector", [](DataOrder& o, Arrays& a) { copy(o, a.x, a.host); }},
    {"full", [](DataOrder& o, Arrays& a) { a.x = full<int>(o, size, 1); }},
    {"zeros", [](DataOrder& o, Arrays& a) { a.x = zeros<int>(o, size); }},
    {"from_host", [](DataOrder& o, Arrays& a) { a.x = from_host(o, a.host); }},
    {"clone", [](DataOrder& o, Arrays& a) { a.x = clone(o, a.from); }},
};

/// When the stream of a call fails: before the call, or later.
enum class Moment { before, later };
/// Whether the stream still exists when the array is queried.
enum class End { stays, is_destroyed };

/// Enqueues a call on a stream that fails before the call or, held by a gate, after the call.
class Failed {
public:
    Failed(Moment moment, End end, const Call& call, Arrays& arrays)
        : Failed(moment, end, [&](StreamRef s) { call.enqueue(s, arrays); }) {}
    template <class F> Failed(Moment moment, End end, F&& enqueue) {
        Gate gate;
        if (moment == Moment::before) {
            poison(*stream, "first");
        } else {
            gate.hold(*stream);
            launch_host(*stream, [] { throw Boom("first"); });
        }
        enqueue(StreamRef(*stream));
        if (end == End::is_destroyed) stream.reset();
        gate.open();
    }
    std::optional<Stream> stream{std::in_place, test_device()};
};

/// Clears all failures when a case ends.
struct Cleared {
    ~Cleared() { (void)clear_errors(); }
};

/// A way to query an array.
struct Question {
    const char* name;
    void (*ask)(Arrays&);
};

const Question questions[] = {
    {"to_host(x)", [](Arrays& a) { (void)to_host(a.x); }},
    {"to_host(order, x)",
     [](Arrays& a) {
         DataOrder order(test_device());
         (void)to_host(order, a.x);
     }},
    {"copy(order, vector, x)",
     [](Arrays& a) {
         DataOrder order(test_device());
         copy(order, a.host, a.x);
     }},
    {"a copy through an order",
     [](Arrays& a) {
         DataOrder order(test_device());
         copy(order, a.pinned_from, a.x);
         order.synchronize();
     }},
    {"a kernel through an order",
     [](Arrays& a) {
         DataOrder order(test_device());
         launch(order, CopyKernel{}, dim(size), a.x, a.from);
         order.synchronize();
     }},
    {"a host function through an order",
     [](Arrays& a) {
         DataOrder order(test_device());
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
    const Reports reports;  // keeps the failures of destroyed streams from standard error
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

TEST_CASE("an array that dropped work of an order should have written throws its failure") {
    const Reports reports;
    for (const CallByData& call : calls_by_data)
        for (const Moment moment : {Moment::before, Moment::later})
            for (const End end : {End::stays, End::is_destroyed}) {
                const Cleared cleared;
                CAPTURE(call.name, moment == Moment::later, end == End::is_destroyed);
                Arrays arrays;
                const Failed failed(moment, end, [&](StreamRef s) {
                    const ScopedStream in(s);
                    DataOrder order(test_device());
                    call.enqueue(order, arrays);
                });
                CHECK(answer(questions[0], arrays) == "first");
            }
}

TEST_CASE("an array throws the failure that a pipeline had, also once that is gone") {
    const Reports reports;
    for (const bool has_failed : {true, false}) {
        const Cleared cleared;
        CAPTURE(has_failed);
        Arrays arrays;
        {
            Pipeline<int> pipeline(test_device(), [&](StreamRef work, View<const int> in) {
                if (!has_failed) launch_host(work, [] { throw Boom("first"); });
                copy(work, arrays.x, in);
            });
            if (has_failed) poison(pipeline.work_stream(), "first");
            pipeline.push(arrays.host);
        }
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
        DataOrder order(test_device());
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
    CHECK(here.clear_error() != nullptr);            // `here` had inherited the failure
    CHECK(answer(questions[0], arrays) == "first");  // the failed stream still has it
    CHECK(failed.stream->clear_error() != nullptr);
    CHECK(here.clear_error() != nullptr);
    CHECK(to_host(arrays.x) == Ints(size, 0));  // the dropped work never runs
    calls[0].enqueue(*failed.stream, arrays);
    CHECK(to_host(arrays.x) == Ints(size, 1));  // but new work does
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

/// Returns the result of calls[0] on a stream that has failed, or fails later. If a host function
/// fails, a GPU still runs the work enqueued after it (guide, chapter 13).
Ints after(Moment moment) {
    return Ints(size, test_device().is_cuda() && moment == Moment::later ? 1 : 0);
}

TEST_CASE("clear_errors() clears what streams that are gone have left") {
    const Reports reports;
    Arrays arrays;
    { const Failed failed(Moment::later, End::is_destroyed, calls[0], arrays); }
    (void)clear_errors(test_device());
    CHECK(to_host(arrays.x) == after(Moment::later));
}

TEST_CASE("what a branch or a lease should have written is cleared as of a stream that is gone") {
    const auto clear_stream = [](StreamRef s) { s.clear_error(); };
    const auto clear_device = [](StreamRef s) { (void)clear_errors(s.device()); };
    const auto branch = [](StreamRef s, Arrays& a) {
        fork_join(s, [&](StreamRef forked) { fill(forked, a.x, 1); });
    };
    const auto lease = [](StreamRef s, Arrays& a) {
        const StreamPool::Lease leased = a.pool.lease();
        leased.wait_stream(s);
        fill(leased, a.x, 1);
    };
    for (void (*const enqueue)(StreamRef, Arrays&) : {+branch, +lease})
        for (void (*const clear)(StreamRef) : {+clear_stream, +clear_device})
            for (const Moment moment : {Moment::before, Moment::later}) {
                const Cleared cleared;
                CAPTURE(enqueue == +branch, clear == +clear_stream, moment == Moment::later);
                Arrays arrays;
                const Failed failed(moment, End::stays, {"", enqueue}, arrays);
                finish_work(test_device());  // a busy stream would pass its failure on
                clear(*failed.stream);
                CHECK(to_host(arrays.x) == after(moment));
            }
}

TEST_CASE("a branch whose failure has been cleared leaves none when its stream ends") {
    const bool clears_device = GENERATE(false, true);
    CAPTURE(clears_device);
    const Cleared cleared;
    const Reports reports;
    Arrays arrays;
    const Stream base(test_device());
    Gate gate;
    const auto fails = [&](StreamRef branch) {
        gate.hold(branch);
        launch_host(branch, [] { throw Boom("the branch's"); });
        fill(branch, arrays.x, 1);
    };
    const auto is_first = [&](StreamRef) {
        if (clears_device)
            launch_host(base, [] { throw Boom("the base's, which never has both"); });
    };
    fork_join(base, fails, is_first);
    gate.open();  // the branch's stream is kept for reuse, since it has not failed yet
    if (clears_device) (void)clear_errors(test_device());
    else CHECK(base.clear_error() != nullptr);
    trim_pool(test_device(), 0);  // ends that stream
    finish_work(test_device());
    CHECK(answer(questions[0], arrays) == "none");
}

TEST_CASE("clear_errors() clears what an open batch has recorded, as without the batch") {
    const Cleared cleared;
    const Stream s(test_device());
    Batch batch({.on_cpu = true});
    {
        const ScopedStream in(s);
        const ScopedBatch recorded(batch);
        launch_host(s, [] { throw Boom("first"); });
        (void)clear_errors(test_device());
    }
    CHECK_FALSE(error_of([&] { s.synchronize(); }));
}

TEST_CASE("a batch takes over no failure of an earlier batch that has been cleared") {
    const Cleared cleared;
    const Stream first(test_device()), both(test_device()), second(test_device());
    Batch failing({.on_cpu = true}), batch({.on_cpu = true});
    {
        const ScopedBatch recorded(failing, first);
        launch_host(first, [] { throw Boom("first"); });
        both.wait_stream(first);
    }
    (void)clear_errors(test_device());
    {
        const ScopedBatch recorded(batch, second);
        second.wait_stream(both);
        launch_host(second, [] {});
    }
    CHECK_FALSE(error_of([&] { second.synchronize(); }));
}

TEST_CASE("a stream that is destroyed with a failure leaves it, whatever was cleared elsewhere") {
    const Cleared cleared;
    const Reports reports;
    Arrays arrays;
    Failed failed(Moment::before, End::stays, calls[0], arrays);
    Stream other(test_device());
    other.wait_stream(*failed.stream);
    CHECK_THROWS_AS(other.synchronize(), WorkFailed);
    other.clear_error();
    failed.stream.reset();
    finish_work(test_device());
    CHECK(answer(questions[0], arrays) == "first");
}

TEST_CASE("clear_errors() of a device clears no failure that comes to it later") {
    if (test_devices().size() < 2) HEDDLE_SKIP("needs two devices");
    const Cleared cleared;
    const Reports reports;
    Arrays arrays;
    const Stream there(test_devices()[1]);
    poison(there, "first");
    (void)clear_errors(test_device());
    {
        const Stream here(test_device());
        here.wait_stream(there);
        fill(here, arrays.x, 1);
    }
    finish_work(test_device());
    CHECK(answer(questions[0], arrays) == "first");
}

TEST_CASE("an array that a failed stream only read is as it was once the stream is gone") {
    const Cleared cleared;
    const Reports reports;
    Arrays arrays;
    const Call reads_from{"", [](StreamRef s, Arrays& a) { copy(s, a.x, a.from); }};
    { const Failed failed(Moment::before, End::is_destroyed, reads_from, arrays); }
    finish_work(test_device());
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
