// Arrays that several processes share.
#include "child.hpp"
#include "cpu/device/shared_file.hpp"
#include "kernels.hpp"
#include "support.hpp"

#include <heddle/by_data.hpp>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace heddle_test;

namespace {

/// Passes handles to child processes in their environment, as hexadecimal digits.
template <class H> std::string as_text(const H& handle) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&handle);
    std::string text;
    for (std::size_t i = 0; i < sizeof handle; ++i) {
        text += "0123456789abcdef"[bytes[i] / 16];
        text += "0123456789abcdef"[bytes[i] % 16];
    }
    return text;
}
template <class H> H from_text(const char* variable) {
    const std::string text = std::getenv(variable);
    H handle;
    auto* bytes = reinterpret_cast<unsigned char*>(&handle);
    for (std::size_t i = 0; i < sizeof handle; ++i)
        bytes[i] = static_cast<unsigned char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
    return handle;
}

ChildResult child_with(const std::string& test, const ArrayHandle& handle) {
    return run_test_case(test, {"HEDDLE_TEST_HANDLE=" + as_text(handle)});
}

ArrayHandle handle_of_parent() { return from_text<ArrayHandle>("HEDDLE_TEST_HANDLE"); }

}  // namespace

TEST_CASE("a shareable array is an array like all others in its own process") {
    const Stream s(test_device());
    Array<int> x = shareable<int>(test_device(), 1000);
    CHECK(x.device() == test_device());
    CHECK(x.kind() == MemoryKind::device);
    CHECK(x.size() == 1000);
    fill(s, x, 4);
    launch(s, Add{}, dim(1000), x, 3);
    Array<int> y = empty<int>(s, 1000);
    copy(s, y, x);
    CHECK(to_host(s, y) == Ints(1000, 7));
    const ScopedDevice on{test_device()};
    CHECK(shareable<int>(0).empty());
    CHECK(shareable<double>(3).device() == test_device());
}

TEST_CASE("a shareable array may be freed while streams still use it") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> y = empty<int>(s, 1000);
    Gate gate;
    {
        Array<int> x = shareable<int>(test_device(), 1000);
        fill(s, x, 4);
        gate.hold(s);
        copy(s, y, x);
    }
    Array<int> other = shareable<int>(test_device(), 1000);
    const Stream t(test_device());
    fill(t, other, 9);
    t.synchronize();
    gate.open();
    CHECK(to_host(s, y) == Ints(1000, 4));
}

TEST_CASE("another process reads and writes a shared array") {
    const Stream s(test_device());
    Array<int> x = shareable<int>(test_device(), 10'000);
    fill(s, x, 5);
    s.synchronize();
    const ChildResult child = child_with("child: adds to a shared array", export_array(x));
    INFO(child.output);
    CHECK(child.status == 0);
    CHECK(to_host(s, x) == Ints(10'000, 8));
}

TEST_CASE("child: adds to a shared array", "[.child]") {
    end_if_it_hangs();
    const Stream s(test_device());
    Array<int> x = import_array<int>(handle_of_parent());
    CHECK(x.device() == test_device());
    REQUIRE(to_host(s, x) == Ints(10'000, 5));
    launch(s, Add{}, dim(10'000), x, 3);
    s.synchronize();
}

TEST_CASE("a part of an array is shared, at its place") {
    const Stream s(test_device());
    Array<int> x = shareable<int>(test_device(), 100);
    fill(s, x, 1);
    s.synchronize();
    const ChildResult child =
        child_with("child: fills a shared part", export_array(x.view().subview(30, 20)));
    INFO(child.output);
    CHECK(child.status == 0);
    Ints expected(100, 1);
    std::fill(expected.begin() + 30, expected.begin() + 50, 2);
    CHECK(to_host(s, x) == expected);
}

TEST_CASE("child: fills a shared part", "[.child]") {
    end_if_it_hangs();
    const Stream s(test_device());
    {
        Array<int> x = import_array<int>(handle_of_parent());
        CHECK(x.size() == 20);
        fill(s, x, 2);
        Array<int> twice =
            import_array<int>(handle_of_parent());  // imports the same memory a second time
        CHECK(to_host(s, twice) == Ints(20, 2));
    }  // destroyed although the stream may still fill the array
    s.synchronize();
}

TEST_CASE("by data: two imports of one array, or of parts of it, are one memory") {
    const Array<int> x = shareable<int>(test_device(), 100);
    check_test_case("child: orders two imports by data",
                    {"HEDDLE_TEST_HANDLE=" + as_text(export_array(x)),
                     "HEDDLE_TEST_PART=" + as_text(export_array(x.view().subview(30, 20)))});
}

TEST_CASE("child: orders two imports by data", "[.child]") {
    end_if_it_hangs();
    const Here here;
    Array<int> y = zeros<int>(20);
    here.stream.synchronize();
    const Array<int> other = shareable<int>(test_device(), 20);
    const Drained drained;
    const OrderLog seen;
    Gate gate;
    DataOrder order(test_device(), {.streams = 3, .spread = DataSpread::always});
    Array<int> part = import_array<int>(from_text<ArrayHandle>("HEDDLE_TEST_PART"));
    {
        Array<int> whole = import_array<int>(handle_of_parent());
        order.task({writes(whole)}, [&](StreamRef s) { gate.hold(s); });
        launch(order, Set{}, dim(100), whole, 7);
    }  // work on `whole` is still pending
    order.task({writes(y)}, [](StreamRef) {});
    launch(order, CopyKernel{}, dim(20), part, y);
    launch_host(order, [seen] { seen.add("again"); }, reads(import_array<int>(handle_of_parent())));
    launch_host(order, [seen] { seen.add("other"); }, reads(other));
    CHECK(eventually([&] { return seen.has("other"); }));
    finish_work(test_device());
    CHECK(seen.seen() == Strings{"other"});
    gate.open();
    CHECK(to_host(order, y) == Ints(20, 7));
}

TEST_CASE("what cannot be shared is refused, with what to do") {
    const Stream s(test_device());
    const ScopedStream in(s);
    Array<int> of_pool = zeros<int>(10);
    std::vector<int> own(10);
    const auto text = "shareable<T>";
    CHECK(mentions(error_of([&] { (void)export_array(of_pool); }), text));
    CHECK(mentions(error_of([&] { (void)export_array(pinned<int>(10)); }), text));
    CHECK(mentions(
        error_of([&] { (void)export_array(View<int>(own.data(), own.size())); }),
        "does not belong to an array of heddle: export an array that was made with shareable"));
    Array<int> x = shareable<int>(10);
    const View<int> late = x.view();
    const ArrayHandle handle = export_array(x);
    CHECK(mentions(error_of([&] { (void)import_array<int>(handle); }), "use the original array"));
    x.reset();
    CHECK_THROWS_AS(export_array(late), UsageError);
    CHECK_THROWS_AS(import_array<int>(ArrayHandle{}), UsageError);
    ArrayHandle foreign = handle;
    foreign.process = 1;
    CHECK(mentions(error_of([&] { (void)import_array<int>(foreign); }), "damaged"));
    foreign.check = detail::check_of(foreign);
    CHECK(mentions(error_of([&] { (void)import_array<double>(foreign); }), "elements of 8 bytes"));
    ArrayHandle damaged = foreign;
    damaged.size = 11;
    CHECK(mentions(error_of([&] { (void)import_array<int>(damaged); }), "damaged"));
    damaged.check = detail::check_of(damaged);
    CHECK(mentions(error_of([&] { (void)import_array<int>(damaged); }), "describes more memory"));
    ArrayHandle crooked = foreign;
    crooked.offset = 2;
    crooked.size = 1;
    crooked.check = detail::check_of(crooked);
    CHECK(mentions(error_of([&] { (void)import_array<int>(crooked); }), "not aligned"));
    EventHandle other_kind;  // starts with the same members
    static_assert(sizeof other_kind <= sizeof foreign);
    std::memcpy(static_cast<void*>(&other_kind), &foreign, sizeof other_kind);
    CHECK(mentions(error_of([&] { (void)import_event(other_kind); }),
                   "was not returned by export_event()"));
    if (test_device().is_cpu()) {
        const Error too_large = thrown_by([] { (void)shareable<float>(std::size_t{1} << 48); });
        CHECK(too_large.code() == ErrorCode::out_of_memory);
        CHECK(mentions(too_large, "bytes of shared memory cannot be allocated ("));
    }
    const Event shared(test_device(), {.interprocess = true});
    CHECK(mentions(error_of([&] { (void)import_event(export_event(shared)); }),
                   "use the original event"));
}

TEST_CASE("a GPU that this process does not see is named in the error") {
    ArrayHandle handle;
    handle.process = 1;
    handle.element_bytes = 4;
    std::strcpy(handle.bus_id.data(), "ffff:00:1f.7");
    handle.check = detail::check_of(handle);
    const Error error = thrown_by([&] { (void)import_array<int>(handle); });
    CHECK(error.code() == ErrorCode::no_device);
    CHECK(mentions(error, "ffff:00:1f.7"));
    EventHandle event;
    CHECK(mentions(error_of([&] { (void)import_event(event); }), "was not returned by"));
    event.process = 1;
    std::strcpy(event.bus_id.data(), "ffff:00:1f.7");
    event.check = detail::check_of(event);
    CHECK(mentions(error_of([&] { (void)import_event(event); }), "ffff:00:1f.7"));
}

TEST_CASE("memory of a shareable array that is gone serves the next one, and nothing waits for a "
          "busy GPU") {
    if (test_device().is_cpu()) HEDDLE_SKIP("shareable memory of CPU devices is returned at once");
    const Drained drained;
    const Stream s(test_device()), held(test_device());
    Gate gate(held);
    constexpr std::size_t size = 5 << 20;  // no other test uses this size
    const int* last = nullptr;
    {
        const Array<int> x = shareable<int>(test_device(), size);
        last = x.data();
    }
    for (int i = 0; i < 3; ++i) {
        const int* next = nullptr;
        CHECK(eventually([&] {  // a background thread polls the last memory's users
            const Array<int> x = shareable<int>(test_device(), size);
            next = x.data();
            return next == last;
        }));
        last = next;
    }
    gate.open();
    held.synchronize();
    trim_pool(test_device());
}

TEST_CASE("an array of a process that has freed it is refused") {
    std::optional<Array<int>> x(shareable<int>(test_device(), 10));
    const ArrayHandle handle = export_array(*x);
    x.reset();
    if (test_device().is_cuda()) {
        const Stream s(test_device());
        CHECK(eventually([&] { return s.is_complete(); }));
        HEDDLE_SKIP("when a GPU's memory really goes cannot be seen");
    }
    const ChildResult child = child_with("child: imports what is gone", handle);
    INFO(child.output);
    CHECK(child.status == 0);
}

TEST_CASE("child: imports what is gone", "[.child]") {
    end_if_it_hangs();
    const Error error = thrown_by([] { (void)import_array<int>(handle_of_parent()); });
    CHECK(error.code() == ErrorCode::unsupported);
    CHECK(mentions(error, "has released it"));
}

TEST_CASE("work of one process waits for an event that another one records") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = shareable<int>(test_device(), 10'000);
    fill(s, x, 0);
    s.synchronize();
    Event filled(test_device(), {.interprocess = true});
    Gate gate(s);
    fill(s, x, 5);
    filled.record(s);
    const std::string file = "/tmp/heddle_test_" + std::to_string(getpid());
    ChildResult child;
    std::thread other(
        [&, handle = as_text(export_event(filled)), array = as_text(export_array(x))] {
            child = run_test_case("child: waits for a shared event",
                                  {"HEDDLE_TEST_HANDLE=" + array, "HEDDLE_TEST_EVENT=" + handle,
                                   "HEDDLE_TEST_FILE=" + file});
        });
    const bool has_looked = eventually([&] { return access(file.c_str(), F_OK) == 0; });
    gate.open();
    other.join();
    unlink(file.c_str());
    INFO(child.output);
    CHECK(has_looked);
    CHECK(child.status == 0);
    CHECK(to_host(s, x) == Ints(10'000, 8));
}

TEST_CASE("child: waits for a shared event", "[.child]") {
    end_if_it_hangs();
    const Stream s(test_device());
    Array<int> x = import_array<int>(handle_of_parent());
    const Event filled = import_event(from_text<EventHandle>("HEDDLE_TEST_EVENT"));
    CHECK(filled.device() == test_device());
    s.wait_event(filled);
    launch(s, Add{}, dim(10'000), x, 3);
    finish_work(test_device());
    CHECK_FALSE(s.is_complete());
    CHECK_FALSE(filled.is_complete());
    std::ofstream(std::getenv("HEDDLE_TEST_FILE")) << "looked";
    s.synchronize();
    CHECK(filled.is_complete());
}

TEST_CASE("a process waits for what another one has recorded on its event") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = shareable<int>(test_device(), 10'000);
    Event added(test_device(), {.interprocess = true});
    fill(s, x, 1);
    s.synchronize();
    const std::string file = "/tmp/heddle_test_" + std::to_string(getpid());
    for (int round = 1; round <= 2; ++round) {
        ChildResult child;
        std::thread other(
            [&, handle = as_text(export_event(added)), array = as_text(export_array(x))] {
                child = run_test_case("child: records a shared event",
                                      {"HEDDLE_TEST_HANDLE=" + array, "HEDDLE_TEST_EVENT=" + handle,
                                       "HEDDLE_TEST_FILE=" + file});
            });
        const bool has_recorded = eventually([&] { return access(file.c_str(), F_OK) == 0; });
        s.wait_event(added);
        const Ints found = to_host(s, x);
        added.synchronize();
        unlink(file.c_str());  // lets the child end
        other.join();
        INFO(child.output);
        CHECK(has_recorded);
        CHECK(child.status == 0);
        CHECK(found == Ints(10'000, 1 + 3 * round));
    }
}

TEST_CASE("child: records a shared event", "[.child]") {
    end_if_it_hangs();
    const Stream s(test_device());
    Array<int> x = import_array<int>(handle_of_parent());
    Event added = import_event(from_text<EventHandle>("HEDDLE_TEST_EVENT"));
    launch(s, Add{}, dim(10'000), x, 3);
    added.record(s);
    // On CUDA, the process that recorded an event must keep the event until no other process waits
    // for it.
    const char* const file = std::getenv("HEDDLE_TEST_FILE");
    std::ofstream(file) << "recorded";
    CHECK(eventually([&] { return access(file, F_OK) != 0; }));
}

TEST_CASE("work that failed before a shared event fails what waits for it in the other process") {
    if (test_device().is_cuda()) HEDDLE_SKIP("CUDA's events know no failures");
    const Drained drained;
    const Stream s(test_device());
    Event event(test_device(), {.interprocess = true});
    event.record(s);
    const EventHandle handle = export_event(event);
    CHECK(
        run_test_case("child: sees no failure", {"HEDDLE_TEST_EVENT=" + as_text(handle)}).status ==
        0);
    poison(s);
    event.record(s);
    const ChildResult child =
        run_test_case("child: sees a failure", {"HEDDLE_TEST_EVENT=" + as_text(handle)});
    INFO(child.output);
    CHECK(child.status == 0);
    CHECK(s.clear_error() != nullptr);
    event.record(s);
    s.synchronize();
    CHECK(
        run_test_case("child: sees no failure", {"HEDDLE_TEST_EVENT=" + as_text(handle)}).status ==
        0);
}

TEST_CASE("child: sees a failure", "[.child]") {
    end_if_it_hangs();
    const Stream s(test_device());
    const Event event = import_event(from_text<EventHandle>("HEDDLE_TEST_EVENT"));
    s.wait_event(event);
    const Error error = thrown_by([&] { s.synchronize(); });
    CHECK(error.code() == ErrorCode::work_failed);
    CHECK(mentions(error, "in the process that recorded it"));
    CHECK_THROWS_AS(event.synchronize(), Error);
}

TEST_CASE("child: sees no failure", "[.child]") {
    end_if_it_hangs();
    const Stream s(test_device());
    const Event event = import_event(from_text<EventHandle>("HEDDLE_TEST_EVENT"));
    s.wait_event(event);
    s.synchronize();
    event.synchronize();
}

TEST_CASE("a process that ends before its record is reached does not keep others waiting") {
    if (test_device().is_cuda()) HEDDLE_SKIP("CUDA lets them wait");
    const Drained drained;
    Event event(test_device(), {.interprocess = true});
    const ChildResult child = run_test_case("child: ends before its record",
                                            {"HEDDLE_TEST_EVENT=" + as_text(export_event(event))});
    CHECK(child.status == 7);
    const Stream s(test_device());
    s.wait_event(event);
    CHECK(mentions(error_of([&] { s.synchronize(); }), "ended before"));
}

TEST_CASE("child: ends before its record", "[.child]") {
    end_if_it_hangs();
    const Stream s(test_device());
    Event event = import_event(from_text<EventHandle>("HEDDLE_TEST_EVENT"));
    Gate gate(s);
    event.record(s);
    _exit(7);
}

TEST_CASE("events of processes are parts of graphs, captures and batches as others are") {
    const Drained drained;
    const Stream s(test_device()), other(test_device());
    Event event(test_device(), {.interprocess = true});
    Array<int> x = ready_zeros<int>(s, 100);
    SECTION("recorded and waited for by nodes") {
        Graph waits = wait_node(event).build();
        waits.launch(s);  // no wait, because the event was never recorded
        s.synchronize();
        Graph records =
            record_node(event).after(kernel_node(test_device(), Add{}, dim(100), x, 1)).build();
        records.instantiate();  // may wait for the device, so no stream is held yet
        Gate gate(s);
        records.launch(s);
        CHECK_FALSE(event.is_complete());
        waits.launch(other);
        finish_work(test_device());
        CHECK_FALSE(other.is_complete());
        gate.open();
        CHECK(to_host(other, x) == Ints(100, 1));
        event.synchronize();
        CHECK(event.is_complete());
    }
    SECTION("recorded and waited for by captures") {
        Graph records = capture(s, [&] {
            launch(s, Add{}, dim(100), x, 2);
            record_external(s, event);
        });
        Graph waits = capture(other, [&] { wait_external(other, event); });
        records.instantiate();  // may wait for the device, so no stream is held yet
        waits.instantiate();
        Gate gate(s);
        records.launch(s);
        waits.launch(other);
        finish_work(test_device());
        CHECK_FALSE(other.is_complete());
        gate.open();
        event.synchronize();
        CHECK(to_host(other, x) == Ints(100, 2));
    }
    SECTION("recorded in a batch") {
        Batch batch({.on_cpu = true});
        for (int i = 0; i < 3; ++i) {
            ScopedBatch in(batch, s);
            launch(s, Add{}, dim(100), x, 1);
            event.record(s);
            in.end();
            other.wait_event(event);
            CHECK(to_host(other, x) == Ints(100, i + 1));
        }
    }
}

TEST_CASE("a wait for a shared event means the record that was newest when it was asked for") {
    const Drained drained;
    const Stream a(test_device()), b(test_device()), first(test_device()), second(test_device());
    Event event(test_device(), {.interprocess = true});
    Gate gate_a, gate_b;
    gate_a.hold(a);
    gate_b.hold(b);
    event.record(a);
    first.wait_event(event);
    event.record(b);
    second.wait_event(event);
    gate_a.open();
    first.synchronize();
    finish_work(test_device());
    CHECK_FALSE(second.is_complete());
    CHECK_FALSE(event.is_complete());
    gate_b.open();
    second.synchronize();
    event.synchronize();
}

// On CUDA, the records of an interprocess event complete in the order of their calls. The stream of
// a newer record waits for the stream of an older one (docs/measurements.md).
#define SKIP_WHERE_RECORDS_WAIT()                                                                  \
    if (test_device().is_cuda())                                                                   \
    HEDDLE_SKIP("on CUDA, a newer record of a shared event waits for an older one")

TEST_CASE("an older record of a shared event does not hold up a newer one") {
    SKIP_WHERE_RECORDS_WAIT();
    const Drained drained;
    const Stream a(test_device()), b(test_device()), second(test_device());
    Event event(test_device(), {.interprocess = true});
    Gate gate(a);
    event.record(a);
    event.record(b);
    second.wait_event(event);
    second.synchronize();
    event.synchronize();
    CHECK_FALSE(a.is_complete());
}

TEST_CASE("another process waits for the record of a shared event that was newest when it asked") {
    SKIP_WHERE_RECORDS_WAIT();
    const Drained drained;
    const Stream a(test_device()), b(test_device());
    Event event(test_device(), {.interprocess = true});
    Gate gate(a);
    event.record(a);
    const std::string file = "/tmp/heddle_test_" + std::to_string(getpid());
    ChildResult child;
    std::thread other([&, handle = as_text(export_event(event))] {
        child = run_test_case("child: waits for a record and a newer one",
                              {"HEDDLE_TEST_EVENT=" + handle, "HEDDLE_TEST_FILE=" + file});
    });
    const bool waits = eventually([&] { return access(file.c_str(), F_OK) == 0; });
    event.record(b);       // this record completes immediately
    unlink(file.c_str());  // the child may wait for this record, too
    const bool has_looked = eventually([&] { return access(file.c_str(), F_OK) == 0; });
    gate.open();
    other.join();
    unlink(file.c_str());
    INFO(child.output);
    CHECK(waits);
    CHECK(has_looked);
    CHECK(child.status == 0);
}
TEST_CASE("child: waits for a record and a newer one", "[.child]") {
    end_if_it_hangs();
    const Stream first(test_device()), second(test_device());
    const Event event = import_event(from_text<EventHandle>("HEDDLE_TEST_EVENT"));
    const char* const file = std::getenv("HEDDLE_TEST_FILE");
    first.wait_event(event);
    std::ofstream(file) << "waits";
    CHECK(eventually([&] { return access(file, F_OK) != 0; }));
    second.wait_event(event);
    second.synchronize();
    finish_work(test_device());
    CHECK_FALSE(first.is_complete());
    std::ofstream(file) << "looked";
    first.synchronize();
}

TEST_CASE("of a shared event's records those fail that come after failed work, and no others") {
    if (test_device().is_cuda()) HEDDLE_SKIP("CUDA's events know no failures");
    const Drained drained;
    const Stream bad(test_device()), good(test_device()), waiter(test_device());
    Event event(test_device(), {.interprocess = true});
    for (int i = 0; i < 3; ++i) {
        poison(bad);
        event.record(bad);
        CHECK_THROWS_AS(event.synchronize(), Error);
        event.record(good);
        event.synchronize();
        waiter.wait_event(event);
        waiter.synchronize();
        CHECK(bad.clear_error() != nullptr);
        event.record(bad);
        event.synchronize();
    }
}

TEST_CASE("a shared event can be recorded again and again while its records are pending") {
    const Drained drained;
    const Stream s(test_device()), waiter(test_device());
    Event event(test_device(), {.interprocess = true});
    Gate gate(s);
    // A GPU's queue holds a few thousand entries. If it is full, the next call blocks the host.
    const int records = test_device().is_cuda() ? 200 : 5000;
    for (int i = 0; i < records; ++i) event.record(s);
    waiter.wait_event(event);
    finish_work(test_device());
    CHECK_FALSE(waiter.is_complete());
    gate.open();
    waiter.synchronize();
    event.synchronize();
}

TEST_CASE("a shared event can be recorded on one stream again and again by graphs and batches") {
    if (test_device().is_cuda()) HEDDLE_SKIP("CUDA has no limit of pending records");
    const OrderLog seen;
    const Drained drained;
    const Stream s(test_device()), waiter(test_device());
    Event event(test_device(), {.interprocess = true});
    Batch batch({.on_cpu = true});
    Graph graph = capture(s, [&] { record_external(s, event); });
    // The graph has three record nodes: two without an order, and one after both.
    const auto first = record_node(event), second = record_node(event);
    Graph nodes = record_node(event).after(first, second).build();
    Gate gate(s);
    const int records = 1100;
    for (int i = 0; i < records; ++i) {
        graph.launch(s);
        nodes.launch(s);
        event.record(s);
        ScopedBatch in(batch, s);
        seen.note(s, "recorded");
        event.record(s);
        in.end();
    }
    waiter.wait_event(event);
    seen.note(waiter, "waited");
    finish_work(test_device());
    CHECK(seen.seen().empty());
    CHECK_FALSE(event.is_complete());
    gate.open();
    waiter.synchronize();
    event.synchronize();
    CHECK(seen.seen().size() == records + 1);
    CHECK(seen.seen().back() == "waited");
}

namespace {
/// Records the event on more and more held streams. Returns the error of the first refusal.
std::optional<Error> record_until_refused(Event& event, const Gate& gate,
                                          std::vector<Stream>& streams) {
    std::optional<Error> refused;
    for (int i = 0; i < 1100 && !refused; ++i) {
        streams.emplace_back(test_device());
        gate.hold(streams.back());
        refused = error_of([&] { event.record(streams.back()); });
    }
    return refused;
}
}  // namespace

TEST_CASE("a graph whose launch fails leaves a shared event as it was") {
    if (test_device().is_cuda()) HEDDLE_SKIP("CUDA has no limit of pending records");
    const Drained drained;
    Event event(test_device(), {.interprocess = true}), full(test_device(), {.interprocess = true});
    const Stream s(test_device());
    std::vector<Stream> streams;
    Gate gate;
    const std::optional<Error> refused = record_until_refused(full, gate, streams);
    REQUIRE(refused);
    gate.hold(s);
    event.record(s);
    // The second record is refused after the first was already prepared.
    Graph graph = record_node(full).after(record_node(event)).build();
    int unsupported = 0;
    for (int i = 0; i < 1100; ++i) {
        const Stream other(test_device());
        const std::optional<Error> error = error_of([&] { graph.launch(other); });
        unsupported += error && error->code() == ErrorCode::unsupported;
    }
    CHECK(unsupported == 1100);
    const Stream waiter(test_device());
    waiter.wait_event(event);
    finish_work(test_device());
    CHECK_FALSE(waiter.is_complete());
    gate.open();
    waiter.synchronize();
    CHECK(event.is_complete());
    for (const Stream& one : streams) one.synchronize();
    // There is room for two streams with pending records: the failed launches used none.
    Gate second;
    second.hold(s);
    graph.launch(s);
    event.record(Stream(test_device()));
    event.synchronize();
}

TEST_CASE("records of a shared event in one graph are reached in any order") {
    if (test_device().is_cuda()) HEDDLE_SKIP("CUDA may run branches of a graph in turn");
    for (const bool swapped : {false, true}) {
        const Drained drained;
        const Stream s(test_device()), held(test_device());
        Event event(test_device(), {.interprocess = true}), opened(test_device());
        Gate gate(held);
        opened.record(held);
        const Flag passed;
        auto slow = record_node(event).after(wait_node(opened)), quick = record_node(event);
        auto after = host_node(test_device(), [passed] { passed.set(); }).after(quick);
        auto end = host_node(test_device(), [] {});
        Graph graph = (swapped ? end.after(slow, after) : end.after(after, slow)).build();
        graph.launch(s);
        REQUIRE(passed.wait());
        gate.open();
        s.synchronize();
        CHECK(event.is_complete());
        event.record(s);
        event.synchronize();
    }
}

TEST_CASE("a shared event whose records are pending on too many streams is refused, and works "
          "again later") {
    if (test_device().is_cuda()) HEDDLE_SKIP("CUDA has no such limit");
    const Drained drained;
    Event event(test_device(), {.interprocess = true});
    std::vector<Stream> streams;
    Gate gate;
    const std::optional<Error> refused = record_until_refused(event, gate, streams);
    REQUIRE(refused);
    CHECK(refused->code() == ErrorCode::unsupported);
    CHECK(streams.size() == 1024);
    gate.open();
    for (const Stream& s : streams) s.synchronize();
    event.record(streams.back());
    event.synchronize();
}

TEST_CASE("a process whose first thread has ended still reaches its records") {
    if (test_device().is_cuda()) HEDDLE_SKIP("what waits is the driver's affair");
    const Drained drained;
    Event event(test_device(), {.interprocess = true});
    const std::string file = "/tmp/heddle_test_" + std::to_string(getpid());
    ChildResult child;
    std::thread other([&, handle = as_text(export_event(event))] {
        child = run_test_case("child: goes on without its first thread",
                              {"HEDDLE_TEST_EVENT=" + handle, "HEDDLE_TEST_FILE=" + file});
    });
    const bool has_recorded = eventually([&] { return access(file.c_str(), F_OK) == 0; });
    const Stream s(test_device());
    s.wait_event(event);
    CHECK_FALSE(event.is_complete());
    unlink(file.c_str());
    CHECK_FALSE(error_of([&] { s.synchronize(); }));
    other.join();
    INFO(child.output);
    CHECK(has_recorded);
    CHECK(child.status == 7);
}
TEST_CASE("child: goes on without its first thread", "[.child]") {
    end_if_it_hangs();
    std::thread([first = getpid()] {
        const std::string stat =
            "/proc/" + std::to_string(first) + "/task/" + std::to_string(first) + "/stat";
        const auto first_has_ended = [&] {
            std::ifstream in(stat);
            const std::string text{std::istreambuf_iterator<char>(in), {}};
            const std::size_t name_ends = text.rfind(')');
            return name_ends != std::string::npos && text.compare(name_ends, 3, ") Z") == 0;
        };
        if (!eventually(first_has_ended)) _exit(1);
        const Stream s(test_device());
        Event event = import_event(from_text<EventHandle>("HEDDLE_TEST_EVENT"));
        Gate gate(s);
        event.record(s);
        const char* const file = std::getenv("HEDDLE_TEST_FILE");
        std::ofstream(file) << "recorded";
        if (!eventually([&] { return access(file, F_OK) != 0; })) _exit(2);
        gate.open();
        s.synchronize();
        _exit(7);
    }).detach();
    syscall(SYS_exit, 0);  // like pthread_exit(), ends only this thread
}

TEST_CASE("the child of a process that waits for another process's event can wait for it too") {
    HEDDLE_SKIP_WITHOUT_FORK();
    if (test_device().is_cuda()) HEDDLE_SKIP("CUDA refuses everything after fork()");
    const Drained drained;
    const Stream s(test_device());
    Event event(test_device(), {.interprocess = true});
    Gate gate(s);
    event.record(s);
    const std::string file = "/tmp/heddle_test_" + std::to_string(getpid());
    ChildResult child;
    std::thread other([&, handle = as_text(export_event(event))] {
        child = run_test_case("child: waits as its own child does",
                              {"HEDDLE_TEST_EVENT=" + handle, "HEDDLE_TEST_FILE=" + file});
    });
    const bool waits = eventually([&] { return access(file.c_str(), F_OK) == 0; });
    gate.open();
    other.join();
    unlink(file.c_str());
    INFO(child.output);
    CHECK(waits);
    CHECK(child.status == 0);
}
TEST_CASE("child: waits as its own child does", "[.child]") {
    end_if_it_hangs();
    const Stream s(test_device());
    const Event event = import_event(from_text<EventHandle>("HEDDLE_TEST_EVENT"));
    s.wait_event(event);  // a thread of this process polls the event from now on
    check_forked([&] {
        const Stream mine(test_device());
        mine.wait_event(event);
        std::ofstream(std::getenv("HEDDLE_TEST_FILE")) << "waits";
        mine.synchronize();
        event.synchronize();
        return 0;
    });
    s.synchronize();
}

namespace {
/// Forges a handle with a valid checksum, like a malicious process of the same user.
ArrayHandle forged_handle(int descriptor) {
    struct stat is {};
    REQUIRE(fstat(descriptor, &is) == 0);
    const detail::cpu::SharedFileName name{static_cast<std::int32_t>(getpid()), descriptor,
                                           is.st_dev, is.st_ino};
    ArrayHandle handle;
    std::memcpy(handle.memory.data(), &name, sizeof name);
    handle.process = static_cast<std::int32_t>(getpid());
    handle.bytes = 4096;
    handle.size = 10;
    handle.element_bytes = sizeof(int);
    handle.check = detail::check_of(handle);
    return handle;
}
}  // namespace

TEST_CASE("a handle that names something else than memory of heddle's is refused, and that is not "
          "opened") {
    if (test_device().is_cuda()) HEDDLE_SKIP("CUDA looks at its own handles");
    char path[] = "/tmp/heddle_test_XXXXXX";
    const int plain = mkstemp(path);
    const int unsealed = memfd_create("heddle", MFD_CLOEXEC),
              sealed = memfd_create("other", MFD_ALLOW_SEALING);
    for (const int file : {plain, unsealed, sealed}) REQUIRE(ftruncate(file, 4096) == 0);
    REQUIRE(fcntl(sealed, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0);
    for (const int file : {plain, unsealed, sealed}) {
        const ChildResult child =
            child_with("child: imports what is not heddle's", forged_handle(file));
        INFO(child.output);
        CHECK(child.status == 0);
        close(file);
    }
    unlink(path);
}
TEST_CASE("child: imports what is not heddle's", "[.child]") {
    end_if_it_hangs();
    const Error error = thrown_by([] { (void)import_array<int>(handle_of_parent()); });
    CHECK(error.code() == ErrorCode::unsupported);
    CHECK(mentions(error, "is not shared memory of heddle"));
}

TEST_CASE("memory that another process maps cannot be made shorter under it") {
    if (test_device().is_cuda()) HEDDLE_SKIP("it is no file");
    const Array<int> x = shareable<int>(test_device(), 1000);
    detail::cpu::SharedFileName name;
    const ArrayHandle handle = export_array(x);
    std::memcpy(&name, handle.memory.data(), sizeof name);
    CHECK(ftruncate(name.descriptor, 0) != 0);
    CHECK(fcntl(name.descriptor, F_ADD_SEALS, F_SEAL_WRITE) != 0);
}
