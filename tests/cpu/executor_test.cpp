// Tests how the executor of CPU devices ends.
#include "cpu/executor.hpp"
#include "support.hpp"

using namespace heddle_test;

namespace {
struct Closing final : detail::cpu::Runnable {
    explicit Closing(detail::cpu::Executor& executor) : Runnable(0), own(executor) {}
    void run() noexcept override {
        const Flag closed = is_closed;  // *this may be destroyed at this point
        others_have_ended = own.close();
        closed.set();
    }
    detail::cpu::Executor& own;
    std::atomic<bool> others_have_ended{false};
    Flag is_closed;
};

/// Returns an executor that is never destroyed, like the process's own executor. Its threads may
/// end after the test.
detail::cpu::Executor& kept_executor(int workers) {
    static auto& kept = *new std::vector<detail::cpu::Executor*>;
    return *kept.emplace_back(new detail::cpu::Executor(workers));
}
}  // namespace

TEST_CASE("a worker that calls exit() waits for the other workers, and not for itself", "[cpu]") {
    for (const int workers : {1, 3}) {
        detail::cpu::Executor& own = kept_executor(workers);
        Closing closing(own);
        own.schedule(closing);
        REQUIRE(closing.is_closed.wait());
        CHECK(closing.others_have_ended);
    }
}

TEST_CASE("a thread that calls exit() waits for all workers", "[cpu]") {
    CHECK(kept_executor(2).close());
}
