// Streams returned to a pool or a fork_join: which of them is reused, and how many are kept.
#include "core/stream/registry.hpp"
#include "core/stream/returned_streams.hpp"

#include <set>
#include <vector>

#include "support.hpp"

using namespace heddle_test;

namespace {

using detail::ReturnedStreams;
using detail::StreamRecord;

/// Uses addresses in place of streams, because the tested code only compares them.
class Returned {
public:
    explicit Returned(std::size_t count) : storage_(count) {
        all.reserve(count);
        for (std::size_t i = 0; i < count; ++i) give(i);
    }
    std::size_t number(const StreamRecord& stream) const {
        return static_cast<std::size_t>(reinterpret_cast<const Storage*>(&stream) -
                                        storage_.data());
    }
    void give(std::size_t number) {
        all.give({.stream = reinterpret_cast<StreamRecord*>(&storage_[number])});
    }

    ReturnedStreams all;

private:
    struct alignas(StreamRecord) Storage {
        std::byte bytes[sizeof(StreamRecord)];
    };
    std::vector<Storage> storage_;
};

const auto never = [](const StreamRecord&) { return false; };
const auto no_drop = [](StreamRecord&) { FAIL("nothing is spoilt"); };

std::size_t live_streams(Device device) {
    std::size_t count = 0;
    detail::for_each_stream([&](const StreamRecord& stream) {
        if (stream.device == device && !stream.has(detail::stream_flag::dead)) ++count;
    });
    return count;
}

}  // namespace

TEST_CASE("of returned streams the oldest that is idle is taken") {
    Returned returned(5);
    const auto is_idle = [&](const StreamRecord& one) { return returned.number(one) != 0; };
    std::vector<std::size_t> taken;
    while (const StreamRecord* const one = returned.all.take(never, no_drop, is_idle))
        taken.push_back(returned.number(*one));
    CHECK(taken == std::vector<std::size_t>{1, 2, 3, 4});
    CHECK(returned.all.size() == 1);
}

TEST_CASE("few returned streams are asked at a time, and after a while each") {
    constexpr std::size_t count = 5000, idle = 3333;
    Returned returned(count);
    for (int again = 0; again < 3; ++again) {
        std::size_t asked = 0, calls = 0;
        const StreamRecord* found = nullptr;
        while (found == nullptr && calls < count) {
            ++calls;
            const std::size_t before = asked;
            found = returned.all.take(never, no_drop, [&](const StreamRecord& one) {
                ++asked;
                return returned.number(one) == idle;
            });
            REQUIRE(asked - before <= 2 * ReturnedStreams::few);
        }
        REQUIRE(found != nullptr);
        CHECK(returned.number(*found) == idle);
        returned.give(idle);
    }
}

TEST_CASE("none of many returned streams is lost, whichever are taken") {
    constexpr std::size_t count = 100;
    Returned returned(count);
    std::set<std::size_t> left;
    for (std::size_t i = 0; i < count; ++i) left.insert(i);
    std::size_t step = 0;
    while (returned.all.size() != 0) {
        step = step * 31 + 7;
        const std::size_t taken = returned.number(returned.all.remove(step % returned.all.size()));
        CHECK(left.erase(taken) == 1);
        if (step % 3 == 0) continue;
        returned.give(taken);  // continues at the ring's beginning
        left.insert(taken);
        const std::size_t again = returned.number(returned.all.remove(0));
        CHECK(left.erase(again) == 1);
    }
    CHECK(left.empty());
}

TEST_CASE("spoilt streams are dropped where they are met") {
    Returned returned(40);
    std::vector<std::size_t> dropped;
    const auto is_spoilt = [&](const StreamRecord& one) { return returned.number(one) < 3; };
    const auto drop = [&](StreamRecord& one) { dropped.push_back(returned.number(one)); };
    const StreamRecord* const one =
        returned.all.take(is_spoilt, drop, [](const StreamRecord&) { return true; });
    REQUIRE(one != nullptr);
    CHECK(returned.number(*one) == 3);
    CHECK(dropped == std::vector<std::size_t>{0, 1, 2});
    CHECK(returned.all.size() == 36);
}

TEST_CASE("a wide fork leaves no more streams than the next one may need, and trim_pool none") {
    const Device device = cpu_device();
    const Stream base(device);
    const ScopedStream in(base);
    const auto fork = [&](std::size_t width) {
        fork_join_n(width, [](std::size_t) { launch_host([] {}); });
        base.synchronize();
    };
    fork(1);
    trim_pool(device);
    const std::size_t before = live_streams(device);
    fork(3000);
    CHECK(live_streams(device) <= before + 1024);
    CHECK(live_streams(device) > before);
    trim_pool(device);
    CHECK(live_streams(device) == before);
}

TEST_CASE("a returned stream that is still busy survives trim_pool") {
    DrainedGate gate;
    const Stream base(cpu_device());
    {
        const ScopedStream in(base);
        fork_join([&] { gate.hold(current_stream()); }, [] { launch_host([] {}); });
    }
    trim_pool(cpu_device());
    Flag ran;
    {
        const ScopedStream in(base);
        fork_join([&] { launch_host([=] { ran.set(); }); }, [] {});
    }
    CHECK_FALSE(ran.is_set());
    gate.open();
    CHECK(ran.wait());
}
