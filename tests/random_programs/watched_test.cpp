// Programs of fourteen kinds. The watch, and a thread that queries pending work without pause, must
// report nothing false.
//
// HEDDLE_WATCHED_SECONDS  time for each kind; by default, runs one program of each
// HEDDLE_WATCHED_KINDS    kinds to run, separated by commas; by default all of them
// HEDDLE_WATCHED_LIMIT    limit of the watch, in milliseconds; by default a bound for hangs.
//                         If the limit is short, a busy machine may cause a report
// HEDDLE_RANDOM_SEED      the first seed; "clock" selects a random one
//
// By hand: HEDDLE_WATCHED_SECONDS=43 HEDDLE_WATCHED_LIMIT=500 HEDDLE_CPU_DEVICES=3
//          heddle_tests "[.watched]"      takes ten minutes for all kinds, one after the other
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include <heddle/by_data.hpp>
#include <heddle/observe/watch.hpp>

#include "child.hpp"
#include "random_programs/environment.hpp"
#include "random_programs/nodes_program.hpp"
#include "random_programs/runner.hpp"
#include "random_programs/watch.hpp"
#include "support.hpp"

namespace heddle_test::programs {

namespace {

struct AddOne {
    HEDDLE_FN void operator()(std::size_t i, View<int> x) const { x[i] += 1; }
};

std::vector<Device> devices_for(std::uint64_t seed) {
    std::vector<Device> devices = test_devices();
    while (devices.size() > 1 + seed % 3) devices.pop_back();
    return devices;
}

// Kinds. Each function runs one program and returns the error, or an empty text. -----------------

std::string wrong_if(bool is_wrong) { return is_wrong ? "a wrong result" : ""; }

template <Mode mode> std::string random_program(std::uint64_t seed) {
    return failure(generate(seed, devices_for(seed)), mode,
                   {.pests = static_cast<int>(seed / 7 % 3)});
}
std::string graph_of_nodes(std::uint64_t seed) {
    return nodes::failure(nodes::generate(seed, test_device()));
}
std::string failing_program(std::uint64_t seed) {
    constexpr Mode modes[] = {Mode::eager, Mode::named, Mode::batch};
    return failure(generate(seed, devices_for(seed), {.failures = true}), modes[seed % 3]);
}

std::string by_data(std::uint64_t seed) {
    DataOrder order(test_device());
    std::vector<Array<int>> arrays;
    for (int i = 0; i < 6; ++i) arrays.push_back(full<int>(order, 100, 1));
    std::vector<int> expected(arrays.size(), 1);
    for (std::uint64_t i = 0; i < 200; ++i) {
        const std::size_t to = (seed + i * i) % 6, from = (seed + 5 * i) % 6;
        if (to == from) {
            launch(order, AddOne{}, dim(100), arrays[to]);
            expected[to] += 1;
        } else {
            copy(order, arrays[to], arrays[from]);
            expected[to] = expected[from];
        }
    }
    bool is_right = true;
    for (std::size_t i = 0; i < arrays.size(); ++i)
        is_right &= to_host(order, arrays[i])[99] == expected[i];
    return wrong_if(!is_right);
}

std::string pipelines(std::uint64_t seed) {
    int left = 50;
    long long sum = 0;
    overlap<int, int>(
        test_device(),
        [&](std::span<int> piece) {
            std::ranges::fill(piece, 1);
            return left-- > 0 ? 10 : 0;
        },
        [](StreamRef s, View<const int> in, View<int> out) {
            copy(s, out, in);
            launch(s, AddOne{}, dim(out.size()), out);
        },
        [&](std::span<const int> piece) { sum += piece[0]; }, {.depth = 1 + seed % 4, .piece = 10});
    return wrong_if(sum != 100);
}

std::string fork_joins(std::uint64_t seed) {
    const Stream s(test_device());
    std::atomic<int> runs{0};
    const auto work = [&runs] { launch_host([&runs] { ++runs; }); };
    for (int i = 0; i < 20; ++i) {
        fork_join(s, work, [&] { fork_join(work, work); });
        fork_join_n(s, seed % 10, [&](std::size_t) { work(); });
    }
    s.synchronize();
    return wrong_if(runs != 20 * (3 + static_cast<int>(seed % 10)));
}

std::string collectives(std::uint64_t) {
    const std::vector<Device> devices = test_devices();
    DeviceGroup group(devices);
    std::vector<Stream> streams;
    std::vector<Array<int>> parts;
    for (const Device device : devices) {
        streams.emplace_back(device);
        parts.push_back(full<int>(streams.back(), 100, 1));
    }
    for (int i = 0; i < 5; ++i) group.all_reduce(streams, ReduceOp::max, parts);
    const bool is_right = to_host(streams[0], parts[0])[99] == 1;
    for (const Stream& one : streams) one.synchronize();
    return wrong_if(!is_right);
}

/// Enqueues work whose closures contain numbers that look like a queue's operations.
template <std::size_t N> void enqueue_numbers(StreamRef s) {
    std::array<std::uint64_t, N> numbers;
    constexpr std::uint64_t three[] = {0x0000160400000020, 0, (std::uint64_t{2} << 32) | 24};
    for (std::size_t i = 0; i < N; ++i) numbers[i] = three[i % 3];
    launch_host(s, [numbers] {
        if (numbers[0] == 1) std::abort();
    });
}
std::string streams_by_turns(std::uint64_t seed) {
    on_threads(2, [seed] {
        const Stream a(test_device()), b(test_device());
        for (std::uint64_t i = 0; i < 200; ++i) {
            enqueue_numbers<3>(a);
            enqueue_numbers<10>(a);
            enqueue_numbers<64>(a);
            b.wait_stream(a);
            enqueue_numbers<17>(b);
            enqueue_numbers<44>(b);
            if ((seed + i) % 10 == 0) a.wait_stream(b);
        }
        a.synchronize();
        b.synchronize();
    });
    return {};
}

struct Kind {
    const char* name;
    std::string (*run)(std::uint64_t seed);
};
constexpr Kind kinds[] = {
    {"eager", random_program<Mode::eager>},
    {"named", random_program<Mode::named>},
    {"capture", random_program<Mode::capture>},
    {"update", random_program<Mode::update>},
    {"clone", random_program<Mode::clone>},
    {"nested", random_program<Mode::nested>},
    {"batch", random_program<Mode::batch>},
    {"nodes", graph_of_nodes},
    {"failures", failing_program},
    {"by_data", by_data},
    {"pipelines", pipelines},
    {"fork_joins", fork_joins},
    {"collectives", collectives},
    {"turns", streams_by_turns},
};
static_assert(std::size(kinds) == 14);

// The observer -----------------------------------------------------------------------------------

/// Collects false reports.
class Told {
public:
    void add(const std::string& text) {
        const std::lock_guard lock(mutex_);
        if (++count_ <= 3) texts_ += text + "\n";
    }
    std::string all() const {
        const std::lock_guard lock(mutex_);
        return count_ == 0 ? "" : std::to_string(count_) + " times:\n" + texts_;
    }

private:
    mutable std::mutex mutex_;
    int count_ = 0;
    std::string texts_;
};

/// Returns true for a cause that no program in this file can have.
bool is_never_so(const PendingCause& cause) {
    return cause.kind == CauseKind::cycle || cause.kind == CauseKind::nothing_reaches ||
           cause.kind == CauseKind::other_process;
}

/// A thread that queries pending work without pause.
class Looker {
public:
    explicit Looker(Told& told)
        : thread_([this, &told] {
              while (!ends_.load()) {
                  const PendingWork work = what_is_pending();
                  if (std::ranges::any_of(work.causes, is_never_so)) told.add(to_string(work));
                  ++looks_;
              }
          }) {}
    ~Looker() {
        ends_.store(true);
        thread_.join();
    }
    Looker(const Looker&) = delete;
    Looker& operator=(const Looker&) = delete;
    std::uint64_t looks() const { return looks_.load(); }

private:
    std::atomic<bool> ends_{false};
    std::atomic<std::uint64_t> looks_{0};
    std::thread thread_;
};

std::chrono::milliseconds limit() {
    const std::string text = environment("HEDDLE_WATCHED_LIMIT");
    return text.empty() ? patience(std::chrono::minutes(1))
                        : std::chrono::milliseconds(std::stoi(text));
}

bool is_kind_wanted(std::string_view kind) {
    const std::string wanted = "," + environment("HEDDLE_WATCHED_KINDS") + ",";
    return wanted == ",," || wanted.find("," + std::string(kind) + ",") != std::string::npos;
}

/// Runs programs of one kind. Meanwhile, a watch runs, and a thread queries without pause.
void run_kind(const Kind& kind, double seconds) {
    Told told;
    const auto end = Time::now() + std::chrono::duration<double>(seconds);
    std::uint64_t runs = 0, looks = 0;
    heddle::watch(
        {.limit = limit(),
         .on_signal = false,
         .on_report = [&told](const PendingWork&, const std::string& text) { told.add(text); }});
    {
        const Looker looker(told);
        for (std::uint64_t seed = first_seed(); runs == 0 || Time::now() < end; ++seed) {
            const std::string title = std::string(kind.name) + ", seed " + std::to_string(seed);
            INFO(title);
            const Watch hangs(title, [] { return std::string(); });
            const std::uint64_t before = looker.looks();
            const std::string wrong = kind.run(seed);
            CHECK(wrong == "");
            ++runs;
            if (runs == 1) CHECK(eventually([&] { return looker.looks() > before; }));
        }
        looks = looker.looks();
    }
    end_watch();
    INFO(kind.name);
    CHECK(told.all() == "");
    if (seconds != 0)
        std::cout << kind.name << ": " << runs << " programs, " << looks << " looks" << std::endl;
}

}  // namespace

TEST_CASE("child: programs of fourteen kinds beside looks", "[.watched]") {
    const std::string text = environment("HEDDLE_WATCHED_SECONDS");
    const ReportHook before = set_report_hook([](const Error&) {});  // these failures are intended
    for (const Kind& kind : kinds)
        if (is_kind_wanted(kind.name)) run_kind(kind, text.empty() ? 0 : std::stod(text));
    set_report_hook(before);
}

// Needs a separate process. Other tests expose native handles, and the work of such streams is
// unknown to heddle.
TEST_CASE("nothing is told that is not so of programs of fourteen kinds", "[watch]") {
    check_test_case("child: programs of fourteen kinds beside looks",
                    {"HEDDLE_TEST_DEVICE=cpu", "HEDDLE_CPU_DEVICES=3", "HEDDLE_CHECK=0"});
}

}  // namespace heddle_test::programs
