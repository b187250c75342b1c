// Random programs. Their results must be those of their statements run one after the other. They
// must not depend on the mode, or on other threads that query and wait meanwhile.
//
// HEDDLE_RANDOM_SECONDS  time for all of these tests together, in seconds (10)
// HEDDLE_RANDOM_SEED     the first seed; "clock" selects a random one
// HEDDLE_RANDOM_STAY     if set, runs the same programs again and again
// HEDDLE_RANDOM_MODES    some of eager,named,capture,update,clone,nested,batch,nodes,by_data,fails
//                        (the last three: nodes_test.cpp, by_data_test.cpp, failures_test.cpp)
// HEDDLE_RANDOM_WITHOUT  "temporaries": creates and destroys no streams
// HEDDLE_RANDOM_PESTS    number of threads that query and wait meanwhile; by default 0 to 2
#include <heddle/observe/check.hpp>

#include "check/trace.hpp"
#include "check/trace_oracle.hpp"
#include "random.hpp"
#include "random_programs/environment.hpp"
#include "random_programs/model.hpp"
#include "random_programs/reporting.hpp"
#include "random_programs/runner.hpp"
#include "random_programs/shrink.hpp"
#include "random_programs/watch.hpp"
#include "support.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

namespace heddle_test::programs {

namespace {

bool is_wanted(Mode mode) { return is_mode_wanted(to_string(mode)); }

bool temporaries() { return environment("HEDDLE_RANDOM_WITHOUT") != "temporaries"; }

/// Returns the devices under test. On CUDA, every third program also has CPU streams.
std::vector<Device> devices_for(std::uint64_t seed) {
    std::vector<Device> devices = test_devices();
    const std::size_t most = 1 + seed % 3;
    if (devices.size() > most) devices.resize(most);
    if (devices[0].is_cuda() && seed % 3 == 0) devices.push_back(cpu_device());
    return devices;
}

std::string title(std::uint64_t seed, Mode mode, RunOptions options) {
    return "seed " + std::to_string(seed) + ", mode " + to_string(mode) + ", pests " +
           std::to_string(options.pests);
}

/// Runs programs for a part of the available time.
void run_programs(double part, std::initializer_list<Mode> modes, int pests) {
    const auto end = Time::now() + std::chrono::duration<double>(seconds() * part);
    std::size_t runs = 0;
    for (std::uint64_t seed = first_seed(); runs == 0 || Time::now() < end; seed = next(seed, 1)) {
        const Program program = generate(seed, devices_for(seed), {.temporaries = temporaries()});
        for (const Mode mode : modes) {
            if (!is_wanted(mode)) continue;
            const RunOptions options{.pests = pests < 0 ? pests_for(seed) : pests};
            if (const auto race = Model::check(program, mode))
                FAIL("the generator is wrong: " << race->first << " and " << race->second << "\n"
                                                << title(seed, mode, options) << "\n"
                                                << text_of(program));
            require_success(
                title(seed, mode, options), program,
                [&](const Program& one) { return failure(one, mode, options); },
                [&](const Program& one, const auto& fails) { return shrunken(one, mode, fails); });
            ++runs;
        }
        if (runs == 0) break;
    }
    say_runs(runs);
}

/// Collects those waits of a block that can be left out.
void collect_waits(const Block& block, std::vector<WaitName>& waits) {
    for (const Statement& s : block) {
        if (s.what == What::wait_stream || s.what == What::wait_event || s.what == What::mark)
            waits.push_back({s.id, 0});
        if (s.what == What::scope && s.wait_on_enter) waits.push_back({s.id, 0});
        if (s.what == What::scope && s.wait_on_exit) waits.push_back({s.id, 1});
        for (const Block& body : s.bodies) collect_waits(body, waits);
    }
}

struct Missed {
    WaitName wait;
    Race race;
};

/// Returns each necessary wait, and the race without it. Two conflicting statements then have no
/// order, not even one that happens to exist in practice.
std::vector<Missed> needed_waits(const Program& program, Mode mode) {
    std::vector<WaitName> waits;
    for (const Segment& segment : program.segments) {
        collect_waits(segment.body, waits);
        collect_waits(segment.after, waits);
    }
    std::vector<Missed> needed;
    for (const WaitName wait : waits)
        if (const auto race = Model::check(program, mode, Strictness::whatever, wait))
            needed.push_back({wait, *race});
    return needed;
}

}  // namespace

TEST_CASE("random programs leave nothing to chance, in whatever mode") {
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        const Program program = generate(seed, devices_for(seed), {.alone = seed % 2 == 0});
        for (const Mode mode : all_modes) {
            INFO(title(seed, mode, {}));
            CHECK_FALSE(Model::check(program, mode));
        }
    }
}

TEST_CASE("random programs with scopes or with streams named come to what they say", "[random]") {
    run_programs(0.15, {Mode::eager, Mode::named}, 0);
}

TEST_CASE("random programs that are captured come to what they say", "[random]") {
    run_programs(0.2, {Mode::capture, Mode::update, Mode::clone, Mode::nested}, 0);
}

TEST_CASE("random programs as batches come to what they say", "[random]") {
    run_programs(0.15, {Mode::batch}, 0);
}

TEST_CASE("random programs come to what they say while other threads ask and wait", "[random]") {
    run_programs(0.25,
                 {Mode::eager, Mode::named, Mode::batch, Mode::capture, Mode::update, Mode::clone,
                  Mode::nested},
                 -1);
}

TEST_CASE("random programs on several threads at once come to what they say", "[random]") {
    const auto end = Time::now() + std::chrono::duration<double>(seconds() * 0.15);
    std::vector<Mode> modes;
    for (const Mode mode : all_modes)
        if (is_wanted(mode)) modes.push_back(mode);
    if (modes.empty()) return;
    std::mutex mutex;
    std::string reported;
    std::atomic<bool> failed{false};
    std::atomic<std::size_t> runs{0};
    const auto work = [&](std::uint64_t thread) {
        std::size_t mine = 0;
        for (std::uint64_t seed = first_seed() + thread;
             !failed && (mine == 0 || Time::now() < end); seed = next(seed, 3)) {
            const Program program =
                generate(seed, devices_for(seed), {.temporaries = temporaries(), .alone = false});
            const Mode mode = modes[(seed / 3 + thread) % modes.size()];
            const RunOptions options{.pests = thread == 0 ? pests_for(seed) : 0, .alone = false};
            const Watch watch(title(seed, mode, options) + ", beside others",
                              [&] { return text_of(program); });
            const std::string why = failure(program, mode, options);
            ++mine;
            ++runs;
            if (why.empty()) continue;
            failed = true;
            const std::lock_guard lock(mutex);
            reported +=
                title(seed, mode, options) + ", beside others\n" + why + "\n" + text_of(program);
        }
    };
    std::vector<std::thread> threads;
    for (std::uint64_t thread = 0; thread < 3; ++thread) threads.emplace_back(work, thread);
    for (std::thread& t : threads) t.join();
    say_runs(runs);
    if (!reported.empty()) FAIL(reported);
}

TEST_CASE("random programs with a needed wait left out do not come to what they say", "[random]") {
    if (HEDDLE_TEST_TSAN != 0) HEDDLE_SKIP("what is left out is a data race, and reported as one");
    if (cpu_workers() < 2)
        HEDDLE_SKIP("needs two CPU workers: one alone does everything in some order");
    const auto end = Time::now() + std::chrono::duration<double>(seconds() * 0.1);
    int all_programs = 0, all_found = 0;
    for (const Mode mode : all_modes) {
        if (!is_wanted(mode)) continue;
        const auto part = Time::now() + (end - Time::now()) / (7 - static_cast<int>(mode));
        int programs = 0, found = 0;
        std::string missed;
        for (std::uint64_t seed = first_seed(); programs < 20 || Time::now() < part; ++seed) {
            Program program = generate(seed, devices_for(seed), {.slow = false});
            for (Segment& segment : program.segments) segment.rounds = 1;
            const std::vector<Missed> needed = needed_waits(program, mode);
            if (needed.empty()) continue;
            const Missed& left_out = needed[static_cast<std::size_t>(seed) % needed.size()];
            RunOptions options{.left_out = left_out.wait, .held = left_out.race.first};
            const Watch watch(title(seed, mode, options), [&] { return text_of(program); });
            ++programs;
            // On a busy machine, the race may not show. Then the test holds the stream longer.
            bool noticed = false;
            for (options.hold_ms = 15; !noticed && options.hold_ms < 200; options.hold_ms *= 4)
                noticed = !failure(program, mode, options).empty();
            if (noticed) ++found;
            else
                missed += "seed " + std::to_string(seed) + ": without " +
                          std::to_string(left_out.wait.id) + ", " +
                          std::to_string(left_out.race.first) + " before " +
                          std::to_string(left_out.race.second) + "\n";
        }
        if (!environment("HEDDLE_RANDOM_SECONDS").empty())
            std::cout << to_string(mode) << ": noticed in " << found << " of " << programs
                      << " programs" << std::endl;
        CAPTURE(to_string(mode), programs, missed);
        // A single mode runs only a few programs, so the bound is low. A batch also orders more
        // than required: all participants continue after the batch's graph.
        CHECK(found * 10 >= programs * 7);
        all_programs += programs;
        all_found += found;
    }
    // This bound only holds for many programs, in all modes.
    if (seconds() >= 30 && environment("HEDDLE_RANDOM_MODES").empty())
        CHECK(all_found * 10 >= all_programs * 9);
}

namespace {

/// Collects the statements within conditions. Without a capture, the host reads a condition's value
/// and waits for earlier work. So more is ordered than the program requires.
void collect_conditional(const Block& block, bool is_inside, std::set<int>& ids) {
    for (const Statement& s : block) {
        if (is_inside) ids.insert(s.id);
        const bool is_condition = s.what == What::condition || s.what == What::loop;
        for (const Block& body : s.bodies)
            collect_conditional(body, is_inside || is_condition, ids);
    }
}

std::set<int> conditional_statements(const Program& program) {
    std::set<int> ids;
    for (const Segment& segment : program.segments) {
        collect_conditional(segment.body, false, ids);
        collect_conditional(segment.after, false, ids);
    }
    return ids;
}

/// Checks the work that is enqueued while this object exists. Counts the races.
class Checked {
public:
    Checked() {
        check::on_race([this](const check::Race& race) {
            const std::lock_guard lock(mutex_);
            text_ += race.text;
        });
        check::start({.strict = true});
    }
    ~Checked() {
        (void)check::stop();
        check::on_race(nullptr);
    }
    Checked(const Checked&) = delete;
    Checked& operator=(const Checked&) = delete;

    check::Summary end() { return check::stop(); }
    std::string text() const {
        const std::lock_guard lock(mutex_);
        return text_;
    }

private:
    mutable std::mutex mutex_;
    std::string text_;
};

}  // namespace

TEST_CASE("the checker is silent over random programs", "[random]") {
    Checked checked;
    run_programs(0.1,
                 {Mode::eager, Mode::named, Mode::batch, Mode::capture, Mode::update, Mode::clone,
                  Mode::nested},
                 0);
    const check::Summary found = checked.end();
    INFO(checked.text());
    CHECK(found.certain == 0);
    CHECK(found.faults == 0);
}

TEST_CASE("the checker finds the needed wait that a random program lacks", "[random]") {
    if (HEDDLE_TEST_TSAN != 0) HEDDLE_SKIP("what is left out is a data race, and reported as one");
    const auto end = Time::now() + std::chrono::duration<double>(seconds() * 0.05);
    int programs = 0, found = 0, in_order = 0, unknown = 0;
    std::string missed;
    for (std::uint64_t seed = first_seed(); programs < 20 || Time::now() < end; ++seed) {
        Program program = generate(seed, devices_for(seed), {.slow = false});
        for (Segment& segment : program.segments) segment.rounds = 1;
        constexpr Mode modes[] = {Mode::eager, Mode::named, Mode::capture};
        const Mode mode = modes[seed % 3];
        const std::vector<Missed> needed = needed_waits(program, mode);
        if (needed.empty()) continue;
        const Missed& left_out = needed[static_cast<std::size_t>(seed) % needed.size()];
        const std::set<int> inside =
            mode != Mode::capture ? conditional_statements(program) : std::set<int>();
        if (inside.contains(left_out.race.first) || inside.contains(left_out.race.second)) continue;
        ++programs;
        Checked checked;
        Trace trace(20'000);
        (void)failure(program, mode, {.left_out = left_out.wait});
        const check::Summary summary = checked.end();
        const Ops ops = trace.take();
        if (summary.certain + summary.possible != 0) ++found;
        else if (!std::ranges::all_of(ops, TraceOracle::knows) || !is_in_order(ops)) ++unknown;
        else if (first_race_by_oracle(ops) == ops.size()) ++in_order;
        else
            missed += std::string(to_string(mode)) + ", seed " + std::to_string(seed) +
                      ": without " + std::to_string(left_out.wait.id) + ", " +
                      std::to_string(left_out.race.first) + " before " +
                      std::to_string(left_out.race.second) + "\n";
    }
    if (!environment("HEDDLE_RANDOM_SECONDS").empty())
        std::cout << "the checker found " << found << " of " << programs << "; " << in_order
                  << " were in order, " << unknown << " are not known to the oracle" << std::endl;
    CAPTURE(programs, missed);
    CHECK(missed == "");
    // In about 1 % of the programs, chance creates an order: a leased stream was a branch before.
    // If there are only a few programs, four more may have such an order.
    CHECK(programs - found <= programs / 50 + 4);
}

}  // namespace heddle_test::programs
