// Random programs that are ordered by data have the same results as their calls in sequence. The
// checker accepts them. If one of their waits is removed, the checker must report it.
#include "check/checked.hpp"
#include "check/first_race.hpp"
#include "check/trace.hpp"
#include "check/trace_oracle.hpp"
#include "random_program.hpp"
#include "random_programs/kernels.hpp"
#include "watchdog.hpp"

#include <algorithm>
#include <cstdlib>

namespace heddle_test::by_data {

namespace {

/// Returns a program that makes the same waits in each run while an observer is present. Its
/// choices do not depend on times, and it waits for completed work, too.
Program generate_without_times(std::uint64_t seed) {
    Program p = generate(seed, plain_calls);
    p.options.spread = DataSpread::always;
    if (p.options.waits == DataWaits::automatic) p.options.waits = DataWaits::exact;
    return p;
}

class Run {
public:
    explicit Run(const Program& p) : program_(p), order_(test_device(), p.options), expected_(p) {
        for (const Ints& values : expected_.arrays) arrays_.push_back(from_host(order_, values));
    }
    /// Returns whether all arrays have the values that the reference computes.
    bool comes_to_what_it_says() {
        bool right = true;
        for (const Statement& s : program_.statements) {
            enqueue(s);
            expected_.step(s);
            if (s.call == Call::read) right &= to_host(order_, arrays_[s.from]) == now(s.from);
        }
        for (std::size_t i = 0; i < arrays_.size(); ++i)
            right &= to_host(order_, arrays_[i]) == now(i);
        return right;
    }
    DataOrderStats stats() const { return order_.stats(); }

private:
    const Ints& now(std::size_t i) const { return expected_.arrays[i]; }

    void enqueue(const Statement& s) {
        Array<int>& to = arrays_[s.to];
        if (s.call != Call::outside) return enqueue_plain(order_, s, to, arrays_[s.from]);
        order_.join();
        outside_.wait_stream(here_.stream);
        launch(outside_, Scale{}, dim(program_.size), to, s.a, s.b, s.slow);
    }

    const Program& program_;
    const Here here_;
    const Stream outside_{test_device()};
    DataOrder order_;
    Reference expected_;
    std::vector<Array<int>> arrays_;
};

/// Returns the number of programs to run, multiplied by HEDDLE_TEST_BY_DATA if that is set.
std::uint64_t programs_to_run(std::uint64_t on_cpu, std::uint64_t on_cuda) {
    const char* const text = std::getenv("HEDDLE_TEST_BY_DATA");
    const std::uint64_t factor = text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
    const std::uint64_t all = factor * (test_device().is_cpu() ? on_cpu : on_cuda);
    return HEDDLE_TEST_SANITIZED != 0 ? all / 4 + 1 : all;
}

}  // namespace

TEST_CASE("by data: random programs come to what they come to one call after the other",
          "[by_data]") {
    for (std::uint64_t seed = 1; seed <= programs_to_run(1'000, 1'000); ++seed) {
        note_progress();
        const Program program = generate(seed, plain_calls);
        Run run(program);
        CAPTURE(seed, program.options.streams, static_cast<int>(program.options.waits));
        REQUIRE(run.comes_to_what_it_says());
    }
}

TEST_CASE("by data: random programs need many waits, and many of them are in order already",
          "[by_data]") {
    std::uint64_t operations = 0, inserted = 0, elided = 0;
    for (std::uint64_t seed = 1; seed <= programs_to_run(100, 100); ++seed) {
        note_progress();
        const Program program = generate_without_times(seed);
        const Trace observed(5'000);
        Run run(program);
        CAPTURE(seed, program.options.streams, static_cast<int>(program.options.waits));
        REQUIRE(run.comes_to_what_it_says());
        operations += run.stats().operations;
        inserted += run.stats().waits_inserted;
        elided += run.stats().waits_elided;
    }
    CHECK(inserted > operations / 20);
    CHECK(elided > operations / 20);
}

TEST_CASE("by data: the checker is silent over random programs", "[by_data]") {
    for (std::uint64_t seed = 1; seed <= programs_to_run(50, 100); ++seed) {
        note_progress();
        const Program program = generate(seed, plain_calls);
        Checked checked({.strict = true});
        Run(program).comes_to_what_it_says();
        CAPTURE(seed, program.options.streams, static_cast<int>(program.options.waits));
        checked.expect_silence();
    }
}

TEST_CASE("by data: a wait left out is seen by the checker, or was redundant as the oracle says",
          "[by_data]") {
    std::size_t waits = 0, needed = 0, left_out_of = 0;
    for (std::uint64_t seed = 1; seed <= programs_to_run(50, 50); ++seed) {
        note_progress();
        const Program program = generate_without_times(seed);
        Trace trace(5'000);
        Run(program).comes_to_what_it_says();
        const Ops ops = trace.take();
        CAPTURE(seed, program.options.streams, static_cast<int>(program.options.waits));
        if (!std::ranges::all_of(ops, TraceOracle::knows) || !is_in_order(ops)) continue;
        ++left_out_of;
        REQUIRE(first_race_by_oracle(ops) == ops.size());
        REQUIRE(first_race_by_checker(ops) == ops.size());
        for (std::size_t i = 0; i < ops.size(); ++i) {
            if (ops[i].kind != OpKind::wait || ops[i].reason != WaitReason::data ||
                ops[i].mode != OpMode::run)
                continue;
            Ops without = ops;
            without[i] = {};
            without[i].kind = OpKind::host_function_begin;  // an operation that orders no work
            const std::size_t race = first_race_by_oracle(without);
            CAPTURE(i);
            REQUIRE(first_race_by_checker(without) == race);
            ++waits;
            needed += race != without.size();
        }
    }
    CAPTURE(left_out_of, waits, needed);
    CHECK(left_out_of > programs_to_run(50, 50) / 2);
    // Some waits prevent no race: those that cover several operations, and those for outside
    // streams, because the order does not know which operations of such a stream use the memory.
    CHECK(needed * 2 >= waits);
}

}  // namespace heddle_test::by_data
