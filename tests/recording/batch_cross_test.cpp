// Batches whose streams wait for another kind of device. Such a wait submits the recorded work
// first, and is otherwise the same as without a batch.
#include "support.hpp"

#include <functional>

using namespace heddle_test;

namespace {

/// A call that makes a stream wait for another stream's work.
struct Way {
    const char* name;
    std::function<void(StreamRef waiter, StreamRef other)> wait;
};
const Way ways[] = {
    {"wait_stream", [](StreamRef waiter, StreamRef other) { waiter.wait_stream(other); }},
    {"wait_event",
     [](StreamRef waiter, StreamRef other) { waiter.wait_event(other.record_event()); }},
    {"wait_external",
     [](StreamRef waiter, StreamRef other) { wait_external(waiter, other.record_event()); }},
};

/// The kind of device whose streams wait, and the kind of the awaited streams.
struct Kinds {
    Device here, there;
};
std::vector<Kinds> both_ways() {
    const Device cpu = cpu_device(), cuda("cuda:0");
    return {{cpu, cuda}, {cuda, cpu}};
}

std::string text_of(const Kinds& kinds, const Way& way) {
    return kinds.here.name() + " waits for " + kinds.there.name() + " by " + way.name;
}

}  // namespace

CUDA_TEST_CASE("a batch's first stream waits for the other kind of device", "[cross]") {
    for (const Kinds& kinds : both_ways())
        for (const Way& way : ways) {
            INFO(text_of(kinds, way));
            const OrderLog seen;
            DrainedGate gate;
            const Stream first(kinds.here), other(kinds.there);
            gate.hold(other);
            seen.note(other, "other");
            Batch batch({.on_cpu = true});
            {
                const ScopedBatch in(batch, first);
                seen.note(first, "before");
                way.wait(first, other);
                seen.note(first, "after");
            }
            CHECK(batch.last().graphs == 2);
            CHECK(eventually([&] { return seen.has("before"); }));
            finish_work(kinds.here);
            CHECK(seen.seen() == Strings{"before"});
            check_opened(seen, gate, first, {"before", "other", "after"});
        }
}

CUDA_TEST_CASE("a stream that has joined a batch waits for the other kind of device", "[cross]") {
    for (const Kinds& kinds : both_ways())
        for (const Way& way : ways) {
            INFO(text_of(kinds, way));
            const OrderLog seen;
            DrainedGate gate;
            const Stream first(kinds.here), joined(kinds.here), other(kinds.there);
            gate.hold(other);
            seen.note(other, "other");
            Batch batch({.on_cpu = true});
            {
                const ScopedBatch in(batch, first);
                seen.note(first, "before");
                joined.wait_stream(first);
                way.wait(joined, other);
                seen.note(joined, "after");
                seen.note(first, "meanwhile");
            }
            first.synchronize();  // would block if the first stream waited, too
            CHECK(seen.seen() == Strings{"before", "meanwhile"});
            check_opened(seen, gate, joined, {"before", "meanwhile", "other", "after"});
        }
}

CUDA_TEST_CASE("what a batch has recorded is waited for by the other kind of device", "[cross]") {
    for (const Kinds& kinds : both_ways())
        for (const Way& way : ways) {
            INFO(text_of(kinds, way));
            const OrderLog seen;
            const Drained drained;
            const Stream waiter(kinds.here), other(kinds.there);
            Batch theirs({.on_cpu = true}), own({.on_cpu = true});
            const ScopedBatch in_theirs(theirs, other);
            {
                const ScopedBatch in(own, waiter);
                seen.note(other, "other");
                way.wait(waiter, other);
                seen.note(waiter, "after");
            }
            waiter.synchronize();  // would block if the other batch had not been submitted
            CHECK(seen.seen() == Strings{"other", "after"});
        }
}

CUDA_TEST_CASE("a failure reaches a batch from the other kind of device", "[cross]") {
    for (const Kinds& kinds : both_ways())
        for (const Way& way : ways) {
            INFO(text_of(kinds, way));
            const Drained drained;
            const Stream first(kinds.here), other(kinds.there);
            std::atomic<bool> ran{false};
            Batch batch({.on_cpu = true});
            {
                const ScopedBatch in(batch, first);
                launch_host(other, [] { throw Boom("over there"); });
                way.wait(first, other);
                launch_host(first, [&ran] { ran = true; });
            }
            CHECK(cause_of(thrown_by([&] { first.synchronize(); })) == "over there");
            CHECK_FALSE(ran);
            (void)first.clear_error();
            (void)other.clear_error();
        }
}

CUDA_TEST_CASE("a capture refuses to wait for the other kind of device at each launch", "[cross]") {
    for (const Kinds& kinds : both_ways()) {
        const Stream s(kinds.here), other(kinds.there);
        const Event event = other.record_event();
        std::atomic<int> ran{0};
        std::optional<Error> refused;
        Graph graph = capture(s, [&] {
            launch_host(s, [&ran] { ++ran; });
            refused = error_of([&] { wait_external(s, event); });
            launch_host(s, [&ran] { ++ran; });
        });
        REQUIRE(refused);
        CHECK(refused->code() == ErrorCode::usage);
        CHECK(mentions(refused, "a graph can only wait for events of its own kind of device"));
        graph.launch(s);
        s.synchronize();
        CHECK(ran == 2);
    }
}
