// Failures that streams inherit from streams that they have waited for.
#include <memory>
#include <vector>

#include "core/failure/work_outcome.hpp"
#include "support.hpp"

using namespace heddle_test;
using heddle::detail::WorkOutcome;

namespace {

heddle::detail::Failure a_failure() {
    auto failure = heddle::detail::as_failure(
        std::make_exception_ptr(std::runtime_error("failed on purpose")));
    failure->note_told();
    return failure;
}

/// An outcome `own`, and other outcomes. wait_for() makes `own` depend on the first submission of
/// another outcome.
struct Waits {
    explicit Waits(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) others.push_back(std::make_shared<WorkOutcome>());
    }
    void wait_for(std::size_t i) { own->depend_on(others[i], 1, ++now); }
    /// Returns how many of the dependencies are still referenced.
    std::size_t held() const {
        std::size_t count = 0;
        for (const auto& one : others) count += one.use_count() > 1 ? 1 : 0;
        return count;
    }
    std::shared_ptr<WorkOutcome> own = std::make_shared<WorkOutcome>();
    std::vector<std::shared_ptr<WorkOutcome>> others;
    std::uint64_t now = 0;
};

}  // namespace

TEST_CASE("waits for work that has completed leave nothing behind") {
    Waits w(1000);
    for (std::size_t i = 0; i < 1000; ++i) {
        w.wait_for(i);
        w.others[i]->forget_dependencies(1);  // a query has found the other stream complete
    }
    CHECK(w.held() <= 65);
    CHECK(w.own->failure_up_to(w.now) == nullptr);
}

TEST_CASE("what is not known to be done, or has failed, is not forgotten") {
    Waits w(300);
    w.others[7]->fail(a_failure(), 1);
    for (std::size_t i = 0; i < 300; ++i) {
        w.wait_for(i);
        if (i % 2 == 1) w.others[i]->forget_dependencies(1);
    }
    CHECK(w.held() >= 151);
    CHECK(w.own->failure_up_to(7) == nullptr);  // precedes the wait for the failed work
    CHECK(w.own->failure_up_to(8) != nullptr);
}

TEST_CASE("who has completed knows that what it waited for has, too") {
    Waits w(200), second(1);
    second.own = w.own;
    auto third = std::make_shared<WorkOutcome>();
    for (std::size_t i = 0; i < 100; ++i) {
        w.wait_for(i);
        third->depend_on(w.others[i], 1, 1);
    }
    w.own->forget_dependencies(w.now);
    for (std::size_t i = 100; i < 200; ++i) third->depend_on(w.others[i], 1, 2);
    CHECK(w.held() <= 100);  // the newest submissions of `third`
}

TEST_CASE("what is inherited in any order leaves the newest wait for a stream in force") {
    const auto other = std::make_shared<WorkOutcome>(), own = std::make_shared<WorkOutcome>();
    own->depend_on(other, 15, 1);
    // `between` always waits for fewer submissions of `other` than `own` has waited for. `own`
    // inherits these waits. They must not replace the wait of `own` for 15 submissions.
    auto between = std::make_shared<WorkOutcome>();
    for (std::uint64_t i = 0; i < 100; ++i) {
        between->depend_on(other, 1 + i % 14, i);
        own->depend_on(between, i + 1, 2 + i);
    }
    other->fail(a_failure(), 15);
    CHECK(own->failure_up_to(1) != nullptr);
    CHECK(own->failure_up_to(0) == nullptr);
}

TEST_CASE("a wait that stands for older ones is not forgotten before it has completed") {
    const auto other = std::make_shared<WorkOutcome>(), own = std::make_shared<WorkOutcome>();
    for (std::uint64_t i = 1; i <= 100; ++i) own->depend_on(other, i, i);
    own->forget_dependencies(50);
    other->fail(a_failure(), 60);
    CHECK(own->failure_up_to(100) != nullptr);
}

TEST_CASE("an outcome that another stream gets knows nothing of what the first has completed") {
    Waits w(100);
    for (const auto& one : w.others) {
        one->forget_dependencies(1);
        one->begin_anew();
    }
    for (std::size_t i = 0; i < 100; ++i) w.wait_for(i);
    w.others[3]->fail(a_failure(), 1);
    CHECK(w.own->failure_up_to(w.now) != nullptr);
}
