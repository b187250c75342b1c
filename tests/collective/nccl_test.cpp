// Collectives by NCCL: groups of one process, compared with heddle's own copies, and communicators.
#include "child.hpp"
#include "collective/collective.hpp"
#include "kernel_launches.hpp"

#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <unistd.h>

using namespace heddle_test;
using namespace std::chrono_literals;

namespace {

/// Collects the errors of all ranks, because Catch2's checks are not thread-safe.
class Wrong {
public:
    void unless(bool right, Where where = {}) const {
        if (!right) seen_.add("line " + std::to_string(where.line));
    }
    void add(const std::string& what) const { seen_.add(what); }
    Strings seen() const { return seen_.seen(); }

private:
    OrderLog seen_;
};

/// Runs body(rank, communicator, stream, wrong) on one thread for each rank, as separate processes
/// would. Returns the errors.
template <class F>
Strings on_ranks(const std::vector<Device>& devices, F body, CommunicatorOptions options = {}) {
    const CommunicatorId id = CommunicatorId::make();
    const Wrong wrong;
    std::barrier all_there(static_cast<std::ptrdiff_t>(devices.size()));
    on_threads(devices.size(), [&](std::size_t i) {
        std::optional<Communicator> communicator;
        try {
            communicator.emplace(id, i, devices.size(), devices[i], options);
            const Stream stream(devices[i]);
            // A rank that is ahead keeps its GPU busy until the others arrive. So each rank
            // makes its first allocation before any rank begins.
            (void)to_host(stream, full<int>(stream, 1 << 20, 0));
            all_there.arrive_and_wait();
            body(i, *communicator, stream, wrong);
            stream.synchronize();
        } catch (const std::exception& error) {
            wrong.add(error.what());
            if (communicator) communicator->abort();  // ends the other ranks, too
        }
    });
    return wrong.seen();
}

}  // namespace

TEST_CASE("a group says how it works; CPU devices have copies only", "[multi][collective]") {
    CHECK(by_copies(first_devices(2)).transport() == Transport::copies);
    if (test_device().is_cuda()) return;
    CHECK(DeviceGroup(first_devices(2)).transport() == Transport::copies);
    const Error refused =
        thrown_by([&] { DeviceGroup(first_devices(2), {.transport = Transport::nccl}); });
    CHECK(refused.code() == ErrorCode::unsupported);
    CHECK_THAT(refused.what(), contains("copies"));
}

TEST_CASE("a communicator of a CPU device is refused with the reason") {
    const Error refused = thrown_by([] { Communicator(CommunicatorId{}, 0, 1, cpu_device()); });
    CHECK(refused.code() == ErrorCode::unsupported);
    CHECK_THAT(refused.what(), contains("DeviceGroup"));
    const Error no_such_rank =
        thrown_by([] { Communicator(CommunicatorId{}, 2, 2, cpu_device()); });
    CHECK(no_such_rank.code() == ErrorCode::usage);
}

TEST_CASE("without NCCL an id is refused with the reason") {
    const std::string reason = nccl_unavailable_reason();
    if (reason.empty()) {
        CHECK_FALSE(CommunicatorId::make() == CommunicatorId::make());
        return;
    }
    const Error refused = thrown_by([] { (void)CommunicatorId::make(); });
    CHECK(refused.code() == ErrorCode::unsupported);
    CHECK_THAT(refused.what(), contains(reason));
}

TEST_CASE("NCCL and copies give the same", "[multi][collective]") {
    SKIP_WITHOUT_NCCL(2);
    const std::vector<Device> devices = first_devices(4);
    DeviceGroup nccl(devices, {.transport = Transport::nccl});
    CHECK(nccl.transport() == Transport::nccl);
    for (const Kind kind : all_kinds)
        for (const bool in_place : {false, true})
            for (const std::size_t parts : {0u, 1u, 1003u, 300'000u})
                for (std::size_t root = 0; root < (has_root(kind) ? devices.size() : 1); ++root)
                    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max}) {
                        // Uses integers, because NCCL may add floats in another order than heddle.
                        Trial<int> t(kind, devices, parts * devices.size(), root, in_place, op);
                        t.run(nccl);
                        INFO(name(kind) << " of " << t.count << ", root " << root << ", in place "
                                        << in_place);
                        CHECK(t.is_right());
                    }
    Trial<float> average(Kind::all_reduce, devices, 1000, 0, false, ReduceOp::average);
    average.run(nccl);
    const std::vector<float> got = to_host(average.streams[0], average.b[0]),
                             wanted = average.expected(0);
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(wanted[i]));
}

TEST_CASE("parts of different sizes, captures and batches go by copies in a group with NCCL too",
          "[multi][collective]") {
    SKIP_WITHOUT_NCCL(2);
    const std::vector<Device> devices = first_devices(8);
    DeviceGroup group(devices, {.transport = Transport::nccl});
    Trial<int> t(Kind::all_gather, devices, devices.size() * 100 + 1);
    t.run(group);
    CHECK(t.is_right());
    Graph graph = capture(t.streams[0], [&] { t.run(group); });
    t.give(1);
    for (const Stream& s : t.streams) t.streams[0].wait_stream(s);
    graph.launch(t.streams[0]);
    for (const Stream& s : t.streams) s.wait_stream(t.streams[0]);
    CHECK(t.is_right());
}

TEST_CASE("a group with NCCL waits for every rank that contributes", "[multi][collective]") {
    SKIP_WITHOUT_NCCL(2);
    const std::vector<Device> devices = first_devices(2);
    DeviceGroup group(devices, {.transport = Transport::nccl});
    Trial<int> t(Kind::all_reduce, devices, 1000);
    t.run(group);  // NCCL connects the ranks in the first call
    synchronize_all(t.streams);
    Flag reached;
    DrainedGate gate(t.streams[0]);
    t.run(group);
    launch_host(t.streams[1], [reached] { reached.set(); });
    finish_work(devices[0]);
    CHECK_FALSE(reached.is_set());
    gate.open();
    CHECK(t.is_right());
}

TEST_CASE("a communicator of one rank does all collectives", "[collective]") {
    SKIP_WITHOUT_NCCL(1);
    const Strings wrong =
        on_ranks({test_device()}, [](std::size_t, Communicator& c, StreamRef s, const Wrong& seen) {
            seen.unless(c.rank() == 0);
            seen.unless(c.size() == 1);
            seen.unless(c.device() == test_device());
            Array<int> x = full<int>(s, 100, 3), y = zeros<int>(s, 100);
            c.broadcast(s, 0, x);
            c.all_reduce(s, ReduceOp::sum, x, y);
            seen.unless(to_host(s, y) == Ints(100, 3));
            fill(s, y, 0);
            c.all_gather(s, x, y);
            seen.unless(to_host(s, y) == Ints(100, 3));
            fill(s, y, 0);
            c.gather(s, 0, x, y);
            seen.unless(to_host(s, y) == Ints(100, 3));
            fill(s, y, 0);
            c.exchange(s, 0, x, 0, y);
            seen.unless(to_host(s, y) == Ints(100, 3));
            c.check();
        });
    CHECK(wrong == Strings{});
}

TEST_CASE("a communicator refuses what it can see is wrong", "[collective]") {
    SKIP_WITHOUT_NCCL(1);
    const Strings wrong =
        on_ranks({test_device()}, [](std::size_t, Communicator& c, StreamRef s, const Wrong& seen) {
            Array<int> x = full<int>(s, 100, 3), y = zeros<int>(s, 100);
            std::vector<int> host(100);
            const auto refused = [](const std::function<void()>& call) {
                const auto error = error_of(call);
                return error && error->code() == ErrorCode::usage;
            };
            seen.unless(refused([&] { c.broadcast(s, 1, x); }));
            seen.unless(refused([&] { c.all_reduce(s, ReduceOp::sum, x.view().first(9), y); }));
            seen.unless(refused([&] { c.all_reduce(s, ReduceOp::average, x, y); }));
            seen.unless(refused([&] { c.broadcast(s, 0, View<int>(host)); }));
            const Stream other(cpu_device());
            seen.unless(refused([&] { c.broadcast(other, 0, x); }));
            poison(s, "no data");
            const auto failure = error_of([&] { c.broadcast(s, 0, x); });
            seen.unless(failure && failure->code() == ErrorCode::work_failed);
            s.clear_error();
            c.abort();
            seen.unless(refused([&] { c.broadcast(s, 0, x); }));
        });
    CHECK(wrong == Strings{});
}

namespace {

/// Calls each collective on one rank, and checks its results.
void check_collectives(Communicator& c, StreamRef s, const Wrong& seen) {
    const std::size_t i = c.rank(), ranks = c.size(), last = ranks - 1;
    const int me = static_cast<int>(i), n = static_cast<int>(ranks);
    Array<int> x = full<int>(s, 100, me + 1), y = zeros<int>(s, 100),
               all = zeros<int>(s, 100 * ranks);
    c.all_reduce(s, ReduceOp::sum, x, y);
    seen.unless(to_host(s, y) == Ints(100, n * (n + 1) / 2));
    c.all_gather(s, x, all);
    seen.unless(to_host(s, all).back() == n);
    fill(s, all, 0);
    c.gather(s, last, x, all);
    seen.unless(to_host(s, all).back() == (i == last ? n : 0));
    c.broadcast(s, last, x);
    seen.unless(to_host(s, x) == Ints(100, n));
    fill(s, all, me);
    c.reduce_scatter(s, ReduceOp::max, all, y);
    seen.unless(to_host(s, y) == Ints(100, n - 1));
    c.scatter(s, 0, all, y);
    seen.unless(to_host(s, y) == Ints(100, 0));
    fill(s, x, me);
    c.exchange(s, (i + 1) % ranks, x, (i + last) % ranks, y);
    seen.unless(to_host(s, y) == Ints(100, (me + n - 1) % n));
    if (i == 0) c.send(s, 1, x);
    if (i == 1) c.receive(s, 0, y);
    if (i == 1) seen.unless(to_host(s, y) == Ints(100, 0));
    c.reduce(s, ReduceOp::sum, 0, x, y);
    if (i == 0) seen.unless(to_host(s, y) == Ints(100, n * (n - 1) / 2));
    c.synchronize(s);
}

}  // namespace

TEST_CASE("communicators of several ranks, each on a thread of its own", "[multi][collective]") {
    SKIP_WITHOUT_NCCL(2);
    const Strings wrong =
        on_ranks(first_devices(4), [](std::size_t, Communicator& c, StreamRef s,
                                      const Wrong& seen) { check_collectives(c, s, seen); });
    CHECK(wrong == Strings{});
}

TEST_CASE("a rank that does not come within the limit is named by the constructor",
          "[collective]") {
    SKIP_WITHOUT_NCCL(1);
    const CommunicatorId id = CommunicatorId::make();
    CHECK(eventually([&] {  // the process that made the id may be too busy to answer in time
        const Error error =
            thrown_by([&] { Communicator(id, 0, 2, test_device(), {.timeout = 100ms}); });
        CHECK(error.code() == ErrorCode::rank_lost);
        return std::string(error.what()).find("rank 1 of 2 has not joined within 100 ms") !=
               std::string::npos;
    }));
    const Error negative =
        thrown_by([&] { Communicator(id, 0, 2, test_device(), {.timeout = -1ms}); });
    CHECK(negative.code() == ErrorCode::usage);
}

TEST_CASE("synchronize() names a rank that does not make the call, and ends the other ranks",
          "[multi][collective]") {
    SKIP_WITHOUT_NCCL(2);
    std::barrier both(2);
    const Strings wrong =
        on_ranks(first_devices(2),
                 [&both](std::size_t i, Communicator& c, StreamRef s, const Wrong& seen) {
                     Array<int> x = full<int>(s, 100, 1);
                     c.all_reduce(s, ReduceOp::sum, x, x);
                     s.synchronize();
                     both.arrive_and_wait();
                     if (i == 0) {
                         c.all_reduce(s, ReduceOp::sum, x, x);
                         const auto error = error_of([&] { c.synchronize(s); });
                         seen.unless(error && error->code() == ErrorCode::rank_lost);
                         const std::string text = error ? error->what() : "no error";
                         if (text.find("rank 1 has enqueued 1 collectives, but this rank 2") ==
                             std::string::npos)
                             seen.add(text);
                         seen.unless(s.is_poisoned());
                         (void)s.clear_error();
                     }
                     // Rank 0 has aborted, so rank 1 ends, too.
                     const auto is_told = [&] {
                         const auto error = error_of([&] { c.check(); });
                         return error && error->code() == ErrorCode::rank_lost;
                     };
                     seen.unless(eventually(is_told));
                     both.arrive_and_wait();
                 },
                 {.timeout = patience(3s)});
    CHECK(wrong == Strings{});
}

TEST_CASE("a communicator's collective in a capture runs at every launch", "[multi][collective]") {
    SKIP_WITHOUT_NCCL(1);
    const std::vector<Device> devices = first_devices(2);
    const int n = static_cast<int>(devices.size());
    std::barrier ready(n);
    const Strings wrong = on_ranks(
        devices, [n, &ready](std::size_t, Communicator& c, StreamRef s, const Wrong& seen) {
            Array<int> x = full<int>(s, 100, 1), y = zeros<int>(s, 100);
            c.all_reduce(s, ReduceOp::sum, x, y);  // NCCL connects the ranks in the first call
            s.synchronize();
            Graph graph = capture(s, [&] {
                launch(s, Add{}, dim(100), x, 1);
                c.all_reduce(s, ReduceOp::sum, x, y);
                launch(s, Multiply{}, dim(100), y, 10);
            });
            seen.unless(graph.size() == 3);
            // A running graph waits for the graphs of the other ranks. Instantiating or uploading a
            // graph may wait for running work, so both are done before the first launch.
            graph.instantiate();
            graph.upload(s);
            s.synchronize();
            ready.arrive_and_wait();
            for (int k = 0; k < 3; ++k) graph.launch(s);
            seen.unless(to_host(s, y) == Ints(100, 4 * n * 10));
        });
    CHECK(wrong == Strings{});
}

namespace {

/// Runs a hidden test case in two processes, as rank 0 and as rank 1. Adds "NAME=value" to their
/// environment. Returns their results.
std::vector<ChildResult> run_two_ranks(const std::string& name, const Strings& environment = {}) {
    const CommunicatorId id =
        CommunicatorId::make();  // ranks connect through this process, so it waits for them
    const std::string text = "HEDDLE_TEST_ID=" + hex_of(id.bytes);
    std::vector<ChildResult> results(2);
    on_threads(2, [&](std::size_t i) {
        Strings variables = environment;
        variables.insert(variables.end(), {text, "HEDDLE_TEST_RANK=" + std::to_string(i)});
        results[i] = run_test_case(name, variables);
    });
    return results;
}

/// Returns the rank of a child of run_two_ranks(). Returns null in any other process.
std::optional<Communicator> child_rank() {
    const char* text = std::getenv("HEDDLE_TEST_ID");
    const char* number = std::getenv("HEDDLE_TEST_RANK");
    if (text == nullptr || number == nullptr) return std::nullopt;
    CommunicatorId id;
    read_hex(text, id.bytes);
    const std::size_t rank = std::stoul(number);
    return Communicator(id, rank, 2, test_devices().at(rank));
}

}  // namespace

TEST_CASE("child: one rank of two", "[.child]") {
    end_if_it_hangs();
    std::optional<Communicator> joined = child_rank();
    if (!joined) HEDDLE_SKIP("it is run by another test");
    Communicator& world = *joined;
    const std::size_t rank = world.rank();
    const Stream s(world.device());
    const Wrong wrong;
    check_collectives(world, s, wrong);
    CHECK(wrong.seen() == Strings{});
    Array<int> x = full<int>(s, 1000, static_cast<int>(rank) + 1);
    world.all_reduce(s, ReduceOp::sum, x, x);
    CHECK(to_host(s, x) == Ints(1000, 3));
    Graph graph = capture(s, [&] {
        launch(s, Add{}, dim(1000), x, 1);
        world.all_reduce(s, ReduceOp::sum, x, x);
    });
    for (int i = 0; i < 2; ++i) graph.launch(s);
    CHECK(to_host(s, x) == Ints(1000, ((3 + 1) * 2 + 1) * 2));
    std::puts("works");
}

TEST_CASE("a communicator of two processes, whose id goes from one to the other",
          "[multi][collective]") {
    SKIP_WITHOUT_NCCL(2);
    for (const ChildResult& child : run_two_ranks("child: one rank of two")) {
        INFO(child.output);
        CHECK(child.status == 0);
        CHECK_THAT(child.output, contains("works"));
    }
}

TEST_CASE("two processes without shared memory and peer access use sockets, as two hosts do",
          "[multi][collective]") {
    SKIP_WITHOUT_NCCL(2);
    for (const ChildResult& child :
         run_two_ranks("child: one rank of two",
                       {"NCCL_SHM_DISABLE=1", "NCCL_P2P_DISABLE=1", "NCCL_NET=Socket"})) {
        INFO(child.output);
        CHECK(child.status == 0);
        CHECK_THAT(child.output, contains("works"));
    }
}

TEST_CASE("child: a rank of two where one dies", "[.child]") {
    end_if_it_hangs();
    std::optional<Communicator> world = child_rank();
    if (!world) HEDDLE_SKIP("it is run by another test");
    const Stream s(world->device());
    Array<int> x = full<int>(s, 1000, 1);
    world->all_reduce(s, ReduceOp::sum, x, x);
    CHECK(to_host(s, x) == Ints(1000, 2));
    const std::string file = std::getenv("HEDDLE_TEST_FILE");
    if (world->rank() == 1) {
        // Ends without notifying the other rank, once that rank waits.
        CHECK(eventually([&] { return std::filesystem::exists(file); }));
        std::_Exit(7);
    }
    // The other rank does not enqueue its share of this collective.
    world->all_reduce(s, ReduceOp::sum, x, x);
    CHECK_FALSE(s.is_complete());
    std::ofstream(file).put('1');
    const Error lost = thrown_by([&] { s.synchronize(); });
    CHECK(lost.code() == ErrorCode::rank_lost);
    CHECK_THAT(lost.what(), contains("rank 1 of 2 has ended"));
    for (const auto& call :
         std::vector<std::function<void()>>{[&] { world->check(); }, [&] { world->synchronize(s); },
                                            [&] { world->all_reduce(s, ReduceOp::sum, x, x); }})
        CHECK(thrown_by(call).code() == ErrorCode::rank_lost);
    (void)s.clear_error();
    CHECK(thrown_by([&] { world->all_reduce(s, ReduceOp::sum, x, x); }).code() ==
          ErrorCode::rank_lost);
    world.reset();
    // The remaining rank continues with a communicator of its own.
    check_alone(s);
    std::puts("goes on");
}

TEST_CASE("a rank whose other rank has died is told so by its waits, and goes on without it",
          "[multi][collective]") {
    SKIP_WITHOUT_NCCL(2);
    const std::filesystem::path file =
        std::filesystem::temp_directory_path() / ("heddle_rank_waits." + std::to_string(getpid()));
    std::filesystem::remove(file);
    const std::vector<ChildResult> ranks =
        run_two_ranks("child: a rank of two where one dies", {"HEDDLE_TEST_FILE=" + file.string()});
    std::filesystem::remove(file);
    INFO(ranks[0].output);
    CHECK(ranks[0].status == 0);
    CHECK_THAT(ranks[0].output, contains("goes on"));
    CHECK(ranks[1].status == 7);
}
