// Loans: the end of a loan blocks until all work on the lent memory is done.
#include "child.hpp"
#include "kernels.hpp"
#include "support.hpp"

#include <optional>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

using namespace heddle_test;

namespace {
constexpr std::size_t n = 1000;
}

TEST_CASE("a loan's end waits for all work on its memory") {
    Ints values(n, 1);
    const Stream a(cpu_device()), b(cpu_device());
    Gate gate;
    std::optional<Loan> loan(std::in_place);
    const Flag about_to_end;
    std::thread opener;
    {
        Array<int> x = loan->lend(cpu_device(), values);
        CHECK(x.data() == values.data());
        gate.hold(a);
        launch(a, Add{}, dim(n / 2), x.first(n / 2), 1);
        launch(b, Add{}, dim(n / 2), x.last(n / 2), 1);
    }
    opener = std::thread([&] {
        about_to_end.wait();
        gate.open();
    });
    about_to_end.set();
    loan.reset();
    CHECK(values == Ints(n, 2));
    opener.join();
}

TEST_CASE("an array that outlives its loan is dead") {
    Ints values(n, 1);
    const Stream s(cpu_device());
    Array<int> x;
    View<int> part;
    {
        Loan loan;
        x = loan.lend(cpu_device(), values);
        part = x.first(10);
        launch(s, Add{}, dim(n), x, 1);
    }
    CHECK(values == Ints(n, 2));
    values = Ints();
    const auto late = [&](auto&& memory) {
        return error_of([&] { launch(s, Add{}, dim(10), memory, 1); });
    };
    CHECK(mentions(late(x), "its Loan has ended"));
    CHECK(mentions(late(part), "its Loan has ended"));
    CHECK(mentions(error_of([&] { copy(s, x, Ints(n, 1)); }), "its Loan has ended"));
}

TEST_CASE("a range is lent several times by one loan, as the same memory") {
    Ints values(n, 1);
    const Stream a(cpu_device()), b(cpu_device());
    Loan loan;
    for (std::size_t i = 0; i < 100; ++i) {
        Array<int> x = loan.lend(cpu_device(), values);
        launch(i % 2 != 0 ? a : b, Add{}, dim(10), x.subview((i % 2) * 10, 10), 1);
    }
    CHECK(mentions(error_of([&] { (void)loan.lend(cpu_device(), std::span(values).first(10)); }),
                   "already belongs to an array"));
    loan.end();
    CHECK(values[0] == 51);
    CHECK(values[10] == 51);
    const Array<int> again = loan.lend(cpu_device(), std::span(values).first(10));
    CHECK(again.size() == 10);
}

TEST_CASE("a loan's end flushes batches, and does not throw failures of work") {
    Ints values(n, 1);
    Stream s(cpu_device());
    {
        Batch batch{BatchOptions{.on_cpu = true}};
        const ScopedBatch in(batch, s);
        Loan loan;
        Array<int> x = loan.lend(cpu_device(), values);
        launch(s, Add{}, dim(n), x, 1);
        loan.end();
        CHECK(values[5] == 2);
    }
    Loan loan;
    Array<int> x = loan.lend(cpu_device(), values);
    launch_host(s, [] { throw Boom("failed"); }, writes(x));
    loan.end();
    CHECK_THROWS_AS(s.synchronize(), Error);
    (void)s.clear_error();
}

TEST_CASE("a captured graph cannot use memory whose loan has ended") {
    Ints values(n, 1);
    const Stream s(cpu_device());
    Loan loan;
    Array<int> x = loan.lend(cpu_device(), values);
    ScopedCapture capture(s);
    launch(s, Add{}, dim(n), x, 1);
    Graph graph = capture.end();
    graph.launch(s);
    loan.end();
    CHECK(values[1] == 2);
    CHECK_THROWS_AS(graph.launch(s), UsageError);
}

TEST_CASE("a loan does not end in a host function") {
    Ints values(n, 1);
    const Stream s(cpu_device());
    Loan outside;
    Array<int> x = outside.lend(cpu_device(), values);
    std::optional<Error> refused;
    const Reports reports;
    Ints others(n, 1);
    Array<int> y;
    launch_host(s, [&] {
        refused = error_of([&] { outside.end(); });
        Loan inside;
        y = inside.lend(cpu_device(), others);
    });
    s.synchronize();
    CHECK(mentions(refused, "must not wait"));
    CHECK(reports.count() == 1);
    launch(s, Add{}, dim(n), x, 1);  // the loan `outside` is still open
    CHECK_THROWS_AS(launch(s, Add{}, dim(n), y, 1), UsageError);
    outside.end();
    CHECK(values[3] == 2);
}

TEST_CASE("registered memory is pinned, for several arrays of one page, too") {
    const Stream s(test_device());
    Ints values(1 << 16, 1);
    Ints small(8, 2);
    Loan loan, other;
    Array<int> x = loan.register_host(values);
    CHECK(x.kind() == MemoryKind::pinned);
    Array<int> first = loan.register_host(std::span(small).first(4));
    Array<int> second = other.register_host(std::span(small).last(4));
    Array<int> there(s, values.size());
    copy(s, there, x);
    copy(s, second, first);
    launch(s, Add{}, dim(values.size()), there, 1);
    copy(s, x, there);
    loan.end();
    other.end();
    CHECK(values == Ints(1 << 16, 2));
    CHECK(small == Ints(8, 2));
}

TEST_CASE("memory that cannot be registered is refused, with what to do") {
    Ints values(n, 1);
    Loan loan;
    const Array<int> x = loan.register_host(values);
    Loan other;
    CHECK(mentions(error_of([&] { (void)other.register_host(values); }),
                   "already belongs to an array"));
    CHECK(mentions(
        error_of([&] { (void)other.register_host(std::span<int>(static_cast<int*>(nullptr), 3)); }),
        "the address is null"));
    if (!test_device().is_cuda()) return;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const mapped =
        mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(mapped != MAP_FAILED);
    const std::span<int> pages(static_cast<int*>(mapped), 3 * page / sizeof(int));
    {
        const Array<int> part = other.register_host(pages.first(pages.size() / 2));
        CHECK(mentions(error_of([&] { (void)other.register_host(pages.last(pages.size() / 2)); }),
                       "registered already for other memory"));
        other.end();
        const Array<int> all = other.register_host(pages);
        other.end();
    }
    munmap(mapped, 3 * page);
}

TEST_CASE("the child of a fork ends a loan of its parent without waiting") {
    HEDDLE_SKIP_WITHOUT_FORK();
    Ints values(n, 1);
    const Stream s(cpu_device());
    Gate gate;
    Loan loan;
    Array<int> x = loan.lend(cpu_device(), values);
    gate.hold(s);
    launch(s, Add{}, dim(n), x, 1);
    const ChildResult child = run_forked([&] {
        loan.end();
        return 0;
    });
    CHECK(child.status == 0);
    gate.open();
}
