// Streams that are kept for reuse, or waited for, and then fail: during a query or after it.
#include "core/seam/backend.hpp"
#include "core/seam/records.hpp"
#include "cpu/device/backend.hpp"
#include "lend.hpp"
#include "support.hpp"

#include <atomic>
#include <optional>
#include <utility>

using namespace heddle_test;

namespace {

/// A CPU backend for one stream. If heddle queries whether that stream is complete, the stream's
/// work fails before the backend answers.
class FailsWhenAsked final : public detail::cpu::CpuBackend {
public:
    /// Enqueues work that fails when the stream is queried.
    void hold_and_fail(StreamRef stream) const {
        gate_.hold(stream);
        launch_host(stream, [] { throw Boom("late"); });
    }
    /// Makes this backend answer the next query of the stream.
    void answer_for(StreamRef stream) {
        stream_ = &detail::record_of(stream);
        stream_->backend = this;
    }
    ~FailsWhenAsked() override { leave(); }
    bool was_asked() const { return was_asked_; }

    using CpuBackend::is_complete;
    bool is_complete(detail::StreamRecord& stream, const SourceLocation& where) override {
        leave();
        gate_.open();
        stream.backend->synchronize(stream, where);
        was_asked_ = true;
        return stream.backend->is_complete(stream, where);
    }

private:
    void leave() {
        if (stream_ != nullptr) std::exchange(stream_, nullptr)->backend = &detail::cpu_backend();
    }
    Gate gate_;
    detail::StreamRecord* stream_ = nullptr;
    bool was_asked_ = false;
};

}  // namespace

TEST_CASE("a branch's stream that fails while a later fork asks for it is not taken") {
    const Stream outer(cpu_device()), base(cpu_device()), other(cpu_device());
    std::atomic<bool> ran{false};
    const Drained drained;
    FailsWhenAsked late;
    // With so many branches, the last one finds only its own stream among those kept for reuse.
    constexpr std::size_t many = 256;
    fork_join_n(outer, many, [&](std::size_t i) {
        if (i + 1 != many) return;
        std::optional<StreamRef> kept;
        fork_join(base, [&](StreamRef branch) {
            late.hold_and_fail(branch);
            kept = branch;
        });
        late.answer_for(*kept);
        fork_join(other, [&](StreamRef branch) { launch_host(branch, [&] { ran = true; }); });
    });
    CHECK(late.was_asked());
    CHECK_FALSE(error_of([&] { other.synchronize(); }));
    CHECK(ran);
    CHECK(base.clear_error() != nullptr);
}

TEST_CASE(
    "branches that are still to fail, however many, take no branch of another base with them") {
    const Stream failing(cpu_device()), base(cpu_device()), other(cpu_device());
    const Flag ran;
    DrainedGate gate(failing);
    launch_host(failing, [] { throw Boom("late"); });
    fork_join_n(base, 200, [&](std::size_t, StreamRef branch) { branch.wait_stream(failing); });
    fork_join_n(other, 100, [](std::size_t, StreamRef branch) { launch_host(branch, [] {}); });
    launch_host(other, [ran] { ran.set(); });
    CHECK(ran.wait());  // `other` does not wait for the branches of `base`
    gate.open();
    CHECK_FALSE(error_of([&] { other.synchronize(); }));
    CHECK(base.clear_error() != nullptr);
    CHECK(failing.clear_error() != nullptr);
}

TEST_CASE(
    "a branch's stream that waits for a failure that is cleared takes no later branch with it") {
    const Stream base(cpu_device());
    const Flag ran;
    const Drained drained;
    std::optional<StreamRef> kept;
    fork_join(base, [&](StreamRef branch) {
        kept = branch;
        launch_host(branch, [] {});
    });
    base.synchronize();
    const Flag begun, opened;
    enqueue_natively(*kept, [begun, opened] {
        begun.set();
        (void)opened.wait();
    });
    REQUIRE(begun.wait());
    launch_host(base, [] { throw Boom("cleared"); });
    // The branch has no work, so `base` does not wait for it.
    fork_join(base, [&](StreamRef branch) { CHECK(branch == *kept); });
    CHECK(base.clear_error() != nullptr);
    fork_join(base, [&](StreamRef branch) { launch_host(branch, [ran] { ran.set(); }); });
    opened.set();
    CHECK_FALSE(error_of([&] { base.synchronize(); }));
    CHECK(ran.is_set());
}

TEST_CASE("a pool's stream that fails while a lease asks for it is not leased") {
    // With a limit of 1, the pool can lease another stream only because the failed one frees its
    // slot.
    const int limit = GENERATE(1, 8);
    CAPTURE(limit);
    StreamPool pool(cpu_device(), {.max_streams = limit, .shared = 1});
    std::atomic<bool> ran{false};
    const Reports reports;
    const Drained drained;
    FailsWhenAsked late;
    {
        const StreamPool::Lease lease = pool.lease();
        late.hold_and_fail(lease);
        late.answer_for(lease);
    }
    const StreamPool::Lease next = pool.lease();
    CHECK(late.was_asked());
    launch_host(next, [&] { ran = true; });
    CHECK_FALSE(error_of([&] { next.synchronize(); }));
    CHECK(ran);
    CHECK(pool.size() == 1);
}

TEST_CASE("a capture does not leave out a wait for work that fails while the capture asks for it") {
    const Stream s(cpu_device()), other(cpu_device());
    const Drained drained;
    FailsWhenAsked late;
    late.hold_and_fail(other);
    late.answer_for(other);
    {
        const ScopedCapture scope(s);
        CHECK_THROWS_AS(s.wait_stream(other), UsageError);
    }
    CHECK(late.was_asked());
    CHECK(other.clear_error() != nullptr);
}
