// Samples of a stream that always makes progress. The watch must not report a wait that the stream
// has promised to complete, and must report all waits that no stream will complete.
#include <algorithm>
#include <deque>
#include <functional>
#include <utility>

#include "child.hpp"
#include "cpu/device/backend.hpp"
#include "cpu/host_sync/help.hpp"
#include "cpu/look/look.hpp"
#include "cpu/queue/queue.hpp"
#include "watch/held.hpp"

using namespace heddle_test;

namespace {

using detail::Looked;
using detail::StreamLook;

bool has_lost_wait() {
    return std::ranges::any_of(what_is_pending().causes, [](const PendingCause& one) {
        return one.kind == CauseKind::nothing_reaches;
    });
}

/// Answers the samples of a stream in place of the backend. The test supplies the answers.
class Answered : detail::cpu::CpuBackend {
public:
    Answered(StreamRef stream, std::function<Looked(StreamLook&)> answer)
        : record_(detail::record_of(stream)), answer_(std::move(answer)) {
        record_.backend = this;
    }
    ~Answered() { record_.backend = &detail::cpu_backend(); }
    Answered(const Answered&) = delete;
    Answered& operator=(const Answered&) = delete;

private:
    Looked look(detail::StreamRecord& stream, StreamLook& to) override {
        return &stream == &record_ ? answer_(to) : CpuBackend::look(stream, to);
    }
    detail::StreamRecord& record_;
    std::function<Looked(StreamLook&)> answer_;
};

/// A stream that waits for a completion. The constructor blocks until a sample has seen the wait.
class Waiting {
public:
    Waiting() {
        queue().push_wait(awaited_, SourceLocation{"waits.cpp", 1});
        launch_host(stream_, [] {});
        CHECK(eventually([&] {
            StreamLook look;
            return detail::cpu::look_at_queue(record(), look) == Looked::seen &&
                   look.at == detail::StreamAt::wait;
        }));
    }
    ~Waiting() {
        if (!awaited_->is_done()) awaited_->complete();
        stream_.synchronize();
    }
    const detail::CompletionRef& awaited() const { return awaited_; }

private:
    detail::StreamRecord& record() const { return detail::record_of(StreamRef(stream_)); }
    detail::cpu::Queue& queue() const { return detail::cpu::queue_of(record()); }

    Stream stream_ = named("waits");
    detail::CompletionRef awaited_ = detail::make_completion();
};

/// A stream that only this thread fills and drains. All workers are kept busy.
class Moving {
public:
    Moving() {
        for (int i = 0; i < cpu_workers(); ++i) {
            busy_.emplace_back(cpu_device());
            held_.emplace_back(busy_.back());
        }
        for (const Held& one : held_) one.wait();
    }
    ~Moving() {
        while (!pending_.empty()) drain();
    }
    StreamRef stream() const { return stream_; }

    void fill(detail::CompletionRef done = detail::make_completion()) {
        launch_host(stream_, [] {});
        queue().push_signal(done, false);
        pending_.push_back(std::move(done));
    }
    void move() {
        fill();
        drain();
    }

private:
    detail::cpu::Queue& queue() const {
        return detail::cpu::queue_of(detail::record_of(StreamRef(stream_)));
    }
    void drain() {
        detail::cpu::wait_for(*pending_.front());
        pending_.pop_front();
    }
    std::deque<Stream> busy_;
    std::deque<Held> held_;
    Stream stream_ = named("moves");
    std::deque<detail::CompletionRef> pending_;
};

Moving* moving = nullptr;

/// Copies memory. Then advances the stream `moving`.
bool peek_and_move(const void* from, void* to, std::size_t bytes) noexcept {
    const bool copied = detail::peek(from, to, bytes);
    moving->move();
    return copied;
}

/// The counts in a sample of a stream that makes progress.
struct Counts {
    std::uint64_t pushed, done;
    bool is_whole = true;
};

}  // namespace

// These cases need processes of their own. Other tests expose native handles, and the work of such
// streams is unknown to heddle.
TEST_CASE("what a stream that never stands still has promised is no lost wait", "[watch]") {
    check_test_case("waits for a stream that never stands still");
}
TEST_CASE("waits for a stream that never stands still", "[.]") {
    const Drained drained;
    const Waiting waiting;
    Moving moves;
    moving = &moves;
    const bool is_promised = GENERATE(true, false);
    INFO("promised: " << is_promised);
    // During the first two samples, the stream advances by fewer steps than these.
    for (int i = 0; i < 300; ++i) moves.fill();
    if (is_promised) moves.fill(waiting.awaited());
    int looks = 0;
    bool is_early = false;
    const Answered answered(moves.stream(), [&](StreamLook& to) {
        const Looked looked =
            detail::cpu::look_at_queue(detail::record_of(moves.stream()), to, &peek_and_move);
        CHECK(looked == Looked::moved);
        if (++looks == 2) is_early = waiting.awaited()->is_done();
        return looked;
    });
    CHECK(has_lost_wait() == !is_promised);
    CHECK(looks > 2);
    CHECK(!is_early);
    CHECK(waiting.awaited()->is_done() == is_promised);
}

TEST_CASE("a stream that moves has kept its promises once one step more is done", "[watch]") {
    check_test_case("counts of a stream that moves");
}
TEST_CASE("counts of a stream that moves", "[.]") {
    const Drained drained;
    const Waiting waiting;
    const Stream moves = named("moves");
    // Parameters: the counts in the first sample, in the second one, and in all later ones.
    const auto finds_lost_wait = [&](Counts first, Counts second, Counts then) {
        int looks = 0;
        const Answered answered(moves, [&](StreamLook& to) {
            const Counts& now = ++looks == 1 ? first : looks == 2 ? second : then;
            to.counts = {now.pushed, now.done};
            to.is_whole = now.is_whole;
            return Looked::moved;
        });
        return has_lost_wait();
    };
    CHECK(finds_lost_wait({10, 3}, {12, 4}, {20, 13}));
    CHECK(!finds_lost_wait({10, 3}, {12, 4}, {20, 12}));  // the last step may be about to complete
    CHECK(!finds_lost_wait({10, 3}, {12, 4}, {20, 11}));  // covers only the first sample
    CHECK(!finds_lost_wait({10, 3}, {12, 4}, {20, 4}));
    // With a graph, a stream has more completions than the counts include.
    CHECK(!finds_lost_wait({10, 3}, {12, 4, false}, {20, 13}));
    CHECK(!finds_lost_wait({10, 3}, {12, 4}, {20, 13, false}));
}

TEST_CASE("a stream that moves, and then stands still, says what it has promised", "[watch]") {
    check_test_case("a stream that stands still at last");
}
TEST_CASE("a stream that stands still at last", "[.]") {
    const Drained drained;
    const Waiting waiting;
    const Stream moves = named("moves");
    const bool is_promised = GENERATE(true, false);
    int looks = 0;
    const Answered answered(moves, [&](StreamLook& to) {
        to.counts = {12, 4};
        if (++looks < 4) return Looked::moved;
        if (is_promised) to.promises.push_back({waiting.awaited().get(), 1});
        return Looked::seen;
    });
    CHECK(has_lost_wait() == !is_promised);
    CHECK(looks == 4);
}
