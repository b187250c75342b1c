// Loans of a stream's native handle: order, elision, memory and failures. Uses CPU streams, whose
// queue stands for the native handle. cuda/with_native_test.cu tests with_native() itself.
#include "lend.hpp"

#include "kernel_launches.hpp"
#include "waits_of.hpp"

#include <optional>
#include <thread>
#include <utility>
#include <vector>

using namespace heddle_test;

TEST_CASE("a wait after a loan is made once, and then elided as before the loan") {
    const Stream a = cpu_stream(), b = cpu_stream();
    launch_host(b, [] {});
    CHECK(waits_of([&] { a.wait_stream(b); }) == inserted);
    CHECK(waits_of([&] { a.wait_stream(b); }) == elided);
    CHECK(lend(b, [&] { enqueue_natively(b, [] {}); }));
    CHECK(waits_of([&] { a.wait_stream(b); }) == inserted);
    CHECK(waits_of([&] { a.wait_stream(b); }) == elided);
    CHECK(waits_of([&] { a.wait_event(b.record_event()); }) == inserted);
}

TEST_CASE("who waits after a loan waits for the work enqueued in it") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream a = cpu_stream(), b = cpu_stream();
    a.wait_stream(b);
    CHECK(lend(b, [&] {
        gate.hold(b);
        note_natively(b, seen, "native");
    }));
    a.wait_stream(b);
    seen.note(a, "a");
    finish_work(cpu_device());
    CHECK(seen.seen().empty());
    check_opened(seen, gate, a, {"native", "a"});
}

TEST_CASE("a wait inside a loan is never elided, and covers no later work of the loan") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream a = cpu_stream(), b = cpu_stream(), c = cpu_stream();
    launch_host(b, [] {});
    a.wait_stream(b);
    CHECK(lend(b, [&] {
        CHECK(waits_of([&] { a.wait_stream(b); }) == inserted);
        note_natively(b, seen, "first");
        CHECK(waits_of([&] { a.wait_stream(b); }) == inserted);
        // A wait by another thread, which may know of the work, is inserted, too.
        on_another_thread([&] { CHECK(waits_of([&] { c.wait_stream(b); }) == inserted); });
        gate.hold(b);
        note_natively(b, seen, "second");
    }));
    CHECK(waits_of([&] { a.wait_stream(b); }) == inserted);
    CHECK(waits_of([&] { c.wait_stream(b); }) == inserted);
    seen.note(c, "c");
    CHECK(eventually([&] { return seen.has("first"); }));  // another worker may run it
    finish_work(cpu_device());
    CHECK(seen.seen() == Strings{"first"});
    check_opened(seen, gate, c, {"first", "second", "c"});
    CHECK(waits_of([&] { a.wait_stream(b); }) == elided);
}

TEST_CASE("an event recorded inside a loan orders its waiter, whatever that has waited for") {
    const Drained drained;
    const Stream a = cpu_stream(), b = cpu_stream();
    Event event(cpu_device());
    CHECK(lend(b, [&] {
        enqueue_natively(b, [] {});
        b.record_event(event);
        enqueue_natively(b, [] {});
    }));
    CHECK(waits_of([&] { a.wait_event(event); }) == inserted);
    CHECK(waits_of([&] { a.wait_stream(b); }) == inserted);
}

TEST_CASE("memory freed inside a loan goes to no stream that had waited before") {
    if (HEDDLE_TEST_SANITIZED) HEDDLE_SKIP("memory with pending work is not kept by sanitizers");
    constexpr std::size_t n = 66'666;  // other tests allocate no arrays of this size class
    DrainedGate gate;
    const Stream s = cpu_stream(), t = cpu_stream();
    gate.hold(s);
    t.wait_stream(s);
    const int* freed = nullptr;
    CHECK(lend(s, [&] {
        Array<int> temporary = empty<int>(s, n);
        freed = temporary.data();
        enqueue_natively(s, [at = temporary.data()] { *at = 7; });
    }));
    std::vector<Array<int>> some;
    // Tries several times, because each allocation searches only a few streams.
    const auto gets_it = [&] {
        for (int i = 0; i < 40; ++i) {
            some.push_back(empty<int>(t, n));
            if (some.back().data() == freed) return true;
        }
        return false;
    };
    CHECK_FALSE(gets_it());  // the native work may still use it
    t.wait_stream(s);
    CHECK(gets_it());
    gate.open();
}

TEST_CASE("an exception from the function passes, and what was enqueued before it counts") {
    const Stream a = cpu_stream(), b = cpu_stream();
    a.wait_stream(b);
    CHECK_THROWS_AS(lend(b,
                         [&] {
                             enqueue_natively(b, [] {});
                             throw Boom("in the function");
                         }),
                    Boom);
    CHECK(waits_of([&] { a.wait_stream(b); }) == inserted);
    CHECK(waits_of([&] { a.wait_stream(b); }) == elided);
}

TEST_CASE("on a failed stream the function is not called, and the work counts as dropped") {
    const Drained drained;
    const Stream s = cpu_stream(), t = cpu_stream();
    Array<int> x = ready_zeros<int>(t, 8);
    poison(s);
    const OpCounter counted;
    bool called = false;
    CHECK_FALSE(lend(s, [&] { called = true; }, writes(x)));
    CHECK_FALSE(called);
    CHECK(counted.stats().dropped == 1);
    // The array's next user inherits the failure of the work that should have written it.
    CHECK_THROWS_AS(to_host(x), WorkFailed);
    CHECK(s.clear_error() != nullptr);
    (void)clear_errors(cpu_device());
    CHECK(lend(s, [&] { called = true; }));
    CHECK(called);
}

TEST_CASE("a loan of a dead stream, or with memory of a freed array, is refused") {
    StreamRef dead = default_stream(cpu_device());
    { dead = cpu_stream(); }
    CHECK(error_of([&] { lend(dead, [] {}); })->code() == ErrorCode::usage);
    const Stream s = cpu_stream();
    std::optional<Array<int>> x(zeros<int>(s, 8));
    const View<int> view = x->view();
    x.reset();
    CHECK(std::string(thrown_by([&] { lend(s, [] {}, writes(view)); }).call()) == "lend");
    const Stream t = cpu_stream();  // the refused loan is not open
    launch_host(s, [] {});
    t.wait_stream(s);
    CHECK(waits_of([&] { t.wait_stream(s); }) == elided);
}

TEST_CASE("loans may be nested, on one stream and on several") {
    const Stream a = cpu_stream(), b = cpu_stream(), c = cpu_stream();
    CHECK(lend(b, [&] {
        CHECK(lend(b, [&] { enqueue_natively(b, [] {}); }));
        CHECK(lend(c, [&] { enqueue_natively(c, [] {}); }));
        a.wait_stream(b);
        CHECK(waits_of([&] { a.wait_stream(b); }) == inserted);  // the outer loan is open
        a.wait_stream(c);
        CHECK(waits_of([&] { a.wait_stream(c); }) == elided);
    }));
    CHECK(waits_of([&] { a.wait_stream(b); }) == inserted);
    CHECK(waits_of([&] { a.wait_stream(b); }) == elided);
}

TEST_CASE("two threads lend one stream: it is lent until the last one ends") {
    const Stream a = cpu_stream(), b = cpu_stream();
    const Flag is_lent, may_end;
    std::thread other([&] {
        lend(b, [&] {
            is_lent.set();
            may_end.wait();
        });
    });
    CHECK(is_lent.wait());
    CHECK(lend(b, [&] { enqueue_natively(b, [] {}); }));
    a.wait_stream(b);
    CHECK(waits_of([&] { a.wait_stream(b); }) == inserted);
    may_end.set();
    other.join();
    CHECK(waits_of([&] { a.wait_stream(b); }) == inserted);
    CHECK(waits_of([&] { a.wait_stream(b); }) == elided);
}

TEST_CASE("threads lend and enqueue on one stream at once, and none of its work is lost") {
    const Stream s = cpu_stream(), t = cpu_stream();
    std::atomic<int> done{0};
    const auto work = [&](bool lends) {
        for (int i = 0; i < 200; ++i) {
            const auto one = [&] { ++done; };
            if (lends) lend(s, [&] { enqueue_natively(s, one); });
            else launch_host(s, one);
        }
    };
    std::thread first(work, true), second(work, true), third(work, false);
    first.join(), second.join(), third.join();
    t.wait_stream(s);
    int at_the_end = 0;
    launch_host(t, [&] { at_the_end = done.load(); });
    t.synchronize();
    CHECK(at_the_end == 600);
    CHECK(waits_of([&] { t.wait_stream(s); }) == elided);
}

TEST_CASE("a stream may end in its own loan") {
    const Stream t = cpu_stream();
    std::optional<Stream> s(cpu_stream());
    CHECK(lend(*s, [&] { s.reset(); }));
    // The stream's record may have been reused for another stream, which the end of the loan must
    // not change.
    std::vector<Stream> some;
    for (int i = 0; i < 20; ++i) some.push_back(cpu_stream());
    for (const Stream& one : some) {
        launch_host(one, [] {});
        t.wait_stream(one);
        CHECK(waits_of([&] { t.wait_stream(one); }) == elided);
    }
}
