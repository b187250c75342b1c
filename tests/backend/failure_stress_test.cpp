// Exceptions at random places, and exhausted memory. heddle must keep working.
#include "kernel_launches.hpp"
#include "random.hpp"
#include "support.hpp"

#include <limits>

using namespace heddle_test;

namespace {

constexpr std::size_t too_much = std::numeric_limits<std::size_t>::max() / 64;

}  // namespace

TEST_CASE("host functions that fail at random places: what comes after is dropped, what went "
          "before has run") {
    for (std::uint64_t seed = 1; seed <= repetitions(600, 30); ++seed) {
        Random random(seed);
        const Stream s(test_device());
        const std::size_t n = 1 + random.below(40), fails = random.below(n);
        const auto ran = std::make_shared<std::vector<std::size_t>>();
        for (std::size_t i = 0; i < n; ++i)
            launch_host(s, [ran, i, fails] {
                ran->push_back(i);
                if (i == fails) throw Boom(std::to_string(i));
            });
        const Error error = thrown_by([&] { s.synchronize(); });
        REQUIRE(cause_of(error) == std::to_string(fails));
        REQUIRE(ran->size() == fails + 1);
        REQUIRE(ran->back() == fails);
    }
}

TEST_CASE("many threads with failing streams: every thread learns of its own failures only") {
    std::atomic<int> wrong{0};
    on_threads(6, [&](std::uint64_t t) {
        Random random(t + 1);
        const Stream base(test_device()), other(test_device());
        for (std::size_t i = 0; i < repetitions(400, 20); ++i) {
            const std::string text = std::to_string(t) + "." + std::to_string(i);
            const bool in_other = random.below(2) == 0, fails = random.below(3) != 0;
            const auto work = [text, fails] {
                if (fails) throw Boom(text);
            };
            if (in_other) {
                const ScopedStream in{base};
                const ScopedStream inner{other, {.wait_on_enter = true, .wait_on_exit = true}};
                launch_host(work);
            } else {
                launch_host(base, work);
            }
            const auto error = error_of([&] { base.synchronize(); });
            wrong += error.has_value() != fails;
            if (error) wrong += cause_of(*error) != text;
            base.clear_error();
            other.clear_error();
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE(
    "a failure in the middle of a net of streams goes to what waits for it, and nowhere else") {
    for (std::uint64_t seed = 1; seed <= repetitions(300, 15); ++seed) {
        CAPTURE(seed);
        Random random(seed);
        std::vector<Stream> streams;
        std::vector<bool> failed(10, false);
        for (int i = 0; i < 10; ++i) streams.emplace_back(test_device());
        const std::size_t origin = random.below(10);
        poison(streams[origin], "origin");
        failed[origin] = true;
        for (int i = 0; i < 25; ++i) {
            const std::size_t a = random.below(10), b = random.below(10);
            streams[a].wait_stream(streams[b]);
            launch_host(streams[a], [] {});
            if (failed[b]) failed[a] = true;
        }
        for (std::size_t i = 0; i < 10; ++i) {
            CAPTURE(i);
            const auto error = error_of([&] { streams[i].synchronize(); });
            REQUIRE(error.has_value() == failed[i]);
            if (error) REQUIRE(cause_of(*error) == "origin");
        }
    }
}

TEST_CASE("what host functions carry is destroyed once, whatever fails, from many threads") {
    const Reports nobody_is_told;
    const auto alive = std::make_shared<int>(0);
    {
        on_threads(4, [alive](std::uint64_t t) {
            Random random(t + 1);
            for (std::size_t i = 0; i < repetitions(500, 30); ++i) {
                const Stream a(test_device()), b(test_device());
                for (int n = 0; n < 10; ++n) {
                    const bool fails = random.below(8) == 0;
                    launch_host(random.below(2) == 0 ? a : b, [alive, fails] {
                        if (fails) throw Boom("boom");
                    });
                    if (random.below(4) == 0) b.wait_stream(a);
                }
            }
        });
    }
    CHECK(eventually([&] { return alive.use_count() == 1; }));
}

TEST_CASE("memory that runs out in the middle of everything leaves everything usable") {
    (void)error_of([] { synchronize(); });  // throws failures from earlier tests
    const Reports reports;
    std::atomic<int> wrong{0};
    on_threads(4, [&](std::uint64_t t) {
        Random random(t + 1);
        const Stream outer(test_device()), inner(test_device());
        Array<int> x = full<int>(outer, 1000, 0);
        int expected = 0;
        // Fewer repetitions: AddressSanitizer prints a line for each allocation that fails.
        for (std::size_t i = 0; i < repetitions(HEDDLE_TEST_SANITIZED ? 20 : 200, 10); ++i) {
            const ScopedStream in{outer};
            const auto error = error_of([&] {
                const ScopedStream scope{inner, {.wait_on_enter = true, .wait_on_exit = true}};
                launch(Add{}, dim(1000), x, 1);
                switch (random.below(3)) {
                case 0: (void)zeros<double>(too_much); break;
                case 1: (void)pinned<double>(too_much); break;
                default:
                    fork_join([&] { launch(Add{}, dim(1000), x, 1); },
                              [] { (void)empty<double>(too_much); });
                }
            });
            wrong += !error || error->code() != ErrorCode::out_of_memory;
            wrong += !(current_stream() == outer);
            const int now = to_host(x)[999];
            wrong += now != expected + 1 && now != expected + 2;
            expected = now;
        }
    });
    CHECK(wrong == 0);
    CHECK(reports.count() == 0);
}

TEST_CASE("an exception out of every depth of scopes restores all of them") {
    std::vector<Stream> streams;
    for (int i = 0; i < 6; ++i) streams.emplace_back(test_device());
    const StreamRef before = current_stream(test_device());
    const Device device = current_device();
    for (std::size_t depth = 1; depth <= 6; ++depth) {
        const auto nest = [&](auto& self, std::size_t left) -> void {
            if (left == 0) throw Boom("deep");
            const ScopedStream in{streams[left - 1]};
            launch_host([] {});
            self(self, left - 1);
        };
        CHECK_THROWS_AS(nest(nest, depth), Boom);
        CHECK(current_stream(test_device()) == before);
        CHECK(current_device() == device);
    }
    synchronize_device(test_device());
}
