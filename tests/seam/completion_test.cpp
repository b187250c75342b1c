// Completions (src/runtime/core/seam/completion.hpp), from which CPU events, and waits between CPU
// and CUDA streams, are built.
#include "core/seam/completion.hpp"
#include "support.hpp"

using namespace heddle_test;
using detail::Completion;
using detail::CompletionRef;
using detail::make_completion;
using detail::Waiter;

namespace {

struct Counter : Waiter {
    std::atomic<int> woken{0};
    bool saw_done = false;
    bool saw_failure = false;
    Counter() {
        wake = [](Waiter& self, const Completion& done) noexcept {
            auto& me = static_cast<Counter&>(self);
            me.saw_done = done.is_done();
            me.saw_failure = done.failure() != nullptr;
            ++me.woken;
        };
    }
};

detail::Failure some_failure() {
    ErrorInfo info;
    info.code = ErrorCode::work_failed;
    info.message = "it failed";
    return detail::make_failure(info);
}

}  // namespace

TEST_CASE("a completion is not done before it is completed") {
    const CompletionRef done = make_completion();
    CHECK_FALSE(done->is_done());
    done->complete();
    CHECK(done->is_done());
    CHECK(done->failure() == nullptr);
    CHECK(done->time_ns() == 0);
}

TEST_CASE("a completion carries its failure and its time") {
    const CompletionRef done = make_completion();
    const detail::Failure failure = some_failure();
    done->complete(failure, 12345);
    CHECK(done->failure() == failure);
    CHECK(done->time_ns() == 12345);
}

TEST_CASE("waiters are told once, when it has happened") {
    const CompletionRef done = make_completion();
    Counter a, b, c;
    for (Counter* w : {&a, &b, &c}) CHECK(done->add(*w));
    CHECK(a.woken == 0);
    done->complete(some_failure());
    for (Counter* w : {&a, &b, &c}) {
        CHECK(w->woken == 1);
        CHECK(w->saw_done);
        CHECK(w->saw_failure);
    }
}

TEST_CASE("a waiter that comes too late is turned away and not told") {
    const CompletionRef done = make_completion();
    done->complete();
    Counter late;
    CHECK_FALSE(done->add(late));
    CHECK(late.woken == 0);
}

TEST_CASE("a completion out of the pool is as new") {
    for (int i = 0; i < 100; ++i) {
        const CompletionRef done = make_completion();
        CHECK_FALSE(done->is_done());
        CHECK(done->failure() == nullptr);
        CHECK(done->time_ns() == 0);
        done->complete(some_failure(), 1);
    }
}

TEST_CASE("a completion lives as long as there is a reference to it") {
    CompletionRef first = make_completion();
    CompletionRef second = first;
    const CompletionRef third = std::move(first);
    CHECK_FALSE(static_cast<bool>(first));
    second = CompletionRef();
    // While `third` refers to its completion, no new completion may reuse it.
    std::vector<CompletionRef> others;
    for (int i = 0; i < 100; ++i) {
        others.push_back(make_completion());
        CHECK(others.back().get() != third.get());
    }
    third->complete();
    CHECK(third->is_done());
}

TEST_CASE("the failure of a completion is let go with its last reference") {
    const detail::Failure failure = some_failure();
    {
        const CompletionRef done = make_completion();
        done->complete(failure);
        CHECK(failure.use_count() > 1);
    }
    CHECK(failure.use_count() == 1);
}

TEST_CASE("block_until returns when it has happened, at once if it has already") {
    const CompletionRef done = make_completion();
    std::atomic<bool> completed{false};
    bool before = true;
    std::thread waiter([&] {
        detail::block_until(*done);
        before = !completed;
    });
    completed = true;
    done->complete();
    waiter.join();
    CHECK_FALSE(before);
    detail::block_until(*done);
}

TEST_CASE("every waiter added beside the completing thread is either told or turned away") {
    for (int round = 0; round < 200; ++round) {
        const CompletionRef done = make_completion();
        std::vector<std::unique_ptr<Counter>> waiters;
        for (int i = 0; i < 16; ++i) waiters.push_back(std::make_unique<Counter>());
        std::vector<char> added(waiters.size());
        std::thread adder([&] {
            for (std::size_t i = 0; i < waiters.size(); ++i) added[i] = done->add(*waiters[i]);
        });
        done->complete();
        adder.join();
        int wrong = 0;
        for (std::size_t i = 0; i < waiters.size(); ++i) wrong += waiters[i]->woken != added[i];
        REQUIRE(wrong == 0);
    }
}
