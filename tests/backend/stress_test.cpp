// Random programs with fixed seeds. The guarantees of scopes must hold, however scopes are nested.
#include "kernels.hpp"
#include "random.hpp"
#include "support.hpp"

#include <cstdint>

using namespace heddle_test;

namespace {

using Number = std::uint32_t;

/// A program on one thread, in scopes that wait on entry and exit. Its results must be those of its
/// statements in program order. A model on the host computes these.
class Scenario {
public:
    Scenario(Device device, std::uint64_t seed) : device_(device), random_(seed) {
        for (int i = 0; i < 3; ++i) streams_.emplace_back(device);
    }

    void run(int statements) {
        const ScopedStream in{streams_[0]};
        for (Number i = 0; i < 4; ++i) {
            arrays_.push_back(full<Number>(size, i));
            model_.push_back(i);
        }
        while (statements-- > 0) statement(0);
        for (std::size_t i = 0; i < arrays_.size(); ++i) check(i);
        streams_[0].synchronize();
    }

    int wrong() const { return *wrong_; }

private:
    static constexpr std::size_t size = 257;

    void check(std::size_t i) {
        for (Number v : to_host(arrays_[i])) *wrong_ += v != model_[i];
    }

    void statement(int depth) {
        const std::size_t a = random_.below(arrays_.size()), b = random_.below(arrays_.size());
        const Number value = static_cast<Number>(random_.below(9)) + 1;
        switch (random_.below(depth < 5 ? 14 : 9)) {
        case 0:
        case 1:
            launch(Add{}, dim(size), arrays_[a], value);
            model_[a] += value;
            break;
        case 2:
            launch(Multiply{}, dim(size), arrays_[a], value);
            model_[a] *= value;
            break;
        case 3:
            fill(arrays_[a], value);
            model_[a] = value;
            break;
        case 4:
            if (a == b) break;
            copy(arrays_[a], arrays_[b]);
            model_[a] = model_[b];
            break;
        case 5:
            launch_host([wrong = wrong_, at = reached_, expected = steps_] {
                *wrong += (*at)++ != expected;
            });
            ++steps_;
            break;
        case 6:  // replaces an array; the old one is freed with pending work
            arrays_[a] = full<Number>(size, value);
            model_[a] = value;
            break;
        case 7:
            if (random_.below(10) == 0) check(a);
            break;
        case 8: {  // work on another stream, ordered by events
            const Stream other(device_);
            other.wait_event(record_event());
            launch(other, Add{}, dim(size), arrays_[a], value);
            model_[a] += value;
            wait_event(other.record_event());
            break;
        }
        case 9:
        case 10: {  // enters a scope on one of the streams, perhaps the current one
            const ScopedStream in{any_stream(), both_ways};
            block(depth);
            break;
        }
        case 11: {  // enters a scope on a stream that is destroyed with pending work
            const Stream fresh(device_);
            const ScopedStream in{fresh, both_ways};
            block(depth);
            break;
        }
        case 12:  // leaves a scope by throwing an exception
            try {
                const ScopedStream in{any_stream(), both_ways};
                block(depth);
                throw Boom("out");
            } catch (const Boom&) {}
            break;
        default:  // forks; each branch uses its own array, and one may throw
            try {
                fork_join_n(arrays_.size(), [&](std::size_t i) {
                    launch(Add{}, dim(size), arrays_[i], value);
                    model_[i] += value;
                    if (value == 9 && i == 2) throw Boom("branch");
                });
            } catch (const Boom&) {}
        }
    }

    void block(int depth) {
        for (std::size_t left = random_.below(6); left > 0; --left) statement(depth + 1);
    }

    StreamRef any_stream() { return streams_[random_.below(streams_.size())]; }

    static constexpr ScopeOptions both_ways{.wait_on_enter = true, .wait_on_exit = true};

    Device device_;
    Random random_;
    std::vector<Stream> streams_;
    std::vector<Array<Number>> arrays_;
    std::vector<Number> model_;
    std::size_t steps_ = 0;
    std::shared_ptr<std::size_t> reached_ = std::make_shared<std::size_t>(0);
    std::shared_ptr<std::atomic<int>> wrong_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace

TEST_CASE("random programs in nested scopes do what they say") {
    const Reports reports;
    const std::size_t programs = repetitions(400, 20);
    for (std::size_t seed = 1; seed <= programs; ++seed) {
        CAPTURE(seed);
        Scenario program(test_device(), seed);
        program.run(60);
        REQUIRE(program.wrong() == 0);
    }
    CHECK(reports.count() == 0);
}

TEST_CASE("random programs on many threads at once do what they say") {
    const Reports reports;
    std::atomic<int> wrong{0};
    on_threads(6, [&](std::uint64_t t) {
        for (std::size_t i = 0; i < repetitions(100, 5); ++i) {
            Scenario program(test_devices()[t % test_devices().size()], 1000 * (t + 1) + i);
            program.run(50);
            wrong += program.wrong();
        }
    });
    CHECK(wrong == 0);
    CHECK(reports.count() == 0);
}

TEST_CASE("random waits among shared streams, from many threads, lose no work") {
    const Drained drained;
    std::atomic<std::size_t> given{0}, ran{0};
    std::vector<Stream> streams;
    for (std::size_t i = 0; i < 12; ++i)
        streams.emplace_back(test_devices()[i % test_devices().size()]);
    on_threads(4, [&](std::uint64_t t) {
        Random random(t + 1);
        for (std::size_t i = 0; i < repetitions(10'000, 300); ++i) {
            const StreamRef a = streams[random.below(streams.size())],
                            b = streams[random.below(streams.size())];
            switch (random.below(5)) {
            case 0: a.wait_stream(b); break;
            case 1: a.wait_event(b.record_event()); break;
            case 2: {
                const ScopedStream in{a};
                const ScopedStream inner{
                    b, {.wait_on_enter = true, .wait_on_exit = random.below(2) == 0}};
                break;
            }
            default: ++given; launch_host(a, [&] { ++ran; });
            }
        }
    });
    synchronize();
    CHECK(ran == given);
}

TEST_CASE("streams, events and arrays destroyed in any order with work pending lose nothing") {
    const Drained drained;
    std::atomic<std::size_t> given{0}, ran{0};
    Random random(7);
    std::vector<Stream> streams;
    std::vector<Event> events;
    struct Used {
        Array<int> array;
        Event last;
    };
    std::vector<Used> arrays;
    for (std::size_t i = 0; i < repetitions(20'000, 800); ++i) {
        if (streams.size() < 4) streams.emplace_back(test_device());
        const std::size_t s = random.below(streams.size());
        switch (random.below(8)) {
        case 0: streams.erase(streams.begin() + static_cast<std::ptrdiff_t>(s)); break;
        case 1: events.push_back(streams[s].record_event()); break;
        case 2:
            if (!events.empty())
                events.erase(events.begin() +
                             static_cast<std::ptrdiff_t>(random.below(events.size())));
            break;
        case 3:
            if (!events.empty()) streams[s].wait_event(events[random.below(events.size())]);
            break;
        case 4: {
            Array<int> x = zeros<int>(streams[s], 1 + random.below(5000));
            arrays.push_back({std::move(x), streams[s].record_event()});
            break;
        }
        case 5:
            if (!arrays.empty())
                arrays.erase(arrays.begin() +
                             static_cast<std::ptrdiff_t>(random.below(arrays.size())));
            break;
        case 6:
            if (!arrays.empty()) {
                auto& [x, last] = arrays[random.below(arrays.size())];
                streams[s].wait_event(last);
                launch(streams[s], Set{}, dim(x.size()), x, 1);
                last.record(streams[s]);
            }
            break;
        default: ++given; launch_host(streams[s], [&] { ++ran; });
        }
    }
    streams.clear();
    arrays.clear();
    events.clear();
    synchronize_device(test_device());
    CHECK(ran == given);
}
