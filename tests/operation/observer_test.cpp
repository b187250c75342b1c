// Observers receive exactly one description of each operation, with its details.
#include "kernel_launches.hpp"
#include "operation/watch.hpp"

using namespace heddle_test;

TEST_CASE("a launch is described by its kernel's name, its stream and where it was written") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    Watch watch;
    const unsigned line = __LINE__ + 1;
    launch(s, Add{}, dim(10), x, 1);
    const std::vector<Seen> ops = watch.take(OpKind::launch);
    REQUIRE(ops.size() == 1);
    CHECK_THAT(ops[0].name, contains("Add"));
    CHECK(ops[0].name.find("PortableOp") ==
          std::string::npos);  // the user's name, not an internal one
    CHECK(ops[0].stream == s.id());
    CHECK(ops[0].line == line);
    CHECK_THAT(ops[0].file, contains("observer_test.cpp"));
    CHECK(ops[0].thread == std::this_thread::get_id());
}

TEST_CASE("a launch tells which arguments it reads and which it writes") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10), y = zeros<int>(s, 20);
    Watch watch;
    launch(s, AddTo{}, dim(10), std::as_const(x), y);
    launch(s, Add{}, dim(5), y.view().subview(5, 5), 1);
    const std::vector<Seen> ops = watch.take(OpKind::launch);
    REQUIRE(ops.size() == 2);
    REQUIRE(ops[0].accesses.size() == 2);
    CHECK(ops[0].accesses[0].data == x.data());
    CHECK(ops[0].accesses[0].bytes == 40);
    CHECK_FALSE(ops[0].accesses[0].writes());
    CHECK(ops[0].accesses[1].data == y.data());
    CHECK(ops[0].accesses[1].bytes == 80);
    CHECK(ops[0].accesses[1].writes());
    REQUIRE_FALSE(ops[1].accesses.empty());
    CHECK(ops[1].accesses[0].data == y.data() + 5);
    CHECK(ops[1].accesses[0].bytes == 20);
}

TEST_CASE("what a kernel declares that it reads only is read only, whatever array is passed") {
    // The types of a kernel's parameters determine which memory it reads and which it writes.
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10), y = zeros<int>(s, 10);
    Watch watch;
    launch(s, CopyKernel{}, dim(10), x, y);
    const std::vector<Seen> ops = watch.take(OpKind::launch);
    REQUIRE(ops.size() == 1);
    REQUIRE(ops[0].accesses.size() == 2);
    CHECK_FALSE(ops[0].accesses[0].writes());
    CHECK(ops[0].accesses[1].writes());
}

TEST_CASE("a copy is described with its bytes and both memories") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10), y = zeros<int>(s, 10);
    Watch watch;
    const unsigned line = __LINE__ + 1;
    copy(s, y, x);
    const std::vector<Seen> ops = watch.take(OpKind::copy);
    REQUIRE(ops.size() == 1);
    CHECK(ops[0].op.bytes == 40);
    CHECK(ops[0].stream == s.id());
    CHECK(ops[0].line == line);
    CHECK_FALSE(ops[0].name.empty());
    REQUIRE(ops[0].accesses.size() == 2);
    int reads = 0, writes = 0;
    for (const OpAccess& a : ops[0].accesses) {
        CHECK(a.bytes == 40);
        reads += !a.writes() && a.data == x.data();
        writes += a.writes() && a.data == y.data();
    }
    CHECK(reads == 1);
    CHECK(writes == 1);
}

TEST_CASE("a fill is described with its bytes and what it writes") {
    const Stream s(test_device());
    Array<double> x = zeros<double>(s, 10);
    Watch watch;
    const unsigned line = __LINE__ + 1;
    fill(s, x.view().first(4), 1.0);
    const std::vector<Seen> ops = watch.take(OpKind::fill);
    REQUIRE(ops.size() == 1);
    CHECK(ops[0].op.bytes == 32);
    CHECK(ops[0].stream == s.id());
    CHECK(ops[0].line == line);
    REQUIRE(ops[0].accesses.size() == 1);
    CHECK(ops[0].accesses[0].data == x.data());
    CHECK(ops[0].accesses[0].writes());
}

TEST_CASE("a host function is described where it was enqueued") {
    const Stream s(test_device());
    Watch watch;
    const unsigned line = __LINE__ + 1;
    launch_host(s, [] {});
    const std::vector<Seen> ops = watch.take(OpKind::host_function);
    REQUIRE(ops.size() == 1);
    CHECK(ops[0].stream == s.id());
    CHECK(ops[0].line == line);
    CHECK_FALSE(ops[0].name.empty());
    s.synchronize();
}

TEST_CASE("allocating and freeing are described with their bytes") {
    const Stream s(test_device());
    Watch watch;
    const unsigned line = __LINE__ + 1;
    Array<int> x = empty<int>(s, 1000);
    const std::vector<Seen> made = watch.take(OpKind::allocate);
    REQUIRE(made.size() == 1);
    CHECK(made[0].op.bytes == 4000);
    CHECK(made[0].line == line);
    CHECK(made[0].stream == s.id());
    x.reset();
    const std::vector<Seen> freed = watch.take(OpKind::free);
    REQUIRE(freed.size() == 1);
    CHECK(freed[0].op.bytes == 4000);
}

TEST_CASE("records and waits are described, and whether a wait was elided") {
    const Stream a(test_device()), b(test_device());
    launch_host(b, [] {});
    Watch watch;
    const Event event = b.record_event();
    const std::vector<Seen> records = watch.take(OpKind::record);
    REQUIRE(records.size() == 1);
    CHECK(records[0].stream == b.id());

    const unsigned line = __LINE__ + 1;
    a.wait_stream(b);
    const std::vector<Seen> waits = watch.take(OpKind::wait);
    REQUIRE(waits.size() == 1);
    CHECK(waits[0].stream == a.id());
    CHECK(waits[0].other == b.id());
    CHECK(waits[0].line == line);

    a.wait_stream(b);
    const std::vector<Seen> elided = watch.take(OpKind::wait_elided);
    REQUIRE(elided.size() == 1);
    CHECK(elided[0].stream == a.id());
    CHECK(elided[0].other == b.id());

    launch_host(b, [] {});
    const Event later = b.record_event();
    watch.take(OpKind::record);
    a.wait_event(later);
    const std::vector<Seen> event_waits = watch.take(OpKind::wait);
    REQUIRE(event_waits.size() == 1);
    CHECK(event_waits[0].other == b.id());
}

TEST_CASE("the waits of a scope are described where the scope was written") {
    const Stream a(test_device()), b(test_device());
    const ScopedStream in{a};
    launch_host([] {});
    Watch watch;
    const unsigned line = __LINE__ + 1;
    const ScopedStream inner{b};
    const std::vector<Seen> waits = watch.take(OpKind::wait);
    REQUIRE(waits.size() == 1);
    CHECK(waits[0].stream == b.id());
    CHECK(waits[0].other == a.id());
    CHECK(waits[0].line == line);
}

TEST_CASE("host waits are described") {
    const Stream s(test_device());
    const Event event = s.record_event();
    Watch watch;
    s.synchronize();
    const std::vector<Seen> ops = watch.take(OpKind::synchronize);
    REQUIRE(ops.size() == 1);
    CHECK(ops[0].stream == s.id());
    event.synchronize();
    CHECK(watch.take(OpKind::synchronize).size() == 1);
    synchronize_device(test_device());
    CHECK(watch.take(OpKind::synchronize).size() == 1);
}

TEST_CASE("what a poisoned stream drops is described as dropped") {
    const Stream s(test_device());
    poison(s);
    Watch watch;
    launch_host(s, [] {});
    CHECK(watch.take(OpKind::dropped).size() == 1);
    launch_host(s, [] {});
    CHECK(watch.take(OpKind::host_function).empty());
}

TEST_CASE("a stream's operations have growing positions") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    Watch watch;
    for (int i = 0; i < 10; ++i) launch(s, Add{}, dim(10), x, 1);
    const std::vector<Seen> ops = watch.take(OpKind::launch);
    REQUIRE(ops.size() == 10);
    for (std::size_t i = 1; i < ops.size(); ++i) CHECK(ops[i].op.position > ops[i - 1].op.position);
}

TEST_CASE("each observer sees everything; a removed one sees no more") {
    const Stream s(test_device());
    Watch first;
    {
        Watch second;
        launch_host(s, [] {});
        CHECK(second.take(OpKind::host_function).size() == 1);
    }
    launch_host(s, [] {});
    CHECK(first.take(OpKind::host_function).size() == 2);
    s.synchronize();
}

TEST_CASE("a refused operation is not described") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10), y = zeros<int>(s, 11);
    Watch watch;
    CHECK_THROWS_AS(copy(s, x, y), UsageError);
    CHECK(watch.take(OpKind::copy).empty());
}

TEST_CASE("observers may come and go while other threads work") {
    const Drained drained;
    std::atomic<bool> stop{false};
    Threads threads(3, [&] {
        const Stream s(test_device());
        while (!stop) {
            launch_host(s, [] {});
            s.synchronize();
        }
    });
    const Stream mine(test_device());
    std::size_t missed = 0;
    for (int i = 0; i < 100; ++i) {
        Watch watch;  // destroyed in each iteration, while threads enqueue
        launch_host(mine, [] {});
        bool found = false;
        for (const Seen& s : watch.take(OpKind::host_function))
            found = found || s.stream == mine.id();
        missed += !found;
    }
    stop = true;
    threads.join();
    CHECK(missed == 0);
}

TEST_CASE("every kind of operation has its own text") {
    Strings texts;
    for (std::size_t i = 0; i < op_kinds; ++i) {
        const std::string text = to_string(static_cast<OpKind>(i));
        CHECK_FALSE(text.empty());
        CHECK(std::find(texts.begin(), texts.end(), text) == texts.end());
        texts.push_back(text);
    }
}

TEST_CASE("observers come and go while there is never a moment without a thread inside of one") {
    // Each of two threads stays in the observer until the other thread has entered it, too.
    struct Overlapping final : Observer {
        std::atomic<std::uint64_t> visits[2] = {};
        std::atomic<bool> stop{false};
        void on_op(const OpInfo& op) noexcept override {
            if (op.kind != OpKind::wait_elided) return;
            const std::size_t mine = op.where.line % 2;
            ++visits[mine];
            while (!stop && visits[1 - mine] < visits[mine]) std::this_thread::yield();
        }
    };
    struct Quiet final : Observer {
        void on_op(const OpInfo&) noexcept override {}
    };
    Overlapping overlapping;
    add_observer(overlapping);
    Threads threads(2, [&](unsigned t) {
        const Stream s(cpu_device());
        while (!overlapping.stop) s.wait_stream(s, SourceLocation{"here", t});
    });
    const Flag came_and_went;
    std::thread other([&] {
        for (int i = 0; i < 100; ++i) {
            Quiet quiet;
            add_observer(quiet);
            remove_observer(quiet);
        }
        came_and_went.set();
    });
    CHECK(came_and_went.wait());
    overlapping.stop = true;
    threads.join();
    other.join();
    remove_observer(overlapping);
}

TEST_CASE("an observer may remove itself") {
    struct Once final : Observer {
        int seen = 0;
        void on_op(const OpInfo&) noexcept override {
            ++seen;
            remove_observer(*this);
        }
    } once;
    const Stream s(cpu_device());
    add_observer(once);
    s.wait_stream(s);
    s.wait_stream(s);
    CHECK(once.seen == 1);
}
