// Random programs that are ordered by data come to what they come to one call after the other. They
// are silent under the checker, and none of their waits can be left out without its seeing that.
#include "check/checked.hpp"
#include "check/trace.hpp"
#include "check/trace_oracle.hpp"
#include "random.hpp"
#include "random_programs/kernels.hpp"
#include "support.hpp"
#include "watchdog.hpp"

#include <heddle/by_data.hpp>

#include <algorithm>
#include <cstdlib>

#include "check/first_race.hpp"

using namespace heddle_test;
using programs::HostWork;
using programs::Mix;
using programs::Scale;
using programs::Word;

namespace {

enum class Call : std::uint8_t {
    scale,
    mix,
    captured_mix,
    fill,
    copy,
    copy_2d,
    host,
    task,
    temporary,
    read,      ///< to_host(), compared at once
    outside,   ///< on a stream that knows nothing of the order, after join()
    pageable,  ///< from the host and back
    calls,     ///< how many there are
};

struct Statement {
    Call call;
    std::size_t to, from;  ///< arrays; never the same
    Word a, b;
    int slow;
};

struct DataProgram {
    std::size_t size = 0, arrays = 0;
    int streams = 0;
    DataWaits waits = DataWaits::automatic;
    DataSpread spread = DataSpread::automatic;
    std::vector<Statement> statements;
};

DataProgram generate(std::uint64_t seed) {
    Random random(seed);
    DataProgram p;
    p.size = 8 * (1 + random.below(4));
    p.arrays = 3 + random.below(5);
    p.streams = static_cast<int>(1 + random.below(5));
    p.waits = static_cast<DataWaits>(random.below(3));
    p.spread = random.below(2) == 0 ? DataSpread::automatic : DataSpread::always;
    const std::size_t count = 10 + random.below(30);
    for (std::size_t i = 0; i < count; ++i) {
        Statement s{};
        s.call = static_cast<Call>(random.below(static_cast<std::size_t>(Call::calls)));
        s.to = random.below(p.arrays);
        s.from = (s.to + 1 + random.below(p.arrays - 1)) % p.arrays;
        s.a = static_cast<Word>(1 + 2 * random.below(5));
        s.b = static_cast<Word>(random.below(100));
        s.slow = random.below(4) == 0 ? static_cast<int>(random.below(20'000)) : 0;
        p.statements.push_back(s);
    }
    return p;
}

/// Returns a program whose waits are the same in each run while an observer is told of them:
/// nothing is chosen by times, and work that has completed is waited for too.
DataProgram generate_without_times(std::uint64_t seed) {
    DataProgram p = generate(seed);
    p.spread = DataSpread::always;
    if (p.waits == DataWaits::automatic) p.waits = DataWaits::exact;
    return p;
}

/// What a program does, one call after the other.
class Reference {
public:
    explicit Reference(const DataProgram& p) : arrays(p.arrays, Ints(p.size)) {
        for (std::size_t i = 0; i < arrays.size(); ++i)
            for (std::size_t k = 0; k < p.size; ++k) arrays[i][k] = static_cast<int>(100 * i + k);
    }
    void step(const Statement& s) {
        Ints& to = arrays[s.to];
        const Ints& from = arrays[s.from];
        const auto each = [&](auto f) {
            for (std::size_t i = 0; i < to.size(); ++i)
                to[i] = static_cast<int>(f(static_cast<Word>(to[i]), static_cast<Word>(from[i])));
        };
        switch (s.call) {
        case Call::scale:
        case Call::outside: each([&](Word t, Word) { return t * s.a + s.b; }); break;
        case Call::mix:
        case Call::captured_mix:
        case Call::host:
        case Call::task: each([&](Word t, Word f) { return t * s.a + f + s.b; }); break;
        case Call::fill: each([&](Word, Word) { return s.b; }); break;
        case Call::copy:
        case Call::pageable: to = from; break;
        case Call::copy_2d:
            for (std::size_t i = 0; i < to.size(); ++i)
                if (i % 4 < 2) to[i] = from[i];
            break;
        case Call::temporary: each([&](Word t, Word f) { return t + f * s.a + s.b; }); break;
        case Call::read:
        case Call::calls: break;
        }
    }
    std::vector<Ints> arrays;
};

/// A function of its own for nvcc.
void launch_captured(order_by_data& order, const programs::Captured& c) {
    launch(
        order, [c] HEDDLE_FN(std::size_t i) { Mix{}(i, c.from, c.to, c.a, c.b, c.slow); },
        dim(c.to.size()));
}

class Run {
public:
    explicit Run(const DataProgram& p)
        : program_(p),
          order_(test_device(), {.streams = p.streams, .waits = p.waits, .spread = p.spread}),
          expected_(p) {
        for (const Ints& values : expected_.arrays) arrays_.push_back(from_host(order_, values));
    }
    /// Returns whether all arrays have the values of the reference.
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
    ByDataStats stats() const { return order_.stats(); }

private:
    const Ints& now(std::size_t i) const { return expected_.arrays[i]; }

    void enqueue(const Statement& s) {
        Array<int>& to = arrays_[s.to];
        const Array<int>& from = arrays_[s.from];
        const std::size_t size = program_.size;
        switch (s.call) {
        case Call::scale: launch(order_, Scale{}, dim(size), to, s.a, s.b, s.slow); break;
        case Call::mix: launch(order_, Mix{}, dim(size), from, to, s.a, s.b, s.slow); break;
        case Call::captured_mix:
            launch_captured(order_, {from.view(), to.view(), s.a, s.b, s.slow});
            break;
        case Call::fill: fill(order_, to, static_cast<int>(s.b)); break;
        case Call::copy: copy(order_, to, from); break;
        case Call::copy_2d:
            copy_2d(order_, View2D<int>(to, size / 4, 2, 4),
                    View2D<const int>(from, size / 4, 2, 4));
            break;
        case Call::host: enqueue_host(s, to, from); break;
        case Call::task:
            order_.task({reads(from), writes(to)}, [&](StreamRef stream) {
                launch(stream, Mix{}, dim(size), from, to, s.a, s.b, s.slow);
            });
            break;
        case Call::temporary: {
            Array<int> once = clone(order_, from);
            launch(order_, Scale{}, dim(size), once, s.a, s.b, s.slow);
            launch(order_, Mix{}, dim(size), once, to, Word{1}, Word{0}, 0);
            break;
        }
        case Call::outside:
            order_.join();
            outside_.wait_stream(here_.stream);
            launch(outside_, Scale{}, dim(size), to, s.a, s.b, s.slow);
            break;
        case Call::pageable: copy(order_, to, to_host(order_, from)); break;
        case Call::read:
        case Call::calls: break;
        }
    }
    // On a GPU a host function does not reach the arrays.
    void enqueue_host(const Statement& s, Array<int>& to, const Array<int>& from) {
        if (test_device().is_cuda())
            return launch(order_, Mix{}, dim(program_.size), from, to, s.a, s.b, s.slow);
        const HostWork work{to.view(), from.view(), program_.size, s.a, s.b, s.slow};
        if (s.b % 2 == 0) launch_host(order_, work, reads(from), writes(to));
        else launch_host(order_, work);  // holds the views
    }

    const DataProgram& program_;
    const Here here_;
    const Stream outside_{test_device()};
    order_by_data order_;
    Reference expected_;
    std::vector<Array<int>> arrays_;
};

/// Returns how many programs to run. HEDDLE_TEST_BY_DATA, if set, is the factor.
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
        const DataProgram program = generate(seed);
        Run run(program);
        CAPTURE(seed, program.streams, static_cast<int>(program.waits));
        REQUIRE(run.comes_to_what_it_says());
    }
}

TEST_CASE("by data: random programs need many waits, and many of them are in order already",
          "[by_data]") {
    std::uint64_t operations = 0, inserted = 0, elided = 0;
    for (std::uint64_t seed = 1; seed <= programs_to_run(100, 100); ++seed) {
        note_progress();
        const DataProgram program = generate_without_times(seed);
        const Trace observed(5'000);
        Run run(program);
        CAPTURE(seed, program.streams, static_cast<int>(program.waits));
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
        const DataProgram program = generate(seed);
        Checked checked({.strict = true});
        Run(program).comes_to_what_it_says();
        CAPTURE(seed, program.streams, static_cast<int>(program.waits));
        checked.expect_silence();
    }
}

TEST_CASE("by data: a wait left out is seen by the checker, or was redundant as the oracle says",
          "[by_data]") {
    std::size_t waits = 0, needed = 0, left_out_of = 0;
    for (std::uint64_t seed = 1; seed <= programs_to_run(50, 50); ++seed) {
        note_progress();
        const DataProgram program = generate_without_times(seed);
        Trace trace(5'000);
        Run(program).comes_to_what_it_says();
        const Ops ops = trace.take();
        CAPTURE(seed, program.streams, static_cast<int>(program.waits));
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
            without[i].kind = OpKind::host_function_runs;  // orders nothing
            const std::size_t race = first_race_by_oracle(without);
            CAPTURE(i);
            REQUIRE(first_race_by_checker(without) == race);
            ++waits;
            needed += race != without.size();
        }
    }
    CAPTURE(left_out_of, waits, needed);
    CHECK(left_out_of > programs_to_run(50, 50) / 2);
    // The rest waits for more than one thing, or for work outside of which nothing is known.
    CHECK(needed * 2 >= waits);
}
