#include "cpu/queue/spread.hpp"

#include <algorithm>
#include <sched.h>
#include <vector>

#include "core/base/clock.hpp"
#include "core/base/host_function_mark.hpp"
#include "core/base/made_once.hpp"
#include "core/failure/told.hpp"
#include "core/operation/activity.hpp"
#include "core/seam/backend.hpp"
#include "cpu/queue/queue.hpp"

namespace heddle::detail::cpu {

namespace {

/// Assigns a range to the calling thread's core, by the core's rank among the cores that the
/// process may use.
class Cores {
public:
    Cores() {
        cpu_set_t allowed;
        if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
        int count = 0;
        for (int core = 0; core < CPU_SETSIZE; ++core) {
            rank_.push_back(count);
            if (CPU_ISSET(core, &allowed)) ++count;
        }
        count_ = std::max(1, count);
    }
    /// Returns the index, below `ranges`, of the range that belongs to the current core.
    std::size_t range_of_this(std::size_t ranges) const noexcept {
        const int core = sched_getcpu();
        if (core < 0 || static_cast<std::size_t>(core) >= rank_.size()) return 0;
        const auto rank =
            static_cast<std::size_t>(std::min(rank_[static_cast<std::size_t>(core)], count_ - 1));
        return rank * ranges / static_cast<std::size_t>(count_);
    }

private:
    std::vector<int> rank_;
    int count_ = 1;
};

constinit MadeOnce<Cores> all_cores;
const Cores& cores() { return all_cores.get(); }

}  // namespace

std::size_t run_first(Fiber* fiber, const OpType& type, void* closure, std::size_t count,
                      double& index_ns) {
    constexpr std::int64_t enough_ns = 5'000, worth_ns = 30'000;
    const std::int64_t start = decision_ns();
    std::size_t done = 0, step = 1;
    std::int64_t spent = 0;
    while (done < count && spent < enough_ns) {
        const std::size_t end = done + std::min(count - done, step);
        run_on(fiber, type, closure, done, end);
        done = end;
        spent = fiber != nullptr ? spent + fiber->took_ns() : decision_ns() - start;
        // Does not run much longer than enough_ns, because the other threads wait until then.
        const double rate =
            static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(spent, 1));
        const double rest = rate * static_cast<double>(enough_ns - spent);
        step = std::max<std::size_t>(
            1, std::min(step * 16, rest < static_cast<double>(count)
                                       ? static_cast<std::size_t>(std::max(rest, 0.0))
                                       : count));
    }
    index_ns = static_cast<double>(spent) / static_cast<double>(done);
    if (done == count || index_ns * static_cast<double>(count - done) >= worth_ns) return done;
    run_on(fiber, type, closure, done, count);
    return count;
}

bool Spread::prepare() noexcept {
    const auto count = static_cast<std::size_t>(executor().workers());
    if (count == count_) return true;
    try {
        (void)cores();
        ranges_ = std::make_unique<Range[]>(count);
        count_ = count;
    } catch (...) {
        return false;
    }
    return true;
}

bool Spread::start(Operation& op, std::size_t begin, std::size_t end, std::size_t grain) noexcept {
    // Each wake-up costs the waking thread some microseconds, too: short kernels are done before
    // many have joined. See docs/adr/0005.
    constexpr std::size_t subranges_of_long_kernels = 40;  // 200 µs
    wakes_ = (end - begin) / grain >= subranges_of_long_kernels ? 2 : 1;
    const std::size_t count = count_;
    const std::size_t each = (end - begin) / count, more = (end - begin) % count;
    for (std::size_t i = 0; i < count; ++i) {
        Range& range = ranges_[i];
        range.next.store(begin, std::memory_order_relaxed);
        range.begun.store(false, std::memory_order_relaxed);
        range.end = begin += each + (i < more ? 1 : 0);
    }
    op_ = &op;
    grain_ = grain;
    index_ns_ = 0;
    exhausted_.store(false, std::memory_order_relaxed);
    failed_.store(false, std::memory_order_relaxed);
    if (Fiber* const own = queue_.fiber()) [[unlikely]]
        own->release(begin_order());
    inside_.store(2, std::memory_order_release);  // counts this thread and the executor's lists
    executor().schedule(*this, wakes_);
    return take_part(true);
}

void Spread::run() noexcept {
    // First returns the kernel to the executor's lists, so that more workers find it. Each worker
    // wakes others.
    if (!exhausted_.load(std::memory_order_relaxed)) {
        inside_.fetch_add(1, std::memory_order_relaxed);
        executor().schedule(*this, wakes_);
    }
    const bool last = [&] {
        const InHostFunction mark;
        const WorkMark work(queue_.stream(), op_->type(), op_->where(), WorkMark::Of::stream);
        return take_part(false);
    }();
    if (last) {
        queue_.finish_spread();
        (void)queue_.drain(nullptr);
    }
}

void Spread::order_parts() noexcept {
    if (Fiber* const own = queue_.fiber()) [[unlikely]]
        own->acquire(end_order());
}

bool Spread::work_on(Range& range, bool is_starter, Fiber* fiber) noexcept {
    for (;;) {
        if (!is_starter && executor().more_urgent_ready(level())) return false;
        if (exhausted_.load(std::memory_order_relaxed)) return true;
        if (range.next.load(std::memory_order_relaxed) >= range.end) return true;
        const std::size_t begin = range.next.fetch_add(grain_, std::memory_order_relaxed);
        if (begin >= range.end) return true;
        const std::size_t end = std::min(range.end, begin + grain_);
        const bool timed = is_starter && index_ns_ == 0;
        const std::int64_t start = timed ? decision_ns() : 0;
        try {
            run_on(fiber, op_->type(), queue_.closure_of(*op_), begin, end);
        } catch (...) {
            if (!failed_.exchange(true))
                failure_ = failure_of_throw(queue_.stream(), op_->type(), op_->where(),
                                            std::current_exception());
            exhausted_.store(true, std::memory_order_relaxed);
        }
        if (timed)
            index_ns_ = static_cast<double>(std::max<std::int64_t>(
                            1, fiber != nullptr ? fiber->took_ns() : decision_ns() - start)) /
                        static_cast<double>(end - begin);
    }
}

void Spread::run_subranges(bool is_starter, Fiber* fiber) noexcept {
    const std::size_t home = cores().range_of_this(count_);
    for (const bool helping : {false, true})
        for (std::size_t i = 0; i < count_; ++i) {
            Range& range = ranges_[(home + i) % count_];
            if (!helping && range.begun.exchange(true, std::memory_order_relaxed)) continue;
            if (!work_on(range, is_starter, fiber)) return;
        }
    exhausted_.store(true, std::memory_order_relaxed);
    // No subrange is left: removes the kernel from the lists before another worker takes it in
    // vain.
    if (executor().unschedule(*this)) inside_.fetch_sub(1, std::memory_order_acq_rel);
}

bool Spread::take_part(bool is_starter) noexcept {
    if (is_starter) {
        run_subranges(true, queue_.fiber());
    } else {
        const TakenFiber part(queue_.fibers());
        if (part.get() != nullptr) [[unlikely]]
            part.get()->acquire(begin_order());
        run_subranges(false, part.get());
        if (part.get() != nullptr) [[unlikely]]
            part.get()->release(end_order());
    }
    return inside_.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

}  // namespace heddle::detail::cpu
