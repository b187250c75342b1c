// Scopes: the current stream, order on entry and exit, and errors.
#include "kernel_launches.hpp"
#include "support.hpp"

using namespace heddle_test;

TEST_CASE("outside of scopes the default stream is current") {
    std::optional<bool> same;
    std::thread([&] {
        same = current_stream(test_device()) == default_stream(test_device());
    }).join();
    CHECK(same == true);
}

TEST_CASE("every device has one default stream, which all threads share") {
    std::uint64_t other = 0;
    std::thread([&] { other = default_stream(test_device()).id(); }).join();
    CHECK(other == default_stream(test_device()).id());
    CHECK(default_stream(test_device()).device() == test_device());
}

TEST_CASE("a device scope makes the device current and restores the one before") {
    const Device before = current_device();
    for (Device d : devices()) {
        const ScopedDevice on{d};
        CHECK(current_device() == d);
        CHECK(current_stream() == current_stream(d));
    }
    CHECK(current_device() == before);
}

TEST_CASE("a stream scope makes the stream and its device current and restores both") {
    const Device before = current_device();
    const StreamRef stream_before = current_stream(test_device());
    const Stream s(test_device());
    {
        const ScopedStream in{s};
        CHECK(current_device() == test_device());
        CHECK(current_stream() == s);
        CHECK(current_stream(test_device()) == s);
    }
    CHECK(current_device() == before);
    CHECK(current_stream(test_device()) == stream_before);
}

TEST_CASE("scopes nest") {
    const Stream a(test_device()), b(test_device());
    const ScopedStream in_a{a};
    {
        const ScopedStream in_b{b};
        {
            const ScopedStream again{a};
            CHECK(current_stream() == a);
        }
        CHECK(current_stream() == b);
        {
            const ScopedDevice on{cpu_device()};
            CHECK(current_device() == cpu_device());
        }
        CHECK(current_device() == test_device());
        CHECK(current_stream() == b);
    }
    CHECK(current_stream() == a);
}

TEST_CASE("entering a stream orders it after the stream it replaces") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream outer(test_device()), inner(test_device());
    const ScopedStream in_outer{outer};
    gate.hold(outer);
    seen.note(outer, "outer");
    {
        const ScopedStream in{inner};
        seen.note(current_stream(), "inner");
    }
    check_held(seen, gate, inner, {"outer", "inner"});
}

TEST_CASE("entering without waiting orders nothing") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream outer(test_device()), inner(test_device());
    const ScopedStream in_outer{outer};
    gate.hold(outer);
    {
        const ScopedStream in{inner, {.wait_on_enter = false}};
        seen.note(current_stream(), "inner");
    }
    inner.synchronize();  // would block if it waited
    CHECK(seen.seen() == Strings{"inner"});
}

TEST_CASE("entering orders the new stream, and not the one it replaces") {
    DrainedGate gate;
    const Stream outer(test_device()), inner(test_device());
    gate.hold(inner);
    const ScopedStream in_outer{outer};
    {
        const ScopedStream in{inner};
        launch_host([] {});
    }
    launch_host(outer, [] {});
    outer.synchronize();  // by default, leaving does not wait either
    CHECK_FALSE(inner.is_complete());
}

TEST_CASE("leaving with wait_on_exit orders the restored stream after the one left") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream outer(test_device()), inner(test_device());
    const ScopedStream in_outer{outer};
    {
        const ScopedStream in{inner, {.wait_on_enter = true, .wait_on_exit = true}};
        gate.hold(inner);
        seen.note(inner, "inner");
    }
    seen.note(current_stream(), "outer");
    check_held(seen, gate, outer, {"inner", "outer"});
}

TEST_CASE("leaving by an exception restores and waits all the same") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream outer(test_device()), inner(test_device());
    const ScopedStream in_outer{outer};
    try {
        const ScopedStream in{inner, {.wait_on_enter = true, .wait_on_exit = true}};
        gate.hold(inner);
        seen.note(inner, "inner");
        throw Boom("out");
    } catch (const Boom&) {}
    CHECK(current_stream() == outer);
    CHECK(current_device() == test_device());
    seen.note(outer, "outer");
    check_opened(seen, gate, outer, {"inner", "outer"});
}

TEST_CASE("implicit operations run on the scope's stream") {
    DrainedGate gate;
    const Stream s(test_device());
    gate.hold(s);
    const ScopedStream in{s};
    Array<int> x = zeros<int>(100);
    launch(Iota{}, dim(100), x);
    launch_host([] {});
    const Event event = record_event();
    CHECK_FALSE(event.is_complete());
    gate.open();
    CHECK(to_host(x)[99] == 99);
}

TEST_CASE("a scope on a dead stream is refused and not entered") {
    StreamRef dead;
    dead = Stream(test_device());
    const StreamRef before = current_stream(test_device());
    const Device device_before = current_device();
    CHECK_THROWS_AS(ScopedStream(dead), UsageError);
    CHECK(current_stream(test_device()) == before);
    CHECK(current_device() == device_before);
}

TEST_CASE("a scope whose stream dies inside it is left without harm") {
    const Reports reports;
    const Stream outer(test_device());
    const ScopedStream in_outer{outer};
    {
        auto inner = std::make_unique<Stream>(test_device());
        const ScopedStream in{*inner, {.wait_on_enter = true, .wait_on_exit = true}};
        inner.reset();
        CHECK_THROWS_AS(launch_host([] {}), UsageError);
    }
    CHECK(current_stream() == outer);
    CHECK(reports.count() == 1);  // the scope could not wait on exit
}

TEST_CASE("the current stream dying before a scope is entered is a usage error, not a crash") {
    const Reports reports;
    auto outer = std::make_unique<Stream>(test_device());
    const Stream inner(test_device());
    const ScopedStream in_outer{*outer};
    outer.reset();
    CHECK_THROWS_AS(ScopedStream(inner), UsageError);
    const ScopedStream in{inner, {.wait_on_enter = false}};
    CHECK(current_stream() == inner);
}

TEST_CASE("scopes left out of order are reported, and restore what was before all of them") {
    const Reports reports;
    const StreamRef before = current_stream(test_device());
    const Device device_before = current_device();
    const Stream a(test_device()), b(test_device());
    {
        std::unique_ptr<ScopedStream> first(new ScopedStream(a));
        std::unique_ptr<ScopedStream> second(new ScopedStream(b));
        first.reset();
        CHECK(reports.count() == 1);
        CHECK(reports.all()[0].code() == ErrorCode::usage);
        CHECK_THAT(reports.all()[0].where().file, contains("scope_test.cpp"));
        second.reset();
    }
    CHECK(current_stream(test_device()) == before);
    CHECK(current_device() == device_before);
}

TEST_CASE("what is said of scopes left out of order names both, and no header of the library") {
    const Reports reports;
    const Stream a(test_device(), {.priority = 0, .name = "left first"}),
        b(test_device(), {.priority = 0, .name = "entered last"});
    const auto told = [&](const auto& enter_first, const auto& enter_second) {
        auto first = enter_first();
        auto second = enter_second();
        first.reset();
        second.reset();
        return std::string(reports.all().back().what());
    };
    unsigned line = 0;
    const auto with_place = [&](const Stream& s) {
        return [&, of = &s] {
            line = __LINE__ + 1;
            return std::make_unique<ScopedStream>(*of, ScopeOptions{}, Where());
        };
    };
    const auto by_library = [](const Stream& s) {
        return [of = &s] { return std::make_unique<ScopedStream>(*of); };
    };
    const auto emplaced = [] {
        auto scope = std::make_unique<std::optional<ScopedDevice>>();
        scope->emplace(test_device());
        return scope;
    };
    std::string text = told(by_library(a), with_place(b));
    CHECK_THAT(text, contains("the scope of stream 'left first' was left before the scope of "
                              "stream 'entered last', made at "));
    CHECK_THAT(text, contains("scope_test.cpp:" + std::to_string(line)));
    CHECK_THAT(text, contains("pass Where() as the last argument"));
    CHECK(text.find("unique_ptr") == std::string::npos);

    text = told(with_place(a), by_library(b));
    CHECK_THAT(text, contains("called at "));
    CHECK_THAT(text, contains("scope_test.cpp:" + std::to_string(line)));
    CHECK(text.find("unique_ptr") == std::string::npos);

    text = told(emplaced, with_place(b));
    CHECK_THAT(text, contains("a scope of a device was left before"));
    CHECK(text.find("/optional") == std::string::npos);
    CHECK(reports.count() == 3);
}

TEST_CASE("a scope left on another thread is reported, and that thread keeps what it has") {
    const Reports reports;
    const Stream a(test_device()), b(test_device());
    std::unique_ptr<ScopedStream> scope;
    const Flag entered, left;
    bool works_after = false;
    std::thread owner([&] {
        scope = std::make_unique<ScopedStream>(a);
        entered.set();
        left.wait();
        const ScopedStream in{b, {.wait_on_enter = false}};
        works_after = current_stream() == b;
    });
    entered.wait();
    const StreamRef mine = current_stream(test_device());
    const Device device = current_device();
    scope.reset();
    CHECK(current_stream(test_device()) == mine);
    CHECK(current_device() == device);
    left.set();
    owner.join();
    CHECK(works_after);
    REQUIRE(reports.count() == 1);
    CHECK(reports.all()[0].code() == ErrorCode::usage);
}

TEST_CASE("scopes nest deeply, or are refused clearly, and all of them are left") {
    const Stream s(test_device());
    const StreamRef before = current_stream(test_device());
    int entered = 0;
    const auto nest = [&](auto& self, int left) -> void {
        if (left == 0) return;
        const ScopedStream in{s};
        ++entered;
        self(self, left - 1);
    };
    const auto error = error_of([&] { nest(nest, 1000); });
    CHECK(entered >= 100);
    if (error) CHECK(error->code() == ErrorCode::usage);
    CHECK(current_stream(test_device()) == before);
    const ScopedStream again{s};
    CHECK(current_stream() == s);
}

TEST_CASE("a current stream that was destroyed is named, and left by set_stream without waiting") {
    std::thread([] {  // on a new thread, because settings end with their thread
        set_device(test_device());
        {
            const Stream brief(test_device(), {.name = "brief"});
            set_stream(brief);
        }
        const Error error = thrown_by([] { (void)zeros<int>(4); });
        CHECK_THAT(error.what(),
                   contains("'brief' was destroyed while it was this thread's current stream"));
        set_stream(default_stream(test_device()), {.wait = false});
        CHECK(to_host(zeros<int>(4)) == std::vector<int>(4, 0));
    })
        .join();
}

static_assert(!std::is_constructible_v<ScopedStream, Stream>,
              "a temporary stream would end before its scope");
static_assert(!std::is_constructible_v<ScopedStream, StreamPool::Lease>, "and so would a lease");
static_assert(std::is_constructible_v<ScopedStream, Stream&> &&
              std::is_constructible_v<ScopedStream, StreamRef>);

TEST_CASE("a device scope waits for nothing and changes no stream") {
    for (const Device d : devices()) {
        const StreamRef before = current_stream(d);
        const OpCounter counted;
        {
            const ScopedDevice on{d};
            CHECK(current_stream() == before);
        }
        CHECK(counted.stats().waits_inserted + counted.stats().waits_elided == 0);
        CHECK(current_stream(d) == before);
    }
}

TEST_CASE("calls with a named stream run there whatever is current, and wait for nothing") {
    DrainedGate gate;
    const Stream named(test_device()), current(test_device());
    Array<int> x = zeros<int>(named, 100), y = zeros<int>(named, 100);
    gate.hold(current);
    const ScopedStream in(current, {.wait_on_enter = false});
    const OpCounter counted;
    fill(named, x, 1);
    copy(named, y, x);
    launch(named, Add{}, dim(100), y, 1);
    launch_host(named, [] {});
    CHECK(counted.stats().waits_inserted + counted.stats().waits_elided == 0);
    CHECK(to_host(named, y) == Ints(100, 2));  // returns although the gate is closed
    CHECK_FALSE(current.is_complete());
}
