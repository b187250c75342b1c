// Lifetimes: streams and arrays destroyed with pending work, frees that wait, stale references.
#include "kernels.hpp"
#include "support.hpp"

#include <algorithm>
#include <cstdlib>

namespace heddle_test {

/// Reads by a raw pointer, which heddle does not see.
struct AddRaw {
    HEDDLE_FN void operator()(std::size_t i, const int* x, View<int> y) const { y[i] += x[i]; }
};

}  // namespace heddle_test

using namespace heddle_test;

namespace {

constexpr std::size_t n = 50'000;

/// Allocates arrays of the freed size, on a stream that is not held, and writes to them.
void overwrite_what_is_free(StreamRef s) {
    std::vector<Array<int>> arrays;
    for (int i = 0; i < 4; ++i) arrays.push_back(full<int>(s, n, -1));
    s.synchronize();
}

/// Returns how many streams of a GPU can have a hardware queue of their own.
int hardware_queues() {
    const char* const text = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    return text != nullptr ? std::atoi(text) : 8;
}

}  // namespace

TEST_CASE("destroying a stream does not block and loses no work") {
    const OrderLog seen;
    DrainedGate gate;
    {
        const Stream s(test_device());
        gate.hold(s);
        for (int i = 0; i < 10; ++i) seen.note(s, std::to_string(i));
    }  // the destructors would block here if they waited
    CHECK(seen.seen().empty());
    gate.open();
    CHECK(eventually([&] { return seen.seen().size() == 10; }));
    CHECK(seen.seen() == Strings{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
}

TEST_CASE("work that waits for a destroyed stream still comes after its work") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream waiter(test_device());
    {
        const Stream s(test_device());
        gate.hold(s);
        seen.note(s, "destroyed");
        waiter.wait_stream(s);
    }
    seen.note(waiter, "waiter");
    check_held(seen, gate, waiter, {"destroyed", "waiter"});
}

TEST_CASE("a stream that waits may be destroyed before what it waits for") {
    const OrderLog seen;
    DrainedGate gate;
    const Stream other(test_device());
    gate.hold(other);
    seen.note(other, "other");
    {
        const Stream s(test_device());
        s.wait_stream(other);
        seen.note(s, "destroyed");
    }
    gate.open();
    CHECK(eventually([&] { return seen.seen().size() == 2; }));
    CHECK(seen.seen() == Strings{"other", "destroyed"});
}

TEST_CASE("new streams do not run behind the work of destroyed ones") {
    DrainedGate gate;
    for (int i = 0; i < 20; ++i) {
        {
            const Stream s(test_device());
            gate.hold(s);
            launch_host(s, [] {});
        }
        const Stream fresh(test_device());
        CHECK(fresh.is_complete());
        launch_host(fresh, [] {});
        fresh.synchronize();  // would block if it were the destroyed stream
    }
}

TEST_CASE("an array that is freed while its own stream still has work on it keeps its memory until "
          "then") {
    DrainedGate gate;
    const Stream held(test_device()), other(test_device());
    Array<int> result = zeros<int>(held, n);
    {
        Array<int> x = ready_full<int>(held, n, 5);
        gate.hold(held);
        launch(held, AddTo{}, dim(n), x, result);
    }  // freeing x does not block the host
    overwrite_what_is_free(other);
    gate.open();
    CHECK(to_host(held, result) == std::vector<int>(n, 5));
}

TEST_CASE("an array that is freed while another stream uses it keeps its memory until then") {
    const Drained drained;
    const Stream home(test_device()), user(test_device()), third(test_device());
    Array<int> result = zeros<int>(user, n), copied = zeros<int>(user, n);
    Gate gate;
    {
        Array<int> x = full<int>(home, n, 5);
        user.wait_stream(home);
        user.synchronize();
        gate.hold(user);
        launch(user, AddTo{}, dim(n), x, result);
        copy(user, copied, x);
    }
    overwrite_what_is_free(home);
    overwrite_what_is_free(third);
    gate.open();
    CHECK(to_host(user, result) == std::vector<int>(n, 5));
    CHECK(to_host(user, copied) == std::vector<int>(n, 5));
}

TEST_CASE("a use through a part of a view counts as a use of the array") {
    const Drained drained;
    const Stream home(test_device()), user(test_device());
    Array<int> result = zeros<int>(user, n);
    Gate gate;
    {
        Array<int> x = full<int>(home, n, 5);
        user.wait_stream(home);
        user.synchronize();
        gate.hold(user);
        const View<const int> part = std::as_const(x).view().subview(1, n - 2).first(n / 2);
        launch(user, AddTo{}, dim(n / 2), part, result);
    }
    overwrite_what_is_free(home);
    gate.open();
    CHECK(to_host(user, result)[n / 2 - 1] == 5);
}

TEST_CASE("an array that many streams use is freed after all of them") {
    if (test_device().is_cuda() && hardware_queues() < 16)
        HEDDLE_SKIP(
            "a stream that shares a hardware queue with one that is held waits for the gate");
    const Drained drained;
    const Stream home(test_device());
    std::vector<Stream> users;
    std::vector<Array<int>> results;
    for (int i = 0; i < 12; ++i) {
        users.emplace_back(test_device());
        results.push_back(zeros<int>(users.back(), n));
        users.back().synchronize();
    }
    // In each round, a different stream is the only one that has not used the array yet.
    for (std::size_t slow = 0; slow < users.size(); ++slow) {
        Gate gate;
        {
            Array<int> x = ready_full<int>(home, n, static_cast<int>(slow) + 1);
            for (std::size_t i = 0; i < users.size(); ++i) {
                if (i == slow) gate.hold(users[i]);
                launch(users[i], CopyKernel{}, dim(n), x, results[i]);
            }
        }
        overwrite_what_is_free(home);
        gate.open();
        CHECK(to_host(users[slow], results[slow]) ==
              std::vector<int>(n, static_cast<int>(slow) + 1));
        for (const Stream& s : users) s.synchronize();
    }
}

TEST_CASE("an array may be freed after the streams that use it were destroyed") {
    const Drained drained;
    const Stream home(test_device());
    Array<int> result = ready_zeros<int>(home, n);
    Gate gate;
    {
        Array<int> x = ready_full<int>(home, n, 5);
        Event done(test_device());
        {
            const Stream user(test_device());
            gate.hold(user);
            launch(user, AddTo{}, dim(n), x, result);
            done.record(user);
        }
        x.reset();
        overwrite_what_is_free(home);
        gate.open();
        home.wait_event(done);
    }
    CHECK(to_host(home, result) == std::vector<int>(n, 5));
}

TEST_CASE("an array may be freed after the stream it was made on was destroyed") {
    const Drained drained;
    const Stream other(test_device());
    Array<int> x;
    {
        const Stream s(test_device());
        x = full<int>(s, n, 5);
        other.wait_stream(s);
    }
    CHECK(to_host(other, x) == std::vector<int>(n, 5));
    x.reset();
    Array<int> y = full<int>(other, n, 6);
    CHECK(to_host(other, y) == std::vector<int>(n, 6));
}

TEST_CASE("a declared use counts: raw pointers on another stream are safe after used_on") {
    const Drained drained;
    const Stream home(test_device()), user(test_device());
    Array<int> result = zeros<int>(user, n);
    Gate gate;
    {
        Array<int> x = full<int>(home, n, 5);
        user.wait_stream(home);
        user.synchronize();
        gate.hold(user);
        launch(user, AddRaw{}, dim(n), static_cast<const int*>(x.data()), result);
        x.used_on(user);
    }
    overwrite_what_is_free(home);
    gate.open();
    CHECK(to_host(user, result) == std::vector<int>(n, 5));
}

TEST_CASE("pinned memory that is freed while a copy is to read it keeps its content until then") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = ready_zeros<int>(s, n);
    Gate gate;
    {
        Array<int> staging = pinned<int>(n);
        std::fill(staging.data(), staging.data() + n, 5);
        gate.hold(s);
        copy(s, x, staging);
    }
    for (int i = 0; i < 4; ++i) {
        Array<int> again = pinned<int>(n);
        std::fill(again.data(), again.data() + n, -1);
    }
    gate.open();
    CHECK(to_host(s, x) == std::vector<int>(n, 5));
}

TEST_CASE(
    "pinned memory that is freed while a copy is to write it is reused by nobody until then") {
    const Drained drained;
    const Stream s(test_device());
    Array<int> x = ready_full<int>(s, n, 5);
    Gate gate;
    {
        Array<int> destination = pinned<int>(n);
        gate.hold(s);
        copy(s, destination, x);
    }
    std::vector<Array<int>> others;
    for (int i = 0; i < 4; ++i) {
        others.push_back(pinned<int>(n));
        std::fill(others.back().data(), others.back().data() + n, -1);
    }
    gate.open();
    s.synchronize();
    int wrong = 0;
    for (const Array<int>& other : others)
        wrong += std::count(other.data(), other.data() + n, -1) != static_cast<long>(n);
    CHECK(wrong == 0);
}

TEST_CASE("freed memory is used again: allocating and freeing without end does not run out") {
    const Stream s(test_device());
    const std::size_t size = std::size_t{64} << 20;
    const std::size_t rounds =
        repetitions(400, 4000);  // in total, at least 25 GB on a CPU device and 250 GB on a GPU
    for (std::size_t i = 0; i < rounds; ++i) {
        const Array<char> x = empty<char>(s, size);
        fill(s, View<char>(const_cast<char*>(x.data()), 1), 'x');
    }
    s.synchronize();
    CHECK_FALSE(s.is_poisoned());
}

TEST_CASE("assigning to an array frees what it had in stream order") {
    const Drained drained;
    const Stream s(test_device()), other(test_device());
    Array<int> result = zeros<int>(s, n);
    Array<int> x = ready_full<int>(s, n, 5);
    Gate gate(s);
    launch(s, AddTo{}, dim(n), x, result);
    x = full<int>(other, n, 6);
    overwrite_what_is_free(other);
    gate.open();
    CHECK(to_host(s, result) == std::vector<int>(n, 5));
    CHECK(to_host(other, x) == std::vector<int>(n, 6));
}

TEST_CASE("a view that outlives its array is refused") {
    const Stream s(test_device());
    View<int> left;
    Array<int> other = zeros<int>(s, 10);
    {
        Array<int> x = zeros<int>(s, 10);
        left = x;
    }
    const unsigned line = __LINE__ + 1;
    const Error error = thrown_by([&] { launch(s, Iota{}, dim(10), left); });
    CHECK(error.code() == ErrorCode::usage);
    CHECK(error.where().line == line);
    CHECK_THROWS_AS(copy(s, left, other), UsageError);
    CHECK_THROWS_AS(copy(s, other, left), UsageError);
    CHECK_THROWS_AS(copy(left, other), UsageError);
    CHECK_THROWS_AS(fill(s, left, 1), UsageError);
    CHECK_THROWS_AS(fill(left, 1), UsageError);
    CHECK_THROWS_AS(to_host(left), UsageError);
    s.synchronize();
    CHECK_FALSE(s.is_poisoned());
}

TEST_CASE("a view stays good when its array is moved") {
    const Stream s(test_device());
    Array<int> x = zeros<int>(s, 10);
    const View<int> v = x;
    Array<int> y = std::move(x);
    launch(s, Iota{}, dim(10), v);
    CHECK(to_host(s, y)[9] == 9);
}

TEST_CASE("an event may be waited for while its stream is being destroyed") {
    const Drained drained;
    for (std::size_t i = 0; i < repetitions(2000, 100); ++i) {
        auto s = std::make_unique<Stream>(test_device());
        launch_host(*s, [] {});
        const Event event = s->record_event();
        std::thread other([&] { s.reset(); });
        event.synchronize();
        CHECK(event.is_complete());
        other.join();
    }
}
