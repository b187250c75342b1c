// When the `end` of adopt() is called: with errors, host functions, threads, exit and fork.
#include "child.hpp"
#include "kernels.hpp"
#include "memory/lender.hpp"
#include "support.hpp"

#include <atomic>
#include <memory>
#include <optional>

using namespace heddle_test;

TEST_CASE("an end that throws is reported, and the others are called") {
    Lender lender;
    const Reports reports;
    {
        const Array<int> x = adopt(cpu_device(), lender.data, n, [](int*) { throw Boom("end"); });
    }
    const Stream s(cpu_device());
    {
        Array<int> x = adopt(cpu_device(), lender.data, n, [](int*) { throw Boom("end"); });
        launch(s, Add{}, dim(n), x, 1);
    }
    {
        Array<int> x = lender.give();
        launch(s, Add{}, dim(n), x, 1);
    }
    finish_adopted();
    CHECK(lender.ended == 1);
    CHECK(reports.count() == 2);
}

TEST_CASE("memory may be adopted again as soon as its array is gone, without a copy of old uses") {
    Lender lender;
    const Stream a(cpu_device()), b(cpu_device());
    for (int i = 0; i < 1000; ++i) {
        Array<int> x = lender.give();
        launch(i % 2 != 0 ? a : b, Add{}, dim(10), x, 1);
        a.synchronize();
        b.synchronize();
    }
    finish_adopted();
    CHECK(lender.ended == 1000);
    CHECK(lender.data[9] == 1000);
}

TEST_CASE("arrays that are freed in host functions end on a thread of heddle") {
    Lender lender;
    const Stream s(cpu_device());
    const OrderLog seen;
    auto x = std::make_shared<Array<int>>(lender.give());
    auto y = std::make_shared<Array<int>>(
        adopt(cpu_device(), lender.data + n, 0,
              [&](int*, StreamRef after) { seen.note(after, "freed"); }));
    std::optional<Error> refused;
    launch_host(s, [&] {
        x.reset();
        y.reset();
        refused = error_of([] { finish_adopted(); });
    });
    s.synchronize();
    finish_adopted();
    CHECK(lender.ended == 1);
    CHECK(eventually([&] { return seen.has("freed"); }));
    CHECK(mentions(refused, "must not wait"));
}

TEST_CASE("an end may not wait for ends, and may use heddle") {
    Lender lender;
    const Stream s(cpu_device());
    std::optional<Error> refused;
    int result = 0;
    {
        Array<int> x = adopt(cpu_device(), lender.data, n, [&](int*) {
            refused = error_of([] { finish_adopted(); });
            result = to_host(full<int>(s, 10, 4))[3];
        });
        launch(s, Add{}, dim(n), x, 1);
    }
    finish_adopted();
    CHECK(mentions(refused, "the function that ends an adopted array must not wait"));
    CHECK(result == 4);
}

TEST_CASE("many threads adopt and give up") {
    std::atomic<int> ended{0};
    on_threads(4, [&] {
        const Stream s(cpu_device());
        for (int i = 0; i < 50; ++i) {
            auto* const data = new int[64]();
            Array<int> x = adopt(cpu_device(), data, 64, [&](int* p) {
                delete[] p;
                ++ended;
            });
            launch(s, Add{}, dim(64), x, 1);
        }
        finish_adopted();
    });
    finish_adopted();
    CHECK(ended == 200);
}

TEST_CASE("child: exit with adopted memory in use", "[.child]") {
    end_if_it_hangs();
    static Lender lender;
    static const Stream s(cpu_device());
    static Gate gate;
    static Array<int> kept = adopt(cpu_device(), lender.data, 10, [](int*) { std::_Exit(4); });
    {
        Array<int> x = adopt(cpu_device(), lender.data + 10, 10, [](int*) { std::_Exit(5); });
        gate.hold(s);
        launch(s, Add{}, dim(10), x, 1);
        launch(s, Add{}, dim(10), kept, 1);
    }
    static Array<int> unused =
        adopt(cpu_device(), lender.data + 20, 10, [](int*) { std::_Exit(6); });
    std::exit(0);
}

TEST_CASE("when exit() has begun, no end is called") {
    const ChildResult child = run_test_case("child: exit with adopted memory in use");
    INFO(child.output);
    CHECK(child.signal == 0);
    CHECK(child.status == 0);
    CHECK(child.output.find("heddle:") == std::string::npos);
}

TEST_CASE("the child of a fork calls no end of its parent, and adopts its own memory") {
    HEDDLE_SKIP_WITHOUT_FORK();
    if (test_device().is_cuda()) HEDDLE_SKIP("a forked child cannot use CUDA");
    Lender lender;
    const Stream s(cpu_device());
    Gate gate;
    Array<int> used = lender.give();
    std::optional<Array<int>> unused =
        adopt(cpu_device(), lender.data + n, 0, [&](int*) { ++lender.ended; });
    gate.hold(s);
    launch(s, Add{}, dim(n), used, 1);
    const ChildResult child = run_forked([&] {
        used.reset();
        unused.reset();
        finish_adopted();
        if (lender.ended != 0) return 1;
        {
            const Stream own(cpu_device());
            static int data[16];
            Array<int> x = adopt(cpu_device(), data, 16, [&](int*) { lender.ended += 10; });
            launch(own, Add{}, dim(16), x, 1);
        }
        finish_adopted();
        return lender.ended == 10 ? 0 : 2;
    });
    CHECK(child.status == 0);
    gate.open();
    used.reset();
    unused.reset();
    finish_adopted();
    CHECK(lender.ended == 2);
}
