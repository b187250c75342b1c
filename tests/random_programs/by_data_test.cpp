// Random programs that are ordered by data, combined with all other features of heddle. They use
// batches and captures of another thread on the shared default stream, and tasks that make arrays,
// fork, capture and batch. They use prepared launches, addresses, other threads' orders, failures,
// memory and outside streams that end, and reads by the host. Meanwhile, threads query and wait.
// The results must be those of the statements in sequence. The variables of
// random_programs_test.cpp apply here, too. The mode is `by_data`.
#include "by_data/random_program.hpp"
#include "check/checked.hpp"
#include "check/first_race.hpp"
#include "check/trace.hpp"
#include "check/trace_oracle.hpp"
#include "environment.hpp"
#include "pests.hpp"
#include "watch.hpp"

#include <algorithm>
#include <initializer_list>
#include <iostream>
#include <optional>
#include <sstream>
#include <thread>

namespace heddle_test::programs::by_data {

using heddle_test::by_data::all_calls;
using heddle_test::by_data::Call;
using heddle_test::by_data::Program;
using heddle_test::by_data::Reference;
using heddle_test::by_data::Statement;

namespace {

std::string text_of(const Program& p, std::size_t statements) {
    std::ostringstream text;
    text << p.arrays << " arrays of " << p.size << ", " << p.options.streams << " streams, waits "
         << static_cast<int>(p.options.waits) << ", spread " << static_cast<int>(p.options.spread)
         << "\n";
    for (std::size_t i = 0; i < std::min(statements, p.statements.size()); ++i) {
        const Statement& s = p.statements[i];
        text << "  " << name_of(s.call) << " to " << s.to << " from " << s.from << " a " << s.a
             << " b " << s.b << " slow " << s.slow << "\n";
    }
    return text.str();
}

/// A kernel that holds addresses.
struct MixAt {
    const int* from;
    int* to;
    Word a, b;
    int slow;
    HEDDLE_FN void operator()(std::size_t i, View<const int>) const {
        idle(i, slow);
        to[i] = static_cast<int>(static_cast<Word>(to[i]) * a + static_cast<Word>(from[i]) + b);
    }
};

/// A thread that records the default stream while this object exists.
class Neighbour {
public:
    explicit Neighbour(bool captures) : captures_(captures) {
        thread_ = std::thread([this] {
            const StreamRef shared = default_stream(test_device());
            const Stream making(test_device());
            Array<int> own = zeros<int>(making, 64);
            making.synchronize();
            Batch batch({.on_cpu = true});
            std::optional<ScopedBatch> in_batch;
            std::optional<ScopedCapture> in_capture;
            if (captures_) in_capture.emplace(shared);
            else in_batch.emplace(batch, shared);
            launch(shared, Scale{}, dim(64), own, Word{3}, Word{1}, 0);
            began_.set();
            (void)may_end_.wait();
        });
        (void)began_.wait();
    }
    ~Neighbour() {
        may_end_.set();
        thread_.join();
    }
    Neighbour(const Neighbour&) = delete;
    Neighbour& operator=(const Neighbour&) = delete;
    bool captures() const { return captures_; }

private:
    bool captures_;
    Flag began_, may_end_;
    std::thread thread_;
};

class Run {
public:
    Run(const Program& p, int pests) : program_(p), expected_(p) {
        order_.emplace(test_device(), p.options);
        for (const Ints& values : expected_.arrays) arrays_.push_back(from_host(*order_, values));
        some_ = zeros<int>(*order_, p.size);
        prepared_.emplace(
            prepare(test_device(), Scale{}, dim(p.size), arrays_[0], Word{1}, Word{0}, 0));
        counted_ = zeros<int>(*order_, p.size);
        const Stream making(test_device());
        order_->join();
        graph_ = capture(
            making, [&] { launch(making, Scale{}, dim(p.size), counted_, Word{1}, Word{1}, 0); });
        pests_.emplace(pests, view_for_pests(), p.seed);
    }
    /// Returns the number of statements up to the first wrong result. Returns 0 if all are right.
    std::size_t first_wrong() {
        for (std::size_t i = 0; i < program_.statements.size(); ++i) {
            const Statement& s = program_.statements[i];
            enqueue(s);
            expected_.step(s);
            if (s.call == Call::read) right_ &= to_host(*order_, arrays_[s.from]) == now(s.from);
            if (!right_) return i + 1;
        }
        for (std::size_t i = 0; i < arrays_.size(); ++i)
            right_ &= to_host(*order_, arrays_[i]) == now(i);
        return right_ ? 0 : program_.statements.size();
    }

private:
    bool has(std::initializer_list<Call> calls) const {
        return std::ranges::any_of(program_.statements, [&](const Statement& s) {
            return std::ranges::find(calls, s.call) != calls.end();
        });
    }
    /// These streams must not join a capture. They must not fail either: all users of the same
    /// arrays would inherit the failure.
    PestsView view_for_pests() const {
        return {.streams = {outside_, shared()},
                .constants = {&untouched_},
                .wait_on_streams = !has({Call::capture_begins, Call::outside_fails}),
                .whole_devices = !has({Call::capture_begins})};
    }
    const Ints& now(std::size_t i) const { return expected_.arrays[i]; }
    StreamRef shared() const { return default_stream(test_device()); }
    bool is_captured() const { return neighbour_ && neighbour_->captures(); }

    void enqueue(const Statement& s) {
        DataOrder& order = *order_;
        Array<int>& to = arrays_[s.to];
        const Array<int>& from = arrays_[s.from];
        const std::size_t size = program_.size;
        const auto mix = [&](StreamRef stream) {
            launch(stream, Mix{}, dim(size), from, to, s.a, s.b, s.slow);
        };
        switch (s.call) {
        case Call::prepared:
            prepared_->set<0>(to).set<1>(s.a).set<2>(s.b).set<3>(s.slow);
            launch(order, *prepared_);
            break;
        case Call::at_addresses: launch(order, at(s), dim(size), View<const int>(some_)); break;
        case Call::prepared_at: {
            auto once = prepare(test_device(), at(s), dim(size), View<const int>(some_));
            launch(order, once);
            break;
        }
        case Call::task_makes:
        case Call::task_makes_side:
        case Call::task_forks:
        case Call::task_captures:
        case Call::task_launches:
        case Call::task_batches: enqueue_task(s, mix); break;
        case Call::made_anew: to = full<int>(order, size, static_cast<int>(s.b)); break;
        case Call::on_host:
            if (test_device().is_cuda()) launch(order, Scale{}, dim(size), to, s.a, s.b, 0);
            else if (s.b % 2 == 0) {
                (void)on_host(order, writes(to));
                for (std::size_t i = 0; i < size; ++i)
                    to[i] = static_cast<int>(static_cast<Word>(to[i]) * s.a + s.b);
            } else
                for (int& one : on_host(order, to))
                    one = static_cast<int>(static_cast<Word>(one) * s.a + s.b);
            break;
        case Call::look:
            if (is_captured()) right_ &= to_host(order, from) == now(s.from);
            else {
                right_ &= to_host(from) == now(s.from);
                if (test_device().is_cpu()) right_ &= Ints(from.begin(), from.end()) == now(s.from);
            }
            break;
        case Call::pageable_array: {
            Array<int> on_host = pageable<int>(size);
            copy(order, on_host, from);
            copy(order, to, on_host);
            break;
        }
        case Call::outside: enqueue_outside(s, outside_); break;
        case Call::outside_ending: enqueue_outside(s, Stream(test_device())); break;
        case Call::thread:
            // The other thread's order waits for this order's work in the same way as for outside
            // work.
            std::thread([&] {
                DataOrder theirs(test_device(), program_.options);
                launch(theirs, Mix{}, dim(size), from, to, s.a, s.b, s.slow);
            }).join();
            break;
        case Call::reborn:
            take_back(to);
            order_.reset();
            if (is_captured()) {  // otherwise, the work would become a part of the capture
                order_.emplace(test_device(), program_.options);
                launch(*order_, Scale{}, dim(size), to, s.a, s.b, s.slow);
            } else {
                launch(shared(), Scale{}, dim(size), to, s.a, s.b, s.slow);
                order_.emplace(test_device(), program_.options);
            }
            break;
        case Call::joined: order.join(); break;
        case Call::waited: order.synchronize(); break;
        case Call::waited_all:
            if (!is_captured()) synchronize_device(test_device());
            break;
        case Call::batch_begins: begin_recording(false); break;
        case Call::capture_begins: begin_recording(true); break;
        case Call::recording_ends: neighbour_.reset(); break;
        case Call::fails:
        case Call::task_fails:
        case Call::outside_fails: fail(s); break;
        default: heddle_test::by_data::enqueue_plain(order, s, to, from);
        }
    }

    MixAt at(const Statement& s) {
        // Avoids data() of the arrays, which would declare a use by the host to the checker.
        return {arrays_[s.from].view().data(), arrays_[s.to].view().data(), s.a, s.b, s.slow};
    }

    template <class F> void enqueue_task(const Statement& s, const F& mix) {
        Array<int>& to = arrays_[s.to];
        const Array<int>& from = arrays_[s.from];
        const std::size_t size = program_.size;
        switch (s.call) {
        case Call::task_makes:
        case Call::task_makes_side:
            order_->task({reads(from)}, [&](StreamRef of_task) {
                const Stream side(test_device());
                const StreamRef stream = s.call == Call::task_makes ? of_task : StreamRef(side);
                if (stream != of_task) stream.wait_stream(of_task);
                to = Array<int>();
                Array<int> made = clone(stream, from);
                launch(stream, Scale{}, dim(size), made, s.a, s.b, s.slow);
                to = std::move(made);
                // The order declared the read on the task's stream, which must therefore wait for
                // `side`.
                if (stream != of_task) of_task.wait_stream(stream);
            });
            break;
        case Call::task_forks:
            order_->task({writes(to)}, [&](StreamRef) {
                const auto part = [&](std::size_t first) {
                    launch(Scale{}, dim(size / 2), to.view().subview(first, size / 2), s.a, s.b,
                           s.slow);
                };
                fork_join([&] { part(0); }, [&] { part(size / 2); });
            });
            break;
        case Call::task_captures:
            order_->task({reads(from), writes(to)}, [&](StreamRef stream) {
                Graph graph = capture(stream, [&] { mix(stream); });
                graph.launch(stream);
            });
            break;
        case Call::task_launches:
            order_->task({writes(counted_)}, [&](StreamRef stream) { graph_.launch(stream); });
            launch(*order_, Mix{}, dim(size), counted_, to, Word{1}, Word{0}, s.slow);
            break;
        default:
            order_->task({reads(from), writes(to)}, [&](StreamRef stream) {
                const ScopedBatch in(batch_, stream);
                mix(stream);
            });
        }
    }

    /// Makes `order_` wait for the work of the array's other users. A stream that waits for
    /// `order_` later is then ordered after that work, too.
    void take_back(Array<int>& array) {
        order_->task({writes(array)}, [](StreamRef) {});
    }

    /// Outside work does not wait for order_ automatically.
    void order_outside(const Statement& s, const Stream& stream) {
        take_back(arrays_[s.to]);
        if (is_captured()) {
            order_->synchronize();
        } else {
            order_->join();
            stream.wait_stream(shared());
        }
    }
    void enqueue_outside(const Statement& s, const Stream& stream) {
        order_outside(s, stream);
        launch(stream, Scale{}, dim(program_.size), arrays_[s.to], s.a, s.b, s.slow);
    }

    void begin_recording(bool captures) {
        neighbour_.reset();
        neighbour_.emplace(captures);
    }

    void fail(const Statement& s) {
        const auto fails = [] { throw Boom("by data"); };
        const auto written = writes(arrays_[s.to]);
        if (s.call == Call::fails) launch_host(*order_, fails, written);
        if (s.call == Call::task_fails)
            order_->task({written}, [&](StreamRef stream) { launch_host(stream, fails, written); });
        if (s.call == Call::outside_fails) {
            order_outside(s, outside_);
            launch_host(outside_, fails, written);
        }
        launch(*order_, Mix{}, dim(program_.size), arrays_[s.to], arrays_[s.from], s.a, s.b, 0);
        right_ &= error_of([&] { (void)to_host(*order_, arrays_[s.from]); }).has_value();
        right_ &= error_of([&] { order_->synchronize(); }).has_value();
        right_ &= order_->clear_error() != nullptr;
        if (s.call == Call::outside_fails) right_ &= outside_.clear_error() != nullptr;
        for (std::size_t i = 0; i < arrays_.size(); ++i) copy(*order_, arrays_[i], now(i));
    }

    const Program& program_;
    const ScopedDevice on_{test_device()};
    const Stream outside_{test_device()};
    Reference expected_;
    Array<int> some_, counted_;
    const Array<int> untouched_ = zeros<int>(Stream(test_device()), 64);
    Graph graph_;
    std::vector<Array<int>> arrays_;
    Drained drained_;
    Batch batch_{{.on_cpu = true}};
    std::optional<PreparedLaunch<Scale, 1, View<int>, Word, Word, int>> prepared_;
    std::optional<DataOrder> order_;
    std::optional<Neighbour> neighbour_;
    bool right_ = true;
    std::optional<Pests> pests_;
};

std::string title(std::uint64_t seed, int pests) {
    return "seed " + std::to_string(seed) + ", mode by_data, pests " + std::to_string(pests);
}

/// Runs programs one after the other, for a part of the available time.
template <class Around>
void run_programs(double part, std::uint64_t step, bool has_pests, const Around& around) {
    if (!is_mode_wanted("by_data")) return;
    if (environment("HEDDLE_RANDOM_MODES") == "by_data") part *= 4;  // no other mode runs
    const auto end = Time::now() + std::chrono::duration<double>(seconds() * part);
    std::size_t runs = 0;
    for (std::uint64_t seed = first_seed(); runs == 0 || Time::now() < end;
         seed = next(seed, step)) {
        const Program program = heddle_test::by_data::generate(seed, all_calls);
        const int pests = has_pests ? pests_for(seed) : 0;
        const std::string text = text_of(program, program.statements.size());
        const Watch watch(title(seed, pests), [&] { return text; });
        INFO(title(seed, pests) << "\n" << text);
        around(seed, [&] {
            const std::size_t wrong = Run(program, pests).first_wrong();
            CAPTURE(wrong);
            REQUIRE(wrong == 0);
        });
        ++runs;
    }
    say_runs(runs);
}

}  // namespace

TEST_CASE("random programs by data, beside all else, come to what they say", "[random]") {
    run_programs(0.1, 1, true, [](std::uint64_t, const auto& run) { run(); });
}

TEST_CASE("by data: the checker is silent over random programs beside all else", "[random]") {
    run_programs(0.1, 7, false, [](std::uint64_t, const auto& run) {
        Checked checked({.strict = true});
        run();
        checked.expect_silence();
    });
}

TEST_CASE("by data: the checker finds each wait that a random program beside all else lacks",
          "[random]") {
    std::size_t waits = 0, needed = 0, early = 0;
    run_programs(0.05, 3, false, [&](std::uint64_t seed, const auto& run) {
        Trace trace(5'000);
        run();
        const Ops ops = trace.take();
        if (!std::ranges::all_of(ops, TraceOracle::knows) || !is_in_order(ops)) return;
        REQUIRE(first_race_by_oracle(ops) == ops.size());
        REQUIRE(first_race_by_checker(ops) == ops.size());
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < ops.size(); ++i)
            if (ops[i].kind == OpKind::wait && ops[i].mode == OpMode::run) places.push_back(i);
        Random random(seed);
        for (int i = 0; i < 4 && !places.empty(); ++i) {
            const std::size_t left_out = places[random.below(places.size())];
            Ops without = ops;
            without[left_out] = {};
            without[left_out].kind = OpKind::host_function_begin;  // it orders no work
            const std::size_t race = first_race_by_oracle(without);
            CAPTURE(left_out);
            // Of uses that are ordered, the checker stores only the newest. If the newest use is
            // through the order, the checker misses races with older uses by outside work.
            const std::size_t found = first_race_by_checker(without);
            REQUIRE(found <= race);
            ++waits;
            needed += race != without.size();
            early += found < race;
        }
    });
    if (!environment("HEDDLE_RANDOM_SECONDS").empty())
        std::cout << needed << " of " << waits << " waits were needed, and found; " << early
                  << " early" << std::endl;
    if (waits < 400) return;
    // Some waits prevent no race: they cover several operations, or work that is unknown to heddle.
    CHECK(needed * 10 >= waits);
    CHECK(early * 100 <= waits);
}

}  // namespace heddle_test::programs::by_data
