// Copies between two devices of one kind. Tests every shape on a stream of either device, with and
// without peer access, and in graphs.
#include "kernel_launches.hpp"
#include "support.hpp"

#include <numeric>

using namespace heddle_test;

namespace {

constexpr std::size_t rows = 40, columns = 30, pitch = 50;

Ints counted_up(std::size_t n, int first = 0) {
    Ints values(n);
    std::iota(values.begin(), values.end(), first);
    return values;
}

/// Returns `to` after copying `high` x `wide` elements from `from` into it.
Ints with_rectangle(Ints to, std::size_t to_at, std::size_t to_pitch, const Ints& from,
                    std::size_t from_at, std::size_t from_pitch, std::size_t high,
                    std::size_t wide) {
    for (std::size_t r = 0; r < high; ++r)
        for (std::size_t c = 0; c < wide; ++c)
            to[to_at + r * to_pitch + c] = from[from_at + r * from_pitch + c];
    return to;
}

/// Two devices with a stream and an array each. Has the expected contents of both arrays.
struct Sides {
    Stream a, b;
    Array<int> on_a, on_b;
    Ints in_a = counted_up(rows * pitch), in_b = counted_up(rows * pitch, 100'000);

    Sides(Device from, Device to)
        : a(from), b(to), on_a(empty<int>(a, rows * pitch)), on_b(empty<int>(b, rows * pitch)) {
        copy(a, on_a, in_a);
        copy(b, on_b, in_b);
        synchronize();
    }
    /// Makes copies of every shape from a to b on `stream`. Checks all of b after each copy.
    void copy_every_shape(StreamRef stream) {
        const auto is = [&](const Ints& expected) {
            stream.synchronize();
            in_b = expected;
            return to_host(b, on_b) == expected;
        };
        copy(stream, on_b.view().first(7), on_a.view().subview(11, 7));
        CHECK(is(with_rectangle(in_b, 0, 0, in_a, 11, 0, 1, 7)));
        copy(stream, on_b.view().subview(3, 501), on_a.view().subview(500, 501));
        CHECK(is(with_rectangle(in_b, 3, 0, in_a, 500, 0, 1, 501)));
        copy_2d(stream,
                View2D<int>(on_b.view().subview(5, rows * pitch - 5), rows - 1, columns, pitch),
                View2D<int>(on_a.view().subview(9, rows * columns), rows - 1, columns));
        CHECK(is(with_rectangle(in_b, 5, pitch, in_a, 9, columns, rows - 1, columns)));
        copy_2d(stream, View2D<int>(on_b.view(), rows, 1, pitch),
                View2D<int>(on_a.view(), rows, 1, pitch));
        CHECK(is(with_rectangle(in_b, 0, pitch, in_a, 0, pitch, rows, 1)));
        copy_2d(
            stream, View2D<int>(on_b.view().first(rows), rows, 1, 1),
            View2D<int>(on_a.view().subview(pitch - 1, rows * pitch - pitch + 1), rows, 1, pitch));
        CHECK(is(with_rectangle(in_b, 0, 1, in_a, pitch - 1, pitch, rows, 1)));
        copy(stream, on_b, on_a);
        CHECK(is(in_a));
    }
};

#define SKIP_WITHOUT_TWO()                                                                         \
    const std::vector<Device> all = test_devices();                                                \
    if (all.size() < 2) HEDDLE_SKIP("needs two devices of one kind")

}  // namespace

TEST_CASE("every shape is copied between each two devices, on the stream of either", "[multi]") {
    SKIP_WITHOUT_TWO();
    for (const Device from : all)
        for (const Device to : all) {
            if (from == to) continue;
            INFO(from.name() << " to " << to.name());
            const Apart apart(from, to);
            Sides of_source(from, to), of_destination(from, to), of_third(from, to);
            of_source.copy_every_shape(of_source.a);
            of_destination.copy_every_shape(of_destination.b);
            const Stream third(all.back());
            of_third.copy_every_shape(third);
        }
}

TEST_CASE("memory of one device is copied on the stream of another", "[multi]") {
    SKIP_WITHOUT_TWO();
    for (const bool with_access : {false, true}) {
        INFO("with access: " << with_access);
        const Apart apart(all[0], all[1]);
        std::optional<ScopedPoolAccess> access;
        if (with_access) access.emplace(all[0], all[1]);
        const Stream a(all[0]), b(all[1]);
        Array<int> x = empty<int>(a, rows * pitch), y = zeros<int>(a, rows * pitch);
        Array<int> host = pinned<int>(rows * pitch);
        const Ints values = counted_up(rows * pitch);
        std::copy(values.begin(), values.end(), host.view().begin());
        b.wait_stream(a);
        copy(b, x, host);
        copy(b, y, x);
        CHECK(to_host(b, y) == values);
        copy_2d(b, View2D<int>(y.view(), rows, 1, pitch),
                View2D<int>(x.view().subview(1, rows * pitch - 1), rows, 1, pitch));
        CHECK(to_host(b, y) == with_rectangle(values, 0, pitch, values, 1, pitch, rows, 1));
        copy(b, x, Ints(rows * pitch, 4));
        copy(b, host, x);
        b.synchronize();
        CHECK(Ints(host.view().begin(), host.view().end()) == Ints(rows * pitch, 4));
    }
}

TEST_CASE("with access to each other's pools the same shapes arrive", "[multi]") {
    SKIP_WITHOUT_TWO();
    if (!all[0].can_access_pool(all[1]) || !all[1].can_access_pool(all[0]))
        HEDDLE_SKIP("these two devices cannot reach each other");
    const ScopedPoolAccess access(all[0], all[1]);
    Sides of_source(all[0], all[1]), of_destination(all[0], all[1]);
    of_source.copy_every_shape(of_source.a);
    of_destination.copy_every_shape(of_destination.b);
}

TEST_CASE("copies of every shape between two devices are captured, and launched again and again",
          "[multi][graphs]") {
    SKIP_WITHOUT_TWO();
    if (!all[0].can_access_pool(all[1]) || !all[1].can_access_pool(all[0]))
        HEDDLE_SKIP("these two devices cannot reach each other");
    for (const bool on_source : {true, false}) {
        Sides s(all[0], all[1]);
        const StreamRef stream = on_source ? StreamRef(s.a) : StreamRef(s.b);
        Graph graph = capture(stream, [&] {
            copy(stream, s.on_b.view().first(7), s.on_a.view().subview(11, 7));
            copy_2d(stream, View2D<int>(s.on_b.view(), rows, 1, pitch),
                    View2D<int>(s.on_a.view(), rows, 1, pitch));
        });
        CHECK(graph.size() == 2);
        const Ints expected = with_rectangle(with_rectangle(s.in_b, 0, 0, s.in_a, 11, 0, 1, 7), 0,
                                             pitch, s.in_a, 0, pitch, rows, 1);
        for (int i = 0; i < 3; ++i) {
            copy(s.b, s.on_b, s.in_b);
            stream.wait_stream(s.b);
            graph.launch(stream);
            stream.synchronize();
            CHECK(to_host(s.b, s.on_b) == expected);
        }
    }
}

TEST_CASE("a ring of copies around all devices, each after the one before, brings the data home",
          "[multi]") {
    SKIP_WITHOUT_TWO();
    constexpr std::size_t n = 100'000;
    std::vector<Stream> streams;
    std::vector<Array<int>> parts;
    for (const Device device : all) {
        streams.emplace_back(device);
        parts.push_back(zeros<int>(streams.back(), n));
    }
    fill(streams[0], parts[0], 3);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::size_t next = (i + 1) % all.size();
        streams[next].wait_stream(streams[i]);
        copy(streams[next], parts[next], parts[i]);
        launch(streams[next], Add{}, dim(n), parts[next], 1);
    }
    CHECK(to_host(streams[0], parts[0]) == Ints(n, 3 + static_cast<int>(all.size())));
}

TEST_CASE("memory freed while a copy from another device still reads it stays until it has",
          "[multi]") {
    SKIP_WITHOUT_TWO();
    const Drained drained;
    const Stream a(all[0]), b(all[1]);
    Array<int> target = zeros<int>(b, 10'000);
    Gate gate;
    {
        Array<int> source = full<int>(a, 10'000, 7);
        b.wait_stream(a);
        gate.hold(b);
        copy(b, target, source);
    }
    Array<int> taken =
        full<int>(a, 10'000, 9);  // if it gets the same memory, it must follow the copy
    gate.open();
    CHECK(to_host(b, target) == Ints(10'000, 7));
    CHECK(to_host(a, taken) == Ints(10'000, 9));
}
