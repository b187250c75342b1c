// Builds the trace of a program from just its calls. A host thread makes the calls, and workers run
// the enqueued work. Calls and work take the declared times. The same calls produce the same trace
// on any machine, so a test may compare the timeline's output.
//
//     TimedTrace t;
//     const auto s = t.stream("s");
//     t.launch(s, "Burn", 2 * ms, {.memory = {1}});
//     t.synchronize(s);
//     const Trace trace = t.finish();
//
// The lines of these calls are the places of the operations.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "timeline/trace_builder.hpp"

namespace heddle_test {

inline constexpr Moment us = 1'000, ms = 1'000 * us;

/// Costs in addition to the work itself, in ns. They were measured on a CPU device of an idle
/// machine, and rounded.
struct TimedCosts {
    Moment call = 250;          ///< a call that enqueues work
    Moment order = 200;         ///< a call that records an event or waits
    Moment between = 150;       ///< the time between two calls
    Moment start = 7'000;       ///< from a call to its work, if the workers sleep
    Moment awake = 20'000;      ///< how long an idle worker looks for work before it sleeps
    Moment start_awake = 700;   ///< from a call to its work, if a worker is awake
    Moment next = 100;          ///< between two operations of one stream
    Moment cross = 2'000;       ///< from the end of awaited work to the waiting stream's start
    Moment wake = 2'000;        ///< from the end of awaited work to the wait's return
    std::uint32_t workers = 2;  ///< number of the device's workers
};

/// The memory that an operation changes, overwrites or only reads, by number. Also the number of
/// workers that share the operation, and memory that it uses through pointers, unknown to heddle.
struct TimedUses {
    std::vector<std::uint64_t> changes = {}, writes = {}, reads = {};
    std::uint32_t workers = 1;
    std::uint64_t bytes = 0;
    std::vector<std::uint64_t> behind_pointers = {};
};

class TimedTrace : public TraceBuilder {
public:
    using Line = std::uint32_t;

    /// The number that stands for pageable memory. Other numbers stand for memory of heddle.
    static constexpr std::uint64_t pageable = 1'000;

    using Uses = TimedUses;

    explicit TimedTrace(const TimedCosts& costs = {}) : costs_(costs) {
        raw().devices[0].processors = costs.workers;
    }

    /// Lets time pass in the program's own code.
    void compute(Moment time) { now_ += time; }
    std::uint32_t workers() const { return costs_.workers; }
    Moment now() const { return now_; }

    /// Selects the thread for later calls. Each thread has a time of its own.
    void on_thread(TraceIndex thread) {
        clocks_[thread_] = now_;
        now_ = clocks_[thread_ = thread];
    }
    /// Makes the next call take `time` longer.
    void delay_call(Moment time) { delay_ = time; }
    /// Names the file of later calls.
    void in_file(const std::string& name) { file_ = name; }

    /// Enqueues an operation that runs for `length`.
    Op run(OpKind kind, TraceIndex stream, const std::string& name, Moment length,
           const Uses& uses = {}, Line line = __builtin_LINE()) {
        return enqueue(op(kind, stream, name), length, uses, line);
    }
    Op launch(TraceIndex stream, const std::string& name, Moment length, const Uses& uses = {},
              Line line = __builtin_LINE()) {
        return run(OpKind::launch, stream, name, length, uses, line);
    }
    /// Enqueues an operation that never runs.
    Op call(OpKind kind, TraceIndex stream, const std::string& name, Line line = __builtin_LINE()) {
        return call(op(kind, stream, name), costs_.call, line);
    }
    /// Allocates memory on the device, and clears it.
    void zeros(TraceIndex stream, std::uint64_t memory, std::uint64_t = 0,
               Line line = __builtin_LINE()) {
        const Op made = op(OpKind::allocate, stream, "allocate");
        use(made, {.writes = {memory}});
        call(made, costs_.call, line);
        enqueue(op(OpKind::fill, stream, "fill"), costs_.next, {.writes = {memory}}, line);
    }
    /// Allocates pinned memory.
    void pinned(std::uint64_t memory, std::uint64_t = 0, Line line = __builtin_LINE()) {
        const Op made = op(OpKind::allocate, no_index, "allocate");
        use(made, {.writes = {memory}});
        call(made, costs_.call, line);
    }
    /// Copies between memory of a device and pinned memory.
    Op copy(TraceIndex stream, Moment length, const Uses& uses, Line line = __builtin_LINE()) {
        return enqueue(op(OpKind::copy, stream, "copy"), length, uses, line);
    }
    /// Copies from pageable memory. The host's part and the worker's part take equally long.
    void copy_from_pageable(TraceIndex stream, Moment length, const Uses& uses,
                            Line line = __builtin_LINE()) {
        const Op made = op(OpKind::copy, stream, "copy");
        use(made, uses);
        call(made, length, line);
        run(made, length, uses.workers);
        host_accesses(uses.reads, AccessMode::read, line);
    }
    /// Copies to pageable memory. The call returns when the copy has run.
    void copy_to_pageable(TraceIndex stream, Moment length, const Uses& uses,
                          Line line = __builtin_LINE()) {
        const Moment begin = now_ += costs_.between;
        const Op wait = placed(blocked(stream, 1), line).because(WaitReason::copy);
        const Op made = placed(op(OpKind::copy, stream, "copy"), line);
        use(made, uses);
        now_ += costs_.call;
        run(made, length, uses.workers);
        wait.called(now_, wakes_at(stream));
        made.called(begin, now_ = wait->call_end + costs_.order);
        host_accesses(uses.writes, AccessMode::write, line);
    }

    /// Copies to new pageable memory, and waits.
    void to_host(TraceIndex stream, Moment length, const Uses& uses, Line line = __builtin_LINE()) {
        copy_to_pageable(stream, length, uses, line);
        synchronize(stream, line);
    }

    /// Records an event, and queries it repeatedly.
    void poll_event(TraceIndex stream, Moment pause, Line line = __builtin_LINE()) {
        call(record(stream, 1, ++generation_), costs_.order, line);
        poll({stream}, pause, line);
    }
    /// Makes `waiter` wait for all work that was enqueued on `other` so far.
    Op wait_stream(TraceIndex waiter, TraceIndex other, Line line = __builtin_LINE()) {
        const Op made = wait(waiter, other);
        call(made, costs_.order, line);
        ready_[waiter] = std::max({ready_[waiter], ready_[other], end_[other] + costs_.cross});
        return made;
    }

    /// Makes the host wait for all work that was enqueued on the stream so far.
    Op synchronize(TraceIndex stream, Line line = __builtin_LINE()) {
        const Op made = TraceBuilder::synchronize(stream);
        const Moment begin = now_ += costs_.between;
        now_ = std::max(begin + costs_.order, wakes_at(stream));
        return placed(made.called(begin, now_), line);
    }

    /// Makes the host query repeatedly whether the streams have completed their work so far. The
    /// host pauses between two rounds of queries.
    void poll(std::initializer_list<TraceIndex> streams, Moment pause,
              Line line = __builtin_LINE()) {
        const Moment begin = now_ += costs_.between;
        std::vector<TraceIndex> left(streams);
        for (Moment asked = begin; !left.empty(); asked += pause + costs_.order) {
            const auto has_answered = [&](TraceIndex stream) {
                if (end_[stream] > asked) return false;
                if (asked > begin) tell_polled(stream, begin, asked, line);
                now_ = asked + costs_.order;
                placed(answered(stream).called(asked, now_), line);
                return true;
            };
            std::erase_if(left, has_answered);
        }
    }

    /// Returns the trace. It ends at the present time.
    Trace finish() { return trace(0, now_); }

private:
    /// A period in which some workers of the device are busy.
    struct Busy {
        Moment begin = 0, end = 0;
        std::uint32_t workers = 1;
    };

    Op call(const Op& made, Moment cost, Line line) {
        const Moment begin = now_ += costs_.between;
        now_ += cost + std::exchange(delay_, 0);
        return placed(made.called(begin, now_), line);
    }
    /// Sets the place and the thread of the call.
    Op placed(const Op& made, Line line) const { return made.at(file_, line).on_thread(thread_); }

    Op enqueue(const Op& made, Moment length, const Uses& uses, Line line) {
        call(made, costs_.call, line);
        use(made, uses);
        run(made, length, uses.workers);
        return made;
    }

    void host_accesses(const std::vector<std::uint64_t>& memory, AccessMode mode, Line line) {
        const Op made = op(OpKind::host_access, no_index, "host access");
        add_uses(made, memory, mode);
        placed(made.called(now_, now_), line).because(WaitReason::copy);
    }

    void add_uses(const Op& made, const std::vector<std::uint64_t>& all, AccessMode mode) {
        for (const std::uint64_t memory : all) {
            made.uses(memory << 32, mode);
            raw().accesses.back().allocation = memory == pageable ? 0 : memory;
        }
    }

    void use(const Op& made, const Uses& uses) {
        add_uses(made, uses.changes, AccessMode::read_write);
        add_uses(made, uses.writes, AccessMode::write);
        add_uses(made, uses.reads, AccessMode::read);
        const bool is_cuda = made->device != no_index && raw().devices[made->device].is_cuda;
        made->workers = is_cuda ? 0 : uses.workers;
        made->holds_pointers = !uses.behind_pointers.empty();
        made->bytes = uses.bytes;
    }

    /// Runs an operation that is enqueued now, as soon as its stream is free. On a CPU device, the
    /// operation also waits for enough free workers.
    void run(const Op& made, Moment length, std::uint32_t workers) {
        const TraceIndex stream = made->stream;
        const bool is_awake = now_ <= last_end_ + costs_.awake;
        Moment start = std::max({now_ + (is_awake ? costs_.start_awake : costs_.start),
                                 end_[stream] + costs_.next, ready_[stream]});
        std::erase_if(busy_, [&](const Busy& one) { return one.end <= now_; });
        if (!raw().devices[made->device].is_cuda) {
            for (Moment next = start; !has_room(start, start + length, workers, next);)
                start = next;
            busy_.push_back({start, start + length, workers});
        }
        end_[stream] = start + length;
        last_end_ = std::max(last_end_, end_[stream]);
        made.ran(start, end_[stream]);
    }

    /// Returns whether `workers` workers are free during a period. If not, sets `next` to the first
    /// end of an operation in the period.
    bool has_room(Moment begin, Moment end, std::uint32_t workers, Moment& next) const {
        std::vector<std::pair<Moment, int>> changes;
        for (const Busy& one : busy_) {
            if (one.end <= begin || one.begin >= end) continue;
            changes.emplace_back(std::max(one.begin, begin), static_cast<int>(one.workers));
            changes.emplace_back(one.end, -static_cast<int>(one.workers));
            next = next == begin ? one.end : std::min(next, one.end);
        }
        std::ranges::sort(changes);
        int running = static_cast<int>(workers);
        for (const auto& [at, change] : changes)
            if ((running += change) > static_cast<int>(costs_.workers)) return false;
        return true;
    }

    /// Returns when the host continues if it begins to wait for the stream now.
    Moment wakes_at(TraceIndex stream) {
        return end_[stream] > now_ ? end_[stream] + costs_.wake : now_;
    }

    /// Adds the host's failed queries, from `begin` to the successful query.
    void tell_polled(TraceIndex stream, Moment begin, Moment answered, Line line) {
        placed(blocked(stream).called(std::max(begin, told_), answered), line);
        told_ = answered;
    }

    TimedCosts costs_;
    std::string file_ = "program.cpp";
    TraceIndex thread_ = 0;
    std::map<TraceIndex, Moment> clocks_;  ///< by thread: its time, if it is not selected
    Moment now_ = 0, told_ = 0, delay_ = 0;
    Moment last_end_ = -costs_.awake;     ///< end of the last operation
    std::uint32_t generation_ = 0;        ///< of the last record of the event
    std::map<TraceIndex, Moment> end_;    ///< by stream: end of its last operation
    std::map<TraceIndex, Moment> ready_;  ///< by stream: when its waits end
    std::vector<Busy> busy_;
};

}  // namespace heddle_test
