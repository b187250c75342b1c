// set_stream() and set_device(): their changes last until the innermost scope is left.
#include "support.hpp"

using namespace heddle_test;

TEST_CASE("set_stream lasts until the innermost scope is left") {
    const Stream a(test_device()), b(test_device());
    const StreamRef before = current_stream(test_device());
    {
        const ScopedDevice on{test_device()};
        set_stream(a);
        CHECK(current_stream() == a);
        {
            const ScopedDevice again{test_device()};
            set_stream(b);
            CHECK(current_stream() == b);
        }
        CHECK(current_stream() == a);
    }
    CHECK(current_stream(test_device()) == before);
}

TEST_CASE("set_stream inside a stream scope is undone with it") {
    const Stream a(test_device()), b(test_device()), c(test_device());
    const ScopedStream in{a};
    {
        const ScopedStream inner{b};
        set_stream(c);
        CHECK(current_stream() == c);
    }
    CHECK(current_stream() == a);
}

TEST_CASE("set_stream waits on the stream it replaces") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream a(test_device()), b(test_device());
    const ScopedStream in{a};
    gate.hold(a);
    seen.note(a, "a");
    set_stream(b);
    seen.note(current_stream(), "b");
    check_held(seen, gate, b, {"a", "b"});
}

TEST_CASE("set_stream without waiting orders nothing") {
    DrainedGate gate;
    const Stream a(test_device()), b(test_device());
    const ScopedStream in{a};
    gate.hold(a);
    set_stream(b, {.wait = false});
    launch_host([] {});
    b.synchronize();  // would block if it waited
    CHECK(b.is_complete());
}

TEST_CASE("set_stream does not change the current device") {
    if (devices().size() < 2) HEDDLE_SKIP("needs two devices");
    const ScopedDevice on{devices()[0]};
    const Stream other(devices()[1]);
    set_stream(other);
    CHECK(current_device() == devices()[0]);
    CHECK(current_stream(devices()[1]) == other);
    CHECK(current_stream().device() == devices()[0]);
}

TEST_CASE("set_device lasts until the innermost scope is left, and waits for nothing") {
    const Device before = current_device();
    {
        const ScopedDevice on{test_devices().front()};
        for (Device d : devices()) {
            const OpCounter counted;
            set_device(d);
            CHECK(current_device() == d);
            CHECK(counted.stats() == OpStats{});
        }
    }
    CHECK(current_device() == before);
}

TEST_CASE("several streams set in one scope are all undone with it") {
    std::vector<StreamRef> before;
    for (Device d : devices()) before.push_back(current_stream(d));
    std::vector<Stream> streams;
    {
        const ScopedDevice on{test_device()};
        for (Device d : devices()) set_stream(streams.emplace_back(d));
        for (std::size_t i = 0; i < streams.size(); ++i)
            CHECK(current_stream(devices()[i]) == streams[i]);
    }
    for (std::size_t i = 0; i < before.size(); ++i)
        CHECK(current_stream(devices()[i]) == before[i]);
}
