// Arrays that several processes share.
#include "child.hpp"
#include "kernels.hpp"
#include "support.hpp"

#include <cstdlib>
#include <cstring>

using namespace heddle_test;

namespace {

/// Handles travel in the environment of child processes, as digits.
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

ArrayHandle given() { return from_text<ArrayHandle>("HEDDLE_TEST_HANDLE"); }

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

TEST_CASE("a shareable array may be given up while streams still use it") {
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
    Array<int> x = import_array<int>(given());
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
        Array<int> x = import_array<int>(given());
        CHECK(x.size() == 20);
        fill(s, x, 2);
        Array<int> twice = import_array<int>(given());  // the same memory once more
        CHECK(to_host(s, twice) == Ints(20, 2));
    }  // let go of while the stream may still fill it
    s.synchronize();
}

TEST_CASE("what cannot be shared is refused, with what to do") {
    const Stream s(test_device());
    const ScopedStream in(s);
    Array<int> of_pool = zeros<int>(10);
    std::vector<int> own(10);
    const auto text = "shareable<T>";
    CHECK(mentions(error_of([&] { (void)export_array(of_pool); }), text));
    CHECK(mentions(error_of([&] { (void)export_array(pinned<int>(10)); }), text));
    CHECK(mentions(error_of([&] { (void)export_array(View<int>(own.data(), own.size())); }),
                   "no memory of an array"));
    Array<int> x = shareable<int>(10);
    const View<int> late = x.view();
    const ArrayHandle handle = export_array(x);
    CHECK(mentions(error_of([&] { (void)import_array<int>(handle); }), "use that array"));
    x.reset();
    CHECK_THROWS_AS(export_array(late), UsageError);
    CHECK_THROWS_AS(import_array<int>(ArrayHandle{}), UsageError);
    ArrayHandle foreign = handle;
    foreign.process = 1;
    CHECK(mentions(error_of([&] { (void)import_array<double>(foreign); }), "elements of 8 bytes"));
    ArrayHandle damaged = foreign;
    damaged.size = 11;
    CHECK(mentions(error_of([&] { (void)import_array<int>(damaged); }), "damaged"));
}

TEST_CASE("a GPU that this process does not see is named in the error") {
    ArrayHandle handle;
    handle.process = 1;
    handle.element_bytes = 4;
    std::strcpy(handle.bus_id.data(), "ffff:00:1f.7");
    const auto error = error_of([&] { (void)import_array<int>(handle); });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::no_device);
    CHECK(mentions(error, "ffff:00:1f.7"));
    EventHandle event;
    CHECK(mentions(error_of([&] { (void)import_event(event); }), "no handle"));
    std::strcpy(event.bus_id.data(), "ffff:00:1f.7");
    CHECK(mentions(error_of([&] { (void)import_event(event); }), "ffff:00:1f.7"));
}

TEST_CASE("an array of a process that has given it up is refused") {
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
    const auto error = error_of([] { (void)import_array<int>(given()); });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::unsupported);
    CHECK(mentions(error, "given the array up"));
}

TEST_CASE("processes order their work on a shared array by a shared event") {
    if (test_device().is_cpu()) HEDDLE_SKIP("CPU devices have no interprocess events");
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = shareable<int>(test_device(), 10'000);
    Event filled(test_device(), {.interprocess = true});
    fill(s, x, 5);
    filled.record(s);
    const ChildResult child = run_test_case("child: waits for a shared event",
                                            {"HEDDLE_TEST_HANDLE=" + as_text(export_array(x)),
                                             "HEDDLE_TEST_EVENT=" + as_text(export_event(filled))});
    INFO(child.output);
    CHECK(child.status == 0);
    CHECK(to_host(s, x) == Ints(10'000, 8));
}

TEST_CASE("child: waits for a shared event", "[.child]") {
    end_if_it_hangs();
    const Stream s(test_device());
    Array<int> x = import_array<int>(given());
    const Event filled = import_event(from_text<EventHandle>("HEDDLE_TEST_EVENT"));
    s.wait_event(filled);
    launch(s, Add{}, dim(10'000), x, 3);
    s.synchronize();
}
