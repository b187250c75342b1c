#include "cuda/timing/timing.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/background.hpp"
#include "core/base/clock.hpp"
#include "cuda/device/context.hpp"
#include "cuda/device/errors.hpp"
#include "cuda/device/gpu.hpp"
#include "cuda/device/native_event.hpp"
#include "cuda/timing/cupti.hpp"

namespace heddle::detail::cu {

namespace {

/// Caches the timing events of one device. Thread-safe.
class TimingEvents {
public:
    explicit TimingEvents(Gpu& g) : gpu_(g) {}

    /// Returns a timing event. Throws if none can be created.
    cudaEvent_t take() {
        if (cudaEvent_t const free = free_.take()) return free;
        return make_event(gpu_, {.timing = true}, {});
    }
    void give(cudaEvent_t event) noexcept { free_.give(event); }

private:
    Gpu& gpu_;
    EventPool free_;
};

/// A reference point: the device's times are measured as distances from its event. Replaced each
/// second, because CUDA returns the time between two events as a float, which is imprecise for long
/// times.
struct Base {
    TimingEvents& events;
    cudaEvent_t event = nullptr;
    std::int64_t device_ns = 0;

    explicit Base(TimingEvents& of) : events(of), event(of.take()) {}
    ~Base() { events.give(event); }
    Base(const Base&) = delete;
    Base& operator=(const Base&) = delete;
};

/// An operation with an event after it, and perhaps one before it.
struct Timed {
    std::uint64_t id = 0;
    cudaEvent_t start = nullptr, end = nullptr;
    std::shared_ptr<const Base> base;
};

/// The timed operations of one device. Created on first use, never destroyed. Thread-safe.
class DeviceTimes {
public:
    explicit DeviceTimes(Gpu& g) : gpu_(g), events_(g) {
        const InContext in(g);
        const RelaxedCapture relaxed;
        check(api.cudaStreamCreateWithPriority(&clock_stream_, cudaStreamNonBlocking,
                                               g.priorities.greatest),
              "cudaStreamCreateWithPriority", g.index, {});
        read_clock(16);
    }

    /// Returns an event recorded before the operation, or null if the stream is busy.
    cudaEvent_t begin(StreamRecord& stream, std::int64_t now);
    void end(StreamRecord& stream, std::uint64_t id, cudaEvent_t start);
    /// Reports finished operations. Returns whether no timed operation is pending.
    bool tell_ended() noexcept;
    void read_clock(int times) noexcept;
    void give(cudaEvent_t event) noexcept { events_.give(event); }

private:
    /// Operations of one stream, in the order of their events.
    struct Row {
        std::deque<Timed> pending;
        std::int64_t last_ns = 0;  ///< when the newest operation was enqueued
    };
    bool poll() noexcept;
    void start_polling() noexcept;
    std::vector<Timed> take_ended();
    void tell(const Timed& one) noexcept;
    std::optional<std::int64_t> nanoseconds(cudaEvent_t from, cudaEvent_t to) noexcept;

    Gpu& gpu_;
    TimingEvents events_;
    cudaStream_t clock_stream_ = nullptr;
    std::mutex clock_mutex_;  ///< held during a clock reading

    std::mutex mutex_;                             ///< guards the next members
    std::unordered_map<std::uint64_t, Row> rows_;  ///< by the stream's id
    std::shared_ptr<const Base> base_;
    std::int64_t base_made_ns_ = 0;
    bool is_polled_ = false;
};

std::optional<std::int64_t> DeviceTimes::nanoseconds(cudaEvent_t from, cudaEvent_t to) noexcept {
    const InContext in(gpu_);
    float ms = 0;
    if (api.cudaEventElapsedTime(&ms, from, to) != cudaSuccess) {
        cudaGetLastError();
        return std::nullopt;
    }
    return std::llround(double{ms} * 1e6);
}

/// Records events on an idle stream, and reads the host's clock before and after each. The event
/// with the narrowest bounds becomes the new base.
void DeviceTimes::read_clock(int times) noexcept try {
    constexpr std::int64_t most_ns = 5'000'000;  // a reading with wider bounds is too inaccurate
    const std::lock_guard only(clock_mutex_);
    const RelaxedCapture relaxed;
    std::shared_ptr<const Base> before;
    {
        const std::lock_guard lock(mutex_);
        before = base_;
    }
    std::shared_ptr<Base> best;
    std::int64_t width = 0;
    for (int i = 0; i < times; ++i) {
        auto base = std::make_shared<Base>(events_);
        const std::int64_t begin = now_ns();
        if (record_on(gpu_, base->event, clock_stream_) != CUDA_SUCCESS) return;
        std::int64_t end = begin;
        while (!is_reached(gpu_, base->event)) {
            end = now_ns();
            if (end - begin > most_ns) return;
        }
        end = now_ns();
        const std::shared_ptr<const Base>& from = before != nullptr ? before : best;
        const auto since = from != nullptr ? nanoseconds(from->event, base->event)
                                           : std::optional(std::int64_t{0});
        if (!since) return;
        base->device_ns = from != nullptr ? from->device_ns + *since : 0;
        notify_clock({gpu_.index, begin, base->device_ns, end});
        if (best != nullptr && end - begin >= width) continue;
        width = end - begin;
        best = std::move(base);
    }
    const std::lock_guard lock(mutex_);
    base_ = std::move(best);
    base_made_ns_ = now_ns();
} catch (...) {
    // Out of memory: keeps the old base.
}

cudaEvent_t DeviceTimes::begin(StreamRecord& stream, std::int64_t now) {
    // After such a pause between two operations, the previous one may have ended unnoticed.
    constexpr std::int64_t worth_a_look_ns = 10'000;
    {
        const std::lock_guard lock(mutex_);
        const auto found = rows_.find(stream.id.load(std::memory_order_relaxed));
        if (found != rows_.end() && !found->second.pending.empty()) {
            const Row& row = found->second;
            if (now - row.last_ns < worth_a_look_ns) return nullptr;
            const RelaxedCapture relaxed;
            if (!is_reached(gpu_, row.pending.back().end)) return nullptr;
        }
    }
    cudaEvent_t start = events_.take();
    if (record_on(gpu_, start, static_cast<cudaStream_t>(stream.native)) == CUDA_SUCCESS)
        return start;
    events_.give(start);
    return nullptr;
}

void DeviceTimes::end(StreamRecord& stream, std::uint64_t id, cudaEvent_t start) {
    Timed one{id, start, events_.take(), nullptr};
    if (record_on(gpu_, one.end, static_cast<cudaStream_t>(stream.native)) != CUDA_SUCCESS) {
        events_.give(one.end);
        return events_.give(start);
    }
    const std::lock_guard lock(mutex_);
    one.base = base_;
    Row& row = rows_[stream.id.load(std::memory_order_relaxed)];
    row.last_ns = now_ns();
    row.pending.push_back(std::move(one));
    if (!is_polled_) start_polling();
}

/// Starts to poll in the background. Call with mutex_ held.
void DeviceTimes::start_polling() noexcept try {
    static std::once_flag once;
    std::call_once(once, end_background_at_exit);
    poll_in_background([this] { return poll(); });
    is_polled_ = true;
} catch (...) {
    // Out of memory, or no thread can be created: tell_timed_ops() reports the times instead.
}

bool DeviceTimes::poll() noexcept {
    constexpr std::int64_t second_ns = 1'000'000'000;
    (void)tell_ended();
    bool is_old = false;
    {
        const std::lock_guard lock(mutex_);
        is_old = now_ns() - base_made_ns_ > second_ns;
    }
    if (is_old) read_clock(4);
    const std::lock_guard lock(mutex_);
    is_polled_ = !rows_.empty();
    return !is_polled_;
}

std::vector<Timed> DeviceTimes::take_ended() {
    std::vector<Timed> ended;
    const RelaxedCapture relaxed;
    const std::lock_guard lock(mutex_);
    for (auto row = rows_.begin(); row != rows_.end();) {
        std::deque<Timed>& pending = row->second.pending;
        const auto last =
            std::partition_point(pending.begin(), pending.end(),
                                 [&](const Timed& one) { return is_reached(gpu_, one.end); });
        ended.insert(ended.end(), std::make_move_iterator(pending.begin()),
                     std::make_move_iterator(last));
        pending.erase(pending.begin(), last);
        row = pending.empty() ? rows_.erase(row) : std::next(row);
    }
    return ended;
}

bool DeviceTimes::tell_ended() noexcept try {
    for (Timed& one : take_ended()) {
        tell(one);
        events_.give(one.start);
        events_.give(one.end);
    }
    const std::lock_guard lock(mutex_);
    return rows_.empty();
} catch (...) {
    return false;  // out of memory: reports later
}

void DeviceTimes::tell(const Timed& one) noexcept {
    if (one.base == nullptr || gpu_.lost.load(std::memory_order_acquire)) return;
    const auto end = nanoseconds(one.base->event, one.end);
    if (!end) return;
    const auto start =
        one.start != nullptr ? nanoseconds(one.base->event, one.start) : std::nullopt;
    notify_run({.id = one.id,
                .start_ns = start ? one.base->device_ns + *start : OpRun::unknown,
                .end_ns = one.base->device_ns + *end,
                .clock = gpu_.index});
}

constinit std::atomic<DeviceTimes*> all_times[max_devices] = {};
constinit std::mutex making;

/// Reports the last operations at exit, before the driver is unloaded.
void tell_last_ops() noexcept {
    constexpr std::int64_t most_ns = 1'000'000'000;
    const std::int64_t begin = now_ns();
    if (is_forked()) return;
    for (std::atomic<DeviceTimes*>& one : all_times) {
        DeviceTimes* const times = one.load(std::memory_order_acquire);
        while (times != nullptr && !times->tell_ended() && now_ns() - begin < most_ns)
            std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

DeviceTimes& times_of(Gpu& g) {
    std::atomic<DeviceTimes*>& times = all_times[g.index];
    if (DeviceTimes* const found = times.load(std::memory_order_acquire)) [[likely]]
        return *found;
    const std::lock_guard lock(making);
    if (DeviceTimes* const found = times.load(std::memory_order_acquire)) return *found;
    auto made = std::make_unique<DeviceTimes>(g);
    static std::once_flag once;
    std::call_once(once, [] { (void)std::atexit(&tell_last_ops); });
    times.store(made.get(), std::memory_order_release);
    return *made.release();
}

bool can_be_timed(StreamRecord& stream) noexcept {
    if (stream.native == nullptr || is_forked() ||
        gpu_of(stream).lost.load(std::memory_order_acquire))
        return false;
    return capture_of(stream) == 0;
}

}  // namespace

void TimedOp::begin(std::uint64_t id, RunBy by) noexcept try {
    if (id == 0 || !can_be_timed(stream_)) return;
    if (is_recorded_by_cupti()) {
        push_cupti_id(id);
        is_timed_ = is_by_cupti_ = true;
        if (by == RunBy::device) return;
    }
    start_ = times_of(gpu_of(stream_)).begin(stream_, this_call().begin_ns);
    id_ = id;
    is_timed_ = true;
} catch (...) {
    // Out of memory, or no event can be created: the operation has no times.
}

void TimedOp::end() noexcept try {
    if (is_by_cupti_) pop_cupti_id();
    if (id_ == 0) return;
    times_of(gpu_of(stream_)).end(stream_, id_, start_);
} catch (...) {
    // Out of memory, or no event can be created: the operation has no times.
}

void time_end(StreamRecord& stream) noexcept {
    const std::uint64_t id = is_observed() ? timed_id() : 0;
    if (id == 0 || !can_be_timed(stream)) return;
    try {
        times_of(gpu_of(stream)).end(stream, id, nullptr);
    } catch (...) {
        // Out of memory, or no event can be created: the operation has no times.
    }
}

void tell_timed_ops() noexcept {
    if (is_forked() || in_callback) return;
    tell_cupti_runs();
    for (std::atomic<DeviceTimes*>& one : all_times) {
        DeviceTimes* const times = one.load(std::memory_order_acquire);
        if (times == nullptr) continue;
        (void)times->tell_ended();
        times->read_clock(4);
    }
}

}  // namespace heddle::detail::cu
