// A stream's record of the waits that it has made (core/seam/records.hpp).
#include "core/seam/records.hpp"
#include "support.hpp"

using namespace heddle_test;
using detail::WaitedFor;

TEST_CASE("nothing is covered before anything was waited for") {
    const WaitedFor waited;
    CHECK_FALSE(waited.covers(1, 1));
    CHECK_FALSE(waited.covers(7, 100));
}

TEST_CASE("a wait covers the other stream's work so far, and nothing later") {
    WaitedFor waited;
    waited.note(5, 10);
    CHECK(waited.covers(5, 9));
    CHECK(waited.covers(5, 10));
    CHECK_FALSE(waited.covers(5, 11));
    CHECK_FALSE(waited.covers(6, 1));
}

TEST_CASE("a later wait on the same stream covers more") {
    WaitedFor waited;
    waited.note(5, 10);
    waited.note(5, 20);
    CHECK(waited.covers(5, 20));
    CHECK_FALSE(waited.covers(5, 21));
}

TEST_CASE("a wait for less than is covered already adds nothing") {
    WaitedFor waited;
    waited.note(5, 20);
    waited.note(5, 10);
    CHECK(waited.covers(5, 10));
    CHECK_FALSE(waited.covers(5, 21));
}

TEST_CASE("several streams are remembered at once") {
    WaitedFor waited;
    for (std::uint64_t id = 1; id <= 4; ++id) waited.note(id, id * 10);
    for (std::uint64_t id = 1; id <= 4; ++id) {
        CHECK(waited.covers(id, id * 10));
        CHECK_FALSE(waited.covers(id, id * 10 + 1));
    }
}

TEST_CASE("the newest wait is remembered however many there were") {
    WaitedFor waited;
    for (std::uint64_t id = 1; id <= 100; ++id) {
        waited.note(id, 3);
        CHECK(waited.covers(id, 3));
    }
}

TEST_CASE("what was forgotten is not covered any more") {
    WaitedFor waited;
    for (std::uint64_t id = 1; id <= 8; ++id) waited.note(id, 1);
    waited.forget();
    for (std::uint64_t id = 1; id <= 8; ++id) CHECK_FALSE(waited.covers(id, 1));
}

TEST_CASE("readers beside writers never see a wait that was not") {
    WaitedFor waited;
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    // No wait for stream `id` covers more than id * 1000 submissions.
    Threads writers(2, [&](std::uint64_t t) {
        for (std::uint64_t i = 0; i < 20'000; ++i) {
            const std::uint64_t id = 1 + (i * 7 + t) % 12;
            waited.note(id, id * 1000);
        }
    });
    Threads readers(2, [&] {
        std::uint64_t id = 1;
        while (!stop) {
            wrong += waited.covers(id, id * 1000 + 1);
            id = 1 + id % 12;
        }
    });
    writers.join();
    stop = true;
    readers.join();
    CHECK(wrong == 0);
}

TEST_CASE(
    "a stream's count is never taken for another's, whatever is forgotten and noted meanwhile") {
    WaitedFor waited;
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    // Both ids use the same slot of the table. No wait for `one` covers more than 1 submission, and
    // no wait for `other` more than a million.
    constexpr std::uint64_t one = 1, other = 9;
    Threads readers(3, [&] {
        while (!stop) wrong += waited.covers(one, 2) || waited.covers(other, 1'000'001);
    });
    for (int i = 0; i < 200'000; ++i) {
        waited.note(one, 1);
        waited.forget();
        waited.note(other, 1'000'000);
        waited.forget();
    }
    stop = true;
    readers.join();
    CHECK(wrong == 0);
}

TEST_CASE("what was forgotten stays forgotten beside threads that note other streams") {
    WaitedFor waited;
    std::atomic<bool> stop{false};
    Threads writers(2, [&](std::uint64_t t) {
        for (std::uint64_t i = 0; !stop; ++i) waited.note(100 + t + i % 5, i);
    });
    int wrong = 0;
    for (std::uint64_t i = 1; i <= 20'000; ++i) {
        waited.note(7, i);
        waited.forget();
        wrong += waited.covers(7, 1);
    }
    stop = true;
    writers.join();
    CHECK(wrong == 0);
}

TEST_CASE("several threads that note one stream leave no more than the most of it") {
    WaitedFor waited;
    on_threads(4, [&](std::uint64_t t) {
        for (std::uint64_t i = 1; i <= 20'000; ++i) waited.note(3, i * 4 + t);
    });
    waited.note(3, 1);
    CHECK(waited.covers(3, 1));
    CHECK_FALSE(waited.covers(3, 20'000 * 4 + 4));
}
