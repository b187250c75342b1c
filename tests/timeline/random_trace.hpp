// Random traces: those of possible programs, and damaged ones.
#pragma once

#include <random>

#include "timeline/trace_builder.hpp"

namespace heddle_test {

/// Makes traces from a seed. They are the same in each run.
class RandomTrace {
public:
    explicit RandomTrace(unsigned seed) : random_(seed) {}

    /// Returns a possible recording of some streams and threads. It has operations of all kinds,
    /// starts and ends that are known or unknown, and waits that were obeyed.
    Trace sound() {
        add_places();
        const int operations = below(120);
        for (int i = 0; i < operations; ++i) {
            add_operation();
            now_ += below(50);
        }
        return builder_.trace(0, now_ + below(100));
    }

    /// Returns a possible recording with random damage: invalid indices, times and positions.
    Trace damaged() {
        Trace trace = sound();
        for (TraceOp& op : trace.ops)
            while (below(3) == 0) damage(op);
        for (TraceNodeRun& run : trace.node_runs)
            if (below(3) == 0) {
                run.launch = number();
                run.node = static_cast<std::uint32_t>(number());
                run.start = moment();
            }
        if (below(3) == 0) trace.begin = moment();
        if (below(3) == 0) trace.end = moment();
        if (below(4) == 0) trace.lost_ops = 7;
        if (below(4) == 0) trace.streams.front().device = index();
        if (below(4) == 0) trace.strings.clear();
        if (below(8) == 0) trace.threads.clear();
        if (below(8) == 0) trace.graphs.clear();
        for (TraceRange& range : trace.ranges)
            if (below(2) == 0) range = {index(), index(), moment(), moment()};
        return trace;
    }

private:
    int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }

    void add_places() {
        const TraceIndex cuda = builder_.cuda_device(TraceClock::events, below(30));
        const int streams = 1 + below(5);
        for (int i = 0; i < streams; ++i)
            builder_.stream("stream " + std::to_string(i), below(2) == 0 ? 0 : cuda);
        free_at_.resize(static_cast<std::size_t>(streams));
        builder_.thread("helper");
        graph_ = builder_.graph({"a", "b", "c"});
    }

    void add_operation() {
        const auto stream = static_cast<TraceIndex>(below(static_cast<int>(free_at_.size())));
        const auto other = static_cast<TraceIndex>(below(static_cast<int>(free_at_.size())));
        const Moment begin = now_;
        now_ += 1 + below(below(20) == 0 ? 200'000 : 20);
        const auto end_call = [&](const TraceBuilder::Op& op) {
            op.called(begin, now_).at("a.cpp", static_cast<std::uint32_t>(below(30)));
            op.on_thread(static_cast<TraceIndex>(below(2)));
        };
        const auto covered = [&](TraceIndex waiter, TraceIndex of) {
            free_at_[waiter] = std::max(free_at_[waiter], free_at_[of]);
        };
        switch (below(12)) {
        case 0:
            end_call(builder_.wait(stream, other));
            covered(stream, other);
            break;
        case 1:
            end_call(builder_.record(stream, 1 + stream, ++generation_));
            recorded_[stream] = generation_;
            break;
        case 2:
            end_call(builder_.wait_event(stream, 1 + other, recorded_[other]));
            covered(stream, other);
            break;
        case 3:
            now_ = std::max(now_, free_at_[stream]);
            end_call(builder_.synchronize(stream));
            break;
        case 4:
            end_call(builder_.synchronize_device(static_cast<detail::TraceIndex>(below(2))));
            break;
        case 5: end_call(builder_.op(OpKind::dropped, stream, "k")); break;
        case 6: end_call(builder_.wait(stream, other, OpKind::wait_elided)); break;
        case 7: {
            const auto op = builder_.launch(stream, "captured");
            end_call(op.mode(below(2) == 0 ? OpMode::captured : OpMode::batched));
            break;
        }
        case 8: {
            const auto op = builder_.launch_graph(stream, graph_);
            end_call(op);
            run(op);
            for (std::uint32_t node = 0; node < 3 && below(4) != 0; ++node)
                builder_.node_ran(op, node, free_at_[stream] - below(50),
                                  free_at_[stream] - below(20));
            break;
        }
        case 9: {
            const auto op = builder_.host_function(stream, "f");
            end_call(op);
            run(op);
            const auto child = builder_.launch(other, "child").from(op);
            end_call(child);
            run(child);
            break;
        }
        default: {
            const auto op = below(3) == 0 ? builder_.copy(stream, "host to device")
                                          : builder_.launch(stream, "k" + std::to_string(below(3)));
            end_call(op);
            run(op);
        }
        }
        if (below(10) == 0) builder_.range("range", begin, now_);
    }

    void run(const TraceBuilder::Op& op) {
        Moment& free_at = free_at_[op->stream];
        const Moment start = std::max(free_at, op->call_begin) + below(20);
        free_at = start + below(100);
        const int known = below(8);
        if (known != 0) op->end = free_at;
        if (known > 3) op->start = start;
    }

    std::uint64_t number() {
        const std::uint64_t numbers[] = {0, 1, 2, random_() % 200, ~std::uint64_t{0}, random_()};
        return numbers[below(6)];
    }
    TraceIndex index() { return static_cast<TraceIndex>(number()); }
    Moment moment() {
        const Moment moments[] = {unknown_moment,
                                  std::numeric_limits<Moment>::max(),
                                  unknown_moment + 1,
                                  -5,
                                  static_cast<Moment>(random_()),
                                  static_cast<Moment>(random_() % 3000)};
        return moments[below(6)];
    }

    void damage(TraceOp& op) {
        switch (below(13)) {
        case 0: op.stream = index(); break;
        case 1: op.other = index(); break;
        case 2: op.other_position = number(); break;
        case 3: op.position = number(); break;
        case 4: op.start = moment(); break;
        case 5: op.end = moment(); break;
        case 6: op.call_begin = moment(); break;
        case 7: op.call_end = moment(); break;
        case 8: op.thread = index(); break;
        case 9: op.kind = static_cast<OpKind>(number() % 30); break;
        case 10: op.id = op.parent = number(); break;
        case 11: op.graph = op.device = index(); break;
        default: op.name = op.file = index();
        }
    }

    std::mt19937_64 random_;
    TraceBuilder builder_;
    Moment now_ = 0;
    TraceIndex graph_ = 0;
    std::uint32_t generation_ = 0;
    std::vector<Moment> free_at_;
    std::map<TraceIndex, std::uint32_t> recorded_;
};

}  // namespace heddle_test
