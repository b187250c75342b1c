#include "collective/roll_run.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "collective/roll_connect.hpp"
#include "core/base/signals_blocked.hpp"

namespace heddle::detail {

namespace {

/// Shared by the thread that waits, the call's thread and the thread of all roll calls.
struct Run {
    std::function<void()> call, undo;
    std::mutex mutex;  ///< guards the rest
    std::condition_variable changed;
    bool has_ended = false, has_lost = false, is_left = false;
};

void end(Run& run) noexcept {
    run.call();
    {
        const std::lock_guard lock(run.mutex);
        run.has_ended = true;
        run.changed.notify_all();
        if (!run.is_left) return;
    }
    run.undo();
}

}  // namespace

RollRun run_unless_lost(RollMember& member, std::chrono::milliseconds limit,
                        std::function<void()> call, std::function<void()> undo) {
    const RollClock::time_point until = end_of_limit(limit);
    const auto run = std::make_shared<Run>();
    run->call = std::move(call);
    run->undo = std::move(undo);
    member.on_loss([run] {
        const std::lock_guard lock(run->mutex);
        run->has_lost = true;
        run->changed.notify_all();
    });
    std::unique_lock lock(run->mutex);
    try {
        const SignalsBlocked blocked;
        std::thread([run] { end(*run); }).detach();
    } catch (...) {  // no thread, or no memory for one
        lock.unlock();
        end(*run);
        return RollRun::ended;
    }
    const auto is_decided = [&] { return run->has_ended || run->has_lost; };
    run->changed.wait_until(lock, until, is_decided);
    if (run->has_lost)
        run->changed.wait_for(lock, patience_after_loss, [&] { return run->has_ended; });
    if (run->has_ended) return RollRun::ended;
    run->is_left = true;
    return run->has_lost ? RollRun::lost : RollRun::late;
}

}  // namespace heddle::detail
