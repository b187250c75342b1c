// The checker and the oracle must agree on random programs, and on correct programs with one wait
// removed. HEDDLE_CHECK_PROGRAMS is the number of programs; the seeds are fixed.
#include "check/op_builder.hpp"
#include "check/oracle.hpp"
#include "random.hpp"

#include <cstdlib>

using namespace heddle_test;

namespace {

std::size_t programs(std::size_t otherwise) {
    const char* const value = std::getenv("HEDDLE_CHECK_PROGRAMS");
    return value != nullptr ? std::strtoull(value, nullptr, 10) : otherwise;
}

constexpr std::uint64_t array_bytes = 24;

/// Appends random operations on a few streams, events and arrays.
class Maker {
public:
    Maker(std::uint64_t seed, bool has_rows, std::uint64_t bytes = array_bytes)
        : random_(seed), has_rows_(has_rows), bytes_(bytes) {
        const std::size_t streams = 1 + random_.below(6);
        for (std::size_t i = 0; i < streams; ++i)
            streams_.push_back(program.stream(static_cast<std::uint32_t>(i % 2)));
        for (int i = 0; i < 3; ++i) events_.push_back(program.event());
        const std::size_t arrays = 1 + random_.below(3);
        for (std::size_t i = 0; i < arrays; ++i) arrays_.push_back(program.array(bytes_));
    }

    std::size_t below(std::size_t n) { return random_.below(n); }
    Program::StreamName any_stream() { return streams_[below(streams_.size())]; }
    Program::EventName any_event() { return events_[below(events_.size())]; }

    Memory any_memory() {
        const Memory& array = arrays_[below(arrays_.size())];
        if (below(bytes_ > array_bytes ? 30 : 3) == 0) return array;
        if (has_rows_ && below(2) == 0) {
            const std::uint64_t pitch = 4 + below(3), size = 1 + below(3);
            const auto rows = static_cast<std::uint32_t>(1 + below(3));
            return array.columns(below(pitch), size, pitch, rows);
        }
        const std::uint64_t offset = below(bytes_);
        return array.part(offset, 1 + below(std::min(array_bytes, bytes_ - offset)));
    }
    CheckAccess any_access() {
        const AccessMode modes[] = {AccessMode::read, AccessMode::read, AccessMode::write,
                                    AccessMode::read_write, AccessMode::concurrent};
        return access_to(any_memory(), modes[below(5)]);
    }
    Accesses any_accesses() {
        Accesses all(1 + below(3));
        for (CheckAccess& one : all) one = any_access();
        return all;
    }

    void add_work() {
        switch (below(10)) {
        case 0: program.add(OpKind::host_access, {}, any_accesses()); break;
        case 1: {
            const Line function = program.add(OpKind::host_function, any_stream(), any_accesses());
            functions_.push_back(program.id_of(function));
            break;
        }
        case 2:
            if (!functions_.empty()) program.parent = functions_[below(functions_.size())];
            program.launch(any_stream(), any_accesses());
            program.parent = 0;
            break;
        default: program.launch(any_stream(), any_accesses());
        }
    }
    void add_order() {
        switch (below(12)) {
        case 0:
        case 1:
        case 2: program.record(any_stream(), any_event()); break;
        case 3:
        case 4:
        case 5:
            program.wait(any_stream(), any_event());
            // A thread's wait may be reported when the event already has a newer record.
            if (program.ops.back().event.record > 1 && below(4) == 0)
                --program.ops.back().event.record;
            break;
        case 6:
        case 7: add_wait_stream(); break;
        case 8:
            if (below(2) == 0) program.synchronize(any_stream());
            else program.synchronize(any_event());
            break;
        case 9:
            if (below(2) == 0) program.query(any_stream());
            else program.query(any_event());
            break;
        case 10: program.synchronize_device(static_cast<std::uint32_t>(below(2))); break;
        default: add_long_wait();
        }
    }

    Program program;
    bool may_race = true;

private:
    void add_wait_stream() {
        const Program::StreamName waiter = any_stream(), other = any_stream();
        program.wait_stream(waiter, other);
    }
    /// Appends a host wait by another thread, and work that is enqueued during the wait.
    void add_long_wait() {
        program.thread = 1;
        program.begin_synchronize(any_stream());
        program.thread = 0;
        if (may_race && below(2) == 0) program.launch(any_stream(), any_accesses());
        program.thread = 1;
        if (below(4) != 0) program.end_synchronize();
        program.thread = 0;
    }

    Random random_;
    bool has_rows_;
    std::uint64_t bytes_;
    std::vector<Program::StreamName> streams_;
    std::vector<Program::EventName> events_;
    std::vector<Memory> arrays_;
    std::vector<std::uint64_t> functions_;
};

FirstRaces races_by_checker(const Program& program) {
    FirstRaces first;
    for (const Finding& one : program.findings()) {
        REQUIRE(one.is_certain);
        for (std::uint64_t at = one.begin; at < one.end; ++at) {
            const auto [found, is_new] = first.try_emplace(at, one.second.site - 1);
            if (!is_new) found->second = std::min<std::size_t>(found->second, one.second.site - 1);
        }
    }
    return first;
}

/// Returns the first operation that has a race, at any byte.
std::size_t first_of(const FirstRaces& races) {
    std::size_t first = ~std::size_t{0};
    for (const auto& [at, op] : races) first = std::min(first, op);
    return first;
}

Program random_program(std::uint64_t seed, bool has_rows) {
    Maker maker(seed, has_rows);
    const std::size_t count = 2 + maker.below(63);
    const std::size_t density = 1 + maker.below(4);
    while (maker.program.ops.size() < count) {
        if (maker.below(5) < density) maker.add_order();
        else maker.add_work();
    }
    return maker.program;
}

/// A program in which each operation waits for all earlier operations that conflict with it.
struct Correct {
    Program program;
    std::vector<Line> waits;
};

class CorrectMaker {
public:
    explicit CorrectMaker(std::uint64_t seed) : maker_(seed, false) { maker_.may_race = false; }

    Correct make() {
        const std::size_t count = 2 + maker_.below(16);
        for (std::size_t i = 0; i < count; ++i) {
            if (maker_.below(4) == 0) maker_.add_order();
            add_in_order();
        }
        return {maker_.program, waits_};
    }

private:
    void add_in_order() {
        Program& program = maker_.program;
        const std::size_t before = program.ops.size();
        maker_.add_work();
        const CheckOp work = program.ops.back();
        program.ops.resize(before);
        while (true) {
            Oracle oracle;
            for (const CheckOp& op : program.ops) oracle.add(op);
            CheckOp next = work;
            oracle.add(next);
            const std::vector<std::size_t> races = oracle.races_of_newest();
            if (races.empty()) break;
            wait_for(program.ops[races.back()].stream, work.stream);
        }
        CheckOp next = work;
        next.site = static_cast<Line>(program.ops.size() + 1);
        // Appends the operation after its waits, on the stream that waited.
        if (next.stream != 0) {
            const Line place = program.add(next.kind, {next.stream});
            next.position = program.ops[place - 1].position;
            program.ops.pop_back();
        }
        program.ops.push_back(next);
    }
    void wait_for(std::uint64_t other, std::uint64_t waiter) {
        Program& program = maker_.program;
        const std::size_t way = maker_.below(8);
        if (waiter == 0 || way == 0) {
            waits_.push_back(program.synchronize(Program::StreamName{other}));
        } else if (way < 4) {
            waits_.push_back(program.wait_stream({waiter}, {other}));
        } else {
            const Program::EventName event = maker_.any_event();
            program.record({other}, event);
            waits_.push_back(program.wait({waiter}, event));
        }
    }

    Maker maker_;
    std::vector<Line> waits_;
};

Program with_sites(Program program) {
    for (std::size_t i = 0; i < program.ops.size(); ++i)
        program.ops[i].site = static_cast<Line>(i + 1);
    return program;
}

}  // namespace

TEST_CASE("random programs: the checker finds what the oracle finds", "[check]") {
    const std::size_t count = programs(3000);
    std::size_t racy = 0;
    for (std::size_t seed = 0; seed < count; ++seed) {
        const Program program = random_program(seed, false);
        const FirstRaces expected = races_by_oracle(program.ops);
        const FirstRaces found = races_by_checker(program);
        racy += !expected.empty();
        if (found == expected) continue;
        INFO("seed " << seed);
        CHECK(found == expected);
    }
    CHECK(racy > count / 2);
    CHECK(racy < count);
}

TEST_CASE("random programs with many parts: the checker finds what the oracle finds", "[check]") {
    const std::size_t count = programs(2000) / 100;
    for (std::size_t seed = 0; seed < count; ++seed) {
        Maker maker(seed, false, 1500);
        while (maker.program.ops.size() < 500) {
            if (maker.below(3) != 0) maker.add_order();
            else maker.add_work();
        }
        const FirstRaces expected = races_by_oracle(maker.program.ops);
        INFO("seed " << seed);
        CHECK(races_by_checker(maker.program) == expected);
    }
}

TEST_CASE("random programs with rows: the first race is found where the oracle finds it",
          "[check]") {
    const std::size_t count = programs(3000);
    for (std::size_t seed = 0; seed < count; ++seed) {
        const Program program = random_program(seed, true);
        const std::size_t expected = first_of(races_by_oracle(program.ops));
        const std::size_t found = first_of(races_by_checker(program));
        if (found == expected) continue;
        INFO("seed " << seed);
        CHECK(found == expected);
    }
}

TEST_CASE("mutants: the checker finds out if a wait that is gone was needed", "[check]") {
    const std::size_t count = programs(500);
    std::size_t needed = 0, needless = 0;
    for (std::size_t seed = 0; seed < count; ++seed) {
        const Correct correct = CorrectMaker(seed).make();
        INFO("seed " << seed);
        CAPTURE(races(correct.program));
        REQUIRE(is_silent(correct.program));
        for (const Line wait : correct.waits) {
            const Program mutant = with_sites(correct.program.without(wait));
            const FirstRaces expected = races_by_oracle(mutant.ops);
            ++(expected.empty() ? needless : needed);
            if (races_by_checker(mutant) == expected) continue;
            INFO("without " << wait);
            CHECK(races_by_checker(mutant) == expected);
        }
    }
    CHECK(needed > count);
    CHECK(needless < needed);
}
