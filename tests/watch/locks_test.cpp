// The watch never waits for a lock: it reports pending work whichever lock is held.
#include <mutex>

#include "core/base/fork.hpp"
#include "core/recording/recorder.hpp"
#include "core/seam/records.hpp"
#include "watch/held.hpp"

using namespace heddle_test;

namespace {

/// Queries pending work on another thread. Returns nullopt if the query does not return in time.
std::optional<PendingWork> ask() {
    const Flag is_done;
    const auto work = std::make_shared<PendingWork>();
    std::thread asking([is_done, work] {
        *work = what_is_pending();
        is_done.set();
    });
    if (!is_done.wait()) {
        asking.detach();
        return std::nullopt;
    }
    asking.join();
    return *work;
}

bool has_stream(const std::optional<PendingWork>& work, const std::string& name) {
    return work && std::ranges::any_of(work->streams, [&](auto& one) { return one.name == name; });
}

bool has_unseen(const std::optional<PendingWork>& work, const std::string& text) {
    return work && std::ranges::count(work->unseen, text) == 1;
}

}  // namespace

TEST_CASE("what is pending is said while any of the process's locks is held", "[watch]") {
    const Drained drained;
    const Watched watched;
    const Stream s = named("seen");
    Held held(s);
    held.wait();
    for (int i = 0; i < static_cast<int>(detail::ForkOrder::count); ++i) {
        const detail::ForkLock lock = detail::fork_lock(static_cast<detail::ForkOrder>(i));
        if (lock.lock == nullptr) continue;
        lock.lock(lock.object);
        const std::optional<PendingWork> work = ask();
        lock.unlock(lock.object);
        INFO("lock " << i);
        CHECK(has_stream(work, "seen"));
    }
}

TEST_CASE("a stream whose locks are held is seen, without its name", "[watch]") {
    const Drained drained;
    const Watched watched;
    const Stream s = named("seen");
    detail::StreamRecord& record = detail::record_of(StreamRef(s));
    Held held(s);
    held.wait();
    std::optional<PendingWork> work;
    {
        const std::lock_guard life(record.life);
        const std::lock_guard failure(record.failure_mutex);
        work = ask();
    }
    REQUIRE(work);
    CHECK(has_stream(work, "stream " + std::to_string(s.id())));
    CHECK(has_unseen(work, "the name of stream " + std::to_string(s.id()) + ": its lock is held"));
    CHECK(to_string(*work).find("  could not inspect the name of stream") != std::string::npos);
}

TEST_CASE("a batch whose lock is held is said not to have been looked at", "[watch]") {
    const Drained drained;
    const Watched watched;
    const Stream s = named("sent");
    Batch batch({.on_cpu = true});
    const ScopedBatch in(batch, s);
    launch_host(s, [] {});
    detail::Recorder* const recorder = detail::record_of(StreamRef(s)).recorder.load();
    REQUIRE(recorder != nullptr);
    recorder->lock.lock();
    const std::optional<PendingWork> work = ask();
    recorder->lock.unlock();
    REQUIRE(work);
    CHECK(has_unseen(work, "the batch of 'sent': its lock is held"));
}
