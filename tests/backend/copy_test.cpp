// Copies: their results, their order, and rejected calls.
#include "kernel_launches.hpp"
#include "support.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace heddle_test;

namespace {

std::vector<int> counting(std::size_t n, int first = 0) {
    std::vector<int> v(n);
    std::iota(v.begin(), v.end(), first);
    return v;
}

}  // namespace

TEST_CASE("a copy takes all elements, whatever their number") {
    const std::size_t n =
        GENERATE(1u, 2u, 3u, 63u, 64u, 65u, 4095u, 4096u, 4097u, 65'536u, 1'000'003u, 5'000'000u);
    CAPTURE(n);
    const Stream s(test_device());
    const std::vector<int> source = counting(n);
    Array<int> x = empty<int>(s, n), y = zeros<int>(s, n);
    copy(s, x, source);
    copy(s, y, x);
    std::vector<int> back(n);
    copy(s, back, y);
    s.synchronize();
    CHECK(back == source);
}

TEST_CASE("a copy moves bytes at any offset and touches no others") {
    const Stream s(test_device());
    const std::vector<int> bytes = counting(300);
    std::vector<unsigned char> source(300);
    for (std::size_t i = 0; i < 300; ++i) source[i] = static_cast<unsigned char>(bytes[i]);
    Array<unsigned char> x = from_host(s, source);
    int wrong = 0;
    for (std::size_t to = 0; to < 9; ++to)
        for (std::size_t from = 0; from < 9; ++from)
            for (std::size_t n : {0u, 1u, 7u, 8u, 17u, 200u}) {
                Array<unsigned char> y = full<unsigned char>(s, 300, 255);
                copy(s, y.view().subview(to, n), x.view().subview(from, n));
                std::vector<unsigned char> expected(300, 255);
                if (n != 0) std::memcpy(expected.data() + to, source.data() + from, n);
                wrong += to_host(s, y) != expected;
            }
    CHECK(wrong == 0);
}

TEST_CASE("a copy between each two kinds of memory arrives") {
    const Stream s(test_device());
    const std::size_t n = 100'000;
    const std::vector<int> values = counting(n, 5);
    const auto make = [&](int kind) {
        return kind == 0 ? empty<int>(s, n) : kind == 1 ? pinned<int>(n) : pageable<int>(n);
    };
    for (int from = 0; from < 3; ++from)
        for (int to = 0; to < 3; ++to) {
            CAPTURE(from, to);
            Array<int> source = make(from), destination = make(to);
            copy(s, source, values);
            fill(s, destination, 0);
            copy(s, destination, source);
            CHECK(to_host(s, destination) == values);
        }
}

TEST_CASE("a copy waits its turn on its stream") {
    DrainedGate gate;
    const Stream s(test_device());
    Array<int> x = full<int>(s, 100, 1), y = full<int>(s, 100, 2);
    const Event before = s.record_event();
    before.synchronize();
    gate.hold(s);
    fill(s, x, 7);
    copy(s, y, x);
    const Stream other(test_device());
    CHECK(to_host_behind_gate(other, y) == std::vector<int>(100, 2));
    gate.open();
    CHECK(to_host(s, y) == std::vector<int>(100, 7));
}

TEST_CASE("a copy from pinned memory reads it when its turn comes") {
    DrainedGate gate;
    const Stream s(test_device());
    Array<int> source = pinned<int>(1000);
    std::fill(source.data(), source.data() + 1000, 1);
    Array<int> x = empty<int>(s, 1000);
    gate.hold(s);
    copy(s, x, source);  // returns although the stream is held
    for (int& value : source.view()) value = 2;
    gate.open();
    CHECK(to_host(s, x) == std::vector<int>(1000, 2));
}

TEST_CASE("a copy to pinned memory happens in stream order, not at the call") {
    DrainedGate gate;
    const Stream s(test_device());
    Array<int> destination = pinned<int>(1000);
    std::fill(destination.data(), destination.data() + 1000, 1);
    Array<int> x = ready_full<int>(s, 1000, 2);
    gate.hold(s);
    copy(s, destination, x);
    finish_work(test_device());
    CHECK(destination.view()[0] == 1);
    CHECK(destination.view()[999] == 1);
    gate.open();
    s.synchronize();
    CHECK(destination[0] == 2);
    CHECK(destination[999] == 2);
}

TEST_CASE("a pageable source may be changed as soon as the copy returns") {
    DrainedGate gate;
    const Stream s(test_device());
    const std::size_t n = GENERATE(10u, 20'000u);
    std::vector<int> source = counting(n);
    Array<int> x = empty<int>(s, n);
    gate.hold(s);
    copy(s, x, source);  // returns although the stream is held
    const std::vector<int> expected = source;
    std::fill(source.begin(), source.end(), -1);
    gate.open();
    CHECK(to_host(s, x) == expected);
}

TEST_CASE("a pageable array that nothing writes is copied from without waiting, again and again") {
    DrainedGate gate;
    const Stream s(test_device());
    Array<int> x = empty<int>(s, 100), host = pageable<int>(100);
    const Flag returned;
    bool in_time = false;
    std::fill(host.data(), host.data() + 100, 1);
    gate.hold(s);
    std::thread opener(
        [&] {  // a copy that waits for the gate makes the test fail instead of making it hang
            in_time = returned.wait();
            gate.open();
        });
    for (int i = 2; i < 5; ++i) {
        copy(s, x, host);
        std::fill(host.data(), host.data() + 100, i);
    }
    returned.set();
    opener.join();
    CHECK(in_time);
    CHECK(to_host(s, x) == std::vector<int>(100, 3));
}

TEST_CASE("a pageable array that a stream is still to write is copied from after that") {
    DrainedGate gate;
    const Stream s(cpu_device()), other(test_device());
    Array<int> host = pageable<int>(100), x = zeros<int>(other, 100);
    std::fill(host.data(), host.data() + 100, 1);
    other.synchronize();
    gate.hold(s);
    launch(s, Set{}, dim(100), host, 2);
    other.wait_stream(s);  // the user must order this explicitly
    std::thread opener([&] { gate.open(); });
    copy(other, x, host);
    opener.join();
    CHECK(to_host(other, x) == std::vector<int>(100, 2));
}

TEST_CASE("a large pageable source may be changed as soon as the copy returns") {
    const Stream s(test_device());
    const std::size_t n = 20'000'000;  // does not fit into the staging buffers
    std::vector<int> source = counting(n);
    Array<int> x = empty<int>(s, n);
    copy(s, x, source);
    std::fill(source.begin(), source.end(), -1);
    const std::vector<int> back = to_host(s, x);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) wrong += back[i] != static_cast<int>(i);
    CHECK(wrong == 0);
}

namespace {
/// Enqueues copies from pageable memory on a held stream of a CPU device. The stream changes the
/// first element before the copies run.
struct ReadAtCall {
    Drained drained;
    Stream s{cpu_device()};
    std::vector<int> source;
    Gate gate;
    explicit ReadAtCall(std::size_t n) : source(n, 1) {
        s.synchronize();
        gate.hold(s);
        launch_host(s, [this] { source[0] = 9; });
    }
    /// Makes a call that may wait for the stream. Once the call has enqueued work, opens the gate.
    template <class F> void run(F&& call) {
        const auto& submissions = detail::Access::state(s).submissions;
        const std::uint64_t before = submissions.load();
        std::thread caller(call);
        CHECK(eventually([&] { return submissions.load() != before; }));
        gate.open();
        caller.join();
    }
};
/// Returns an array of a CPU device that any stream may use immediately.
Array<int> made_elsewhere(std::size_t n) {
    const Stream s(cpu_device());
    Array<int> x = empty<int>(s, n);
    s.synchronize();
    return x;
}
constexpr std::size_t more_than_64_mb = 20'000'000;
}  // namespace

TEST_CASE("a pageable source is read at the call, whatever its size and the stream's work") {
    const std::size_t n = GENERATE(std::size_t{1000}, more_than_64_mb);
    ReadAtCall h(n);
    Array<int> x = made_elsewhere(n);
    h.run([&] {
        copy(h.s, x, h.source);
        std::fill(h.source.begin() + 1, h.source.end(), -1);
    });
    const std::vector<int> back = to_host(h.s, x);
    CHECK(std::count(back.begin(), back.end(), 1) == static_cast<std::ptrdiff_t>(n));
}

TEST_CASE("a pageable source is read at the call also if the destination is pageable") {
    const std::size_t n = GENERATE(std::size_t{1000}, more_than_64_mb);
    ReadAtCall h(n);
    std::vector<int> out(n);
    h.run([&] { copy(h.s, out, h.source); });
    CHECK(std::count(out.begin(), out.end(), 1) == static_cast<std::ptrdiff_t>(n));
}

TEST_CASE("a large rectangle of pageable memory is read at the call, in whole rows") {
    const std::size_t rows = GENERATE(5u, 1000u), pitch = 25'000'000 / rows, columns = pitch - 7;
    ReadAtCall h(rows * pitch);
    for (std::size_t i = 0; i < h.source.size(); ++i) h.source[i] = static_cast<int>(i);
    const std::vector<int> before = h.source;
    Array<int> x = made_elsewhere(rows * columns);
    h.run([&] {
        copy_2d(h.s, View2D(x.view(), rows, columns),
                View2D(View<const int>(h.source), rows, columns, pitch));
        std::fill(h.source.begin() + 1, h.source.end(), -1);
    });
    const std::vector<int> back = to_host(h.s, x);
    std::size_t wrong = 0;
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c)
            wrong += back[r * columns + c] != before[r * pitch + c];
    CHECK(wrong == 0);
}

TEST_CASE("a pageable destination is filled when the copy returns") {
    const Stream s(test_device());
    const std::size_t n = GENERATE(10u, 3'000'000u);
    Array<int> x = empty<int>(s, n);
    launch(s, Iota{}, dim(n), x);
    std::vector<int> back(n);
    copy(s, back, x);
    CHECK(back == counting(n));
}

TEST_CASE("a copy between different sizes is refused, and the message has both") {
    const Stream s(test_device());
    Array<int> x = empty<int>(s, 123), y = full<int>(s, 456, 1);
    const OpCounter counted;
    const unsigned line = __LINE__ + 1;
    const Error error = thrown_by([&] { copy(s, x, y); });
    CHECK(error.code() == ErrorCode::usage);
    CHECK(error.where().line == line);
    CHECK_THAT(error.what(), contains("123") || contains("492"));
    CHECK_THAT(error.what(), contains("456") || contains("1824"));
    CHECK_THROWS_AS(copy(x, y), UsageError);
    CHECK_THROWS_AS(copy(s, x, std::vector<int>(122)), UsageError);
    CHECK_THROWS_AS(copy(s, View<int>(), y), UsageError);
    CHECK(counted.stats().copies == 0);
}

TEST_CASE("a copy from or to no memory is refused") {
    const Stream s(test_device());
    Array<int> x = full<int>(s, 10, 1);
    CHECK_THROWS_AS(copy(s, x, View<const int>(nullptr, 10)), UsageError);
    CHECK_THROWS_AS(copy(s, View<int>(nullptr, 10), x), UsageError);
    CHECK(to_host(s, x) == std::vector<int>(10, 1));
}

TEST_CASE("a copy of nothing does nothing") {
    const Stream s(test_device());
    Array<int> x = full<int>(s, 10, 1);
    const OpCounter counted;
    copy(s, View<int>(), View<const int>());
    copy(s, x.view().first(0), x.view().last(0));
    CHECK(counted.stats().bytes_copied == 0);
    CHECK(s.is_poisoned() == false);
    s.synchronize();
}

TEST_CASE("a copy between overlapping memory is refused") {
    const Stream s(test_device());
    Array<int> x = full<int>(s, 100, 1);
    const View<int> v = x;
    CHECK_THROWS_AS(copy(s, v, v), UsageError);
    CHECK_THROWS_AS(copy(s, v.first(51), v.last(50 + 1)), UsageError);
    CHECK_THROWS_AS(copy(s, v.last(99), v.first(99)), UsageError);
    std::vector<int> host(10);
    CHECK_THROWS_AS(copy(s, View<int>(host).first(9), View<int>(host).last(9)), UsageError);
    s.synchronize();
}

TEST_CASE("a copy between neighbouring parts of one array is allowed") {
    const Stream s(test_device());
    Array<int> x = from_host(s, counting(100));
    copy(s, x.view().last(50), x.view().first(50));
    std::vector<int> expected = counting(50);
    expected.resize(100);
    std::iota(expected.begin() + 50, expected.end(), 0);
    CHECK(to_host(s, x) == expected);
}

TEST_CASE("structures are copied as they are") {
    struct Particle {
        double position[3];
        int id;
        bool operator==(const Particle&) const = default;
    };
    const Stream s(test_device());
    std::vector<Particle> particles(1000);
    for (int i = 0; i < 1000; ++i)
        particles[static_cast<std::size_t>(i)] = {{i * 1.0, i * 2.0, i * 3.0}, i};
    CHECK(to_host(s, from_host(s, particles)) == particles);
}
