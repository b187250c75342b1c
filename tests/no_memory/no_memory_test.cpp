// Makes each allocation fail, one after the other. Every call must succeed or report that memory is
// exhausted. Afterwards, the same calls must work.
#include <algorithm>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include "core/seam/completion.hpp"
#include "kernels.hpp"
#include "no_memory/faults.hpp"
#include "no_memory/scenarios.hpp"
#include "support.hpp"

#include <dlfcn.h>

using namespace heddle_test;

namespace {

/// The outcome of a single run.
struct Outcome {
    bool is_told = false;  ///< whether the run threw or reported out_of_memory
    bool is_right = false;
    std::string wrong;  ///< the first error; empty if there was none
};

/// Counts reports of out_of_memory, which the tests accept in place of an exception. Also counts
/// other reports. The hook itself does not allocate.
class OnlyWantOfMemory {
public:
    OnlyWantOfMemory()
        : before_(set_report_hook([this](const Error& error) {
              (error.code() == ErrorCode::out_of_memory ? told_ : others_).fetch_add(1);
          })) {}
    ~OnlyWantOfMemory() { set_report_hook(before_); }
    int take_told() { return told_.exchange(0); }
    int others() const { return others_.load(); }

private:
    std::atomic<int> told_{0}, others_{0};
    ReportHook before_;
};

Outcome run_once(const Exercise& exercise) {
    Outcome outcome;
    try {
        outcome.is_right = exercise();
    } catch (const Error& error) {
        const OwnMemory own;
        outcome.is_told = error.code() == ErrorCode::out_of_memory;
        if (!outcome.is_told) outcome.wrong = std::string("it threw: ") + error.what();
    } catch (const std::exception& other) {
        const OwnMemory own;
        outcome.wrong = std::string("it threw what is no heddle::Error: ") + other.what();
    }
    return outcome;
}

/// Runs an exercise again and again. In each run, another allocation fails. Returns the first
/// error, or an empty string.
std::string sweep(const Exercise& exercise, Fault fault, OnlyWantOfMemory& reports) {
    constexpr long most = 5000;
    int without = 0;
    for (long k = 0; k < most && without < 2; ++k) {
        long failed = 0;
        Outcome outcome;
        {
            const Faults faults(fault, k);
            outcome = run_once(exercise);
            failed = faults.count();
        }
        const std::string which = " (where allocation " + std::to_string(k) + " fails)";
        if (!outcome.wrong.empty()) return outcome.wrong + which;
        if (!outcome.is_told && !outcome.is_right && reports.take_told() == 0)
            return "it was wrong, and nobody said so" + which;
        const Outcome after = run_once(exercise);
        if (!after.wrong.empty()) return "afterwards " + after.wrong + which;
        if (!after.is_right) return "afterwards it was wrong" + which;
        without = failed == 0 ? without + 1 : 0;
    }
    if (reports.others() != 0) return "something else was reported";
    return without < 2 ? "it does not come to an end" : "";
}

/// Sets a long name on every stream record, so that all records exist. The record of a closed
/// stream keeps the name's memory. Some scenarios also make streams on the CPU.
void name_all_records() {
    constexpr int more_than_there_are = 3000;
    for (const Device device : {test_device(), cpu_device()})
        for (int i = 0; i < more_than_there_are; ++i)
            const Stream named(device, {.name = std::string(100, 'n')});
}

void check_all(const std::vector<Scenario>& all) {
    name_all_records();
    for (const Scenario& scenario : all) {
        OnlyWantOfMemory reports;
        const Exercise exercise = scenario.prepare();
        INFO(scenario.name);
        const Outcome first = run_once(exercise);
        REQUIRE(first.wrong == "");
        REQUIRE(first.is_right);
        for (const Fault fault : {Fault::one_here, Fault::all_here, Fault::one_anywhere}) {
            INFO((fault == Fault::one_here   ? "one allocation of this thread"
                  : fault == Fault::all_here ? "all allocations of this thread from one on"
                                             : "one allocation of any thread"));
            CHECK(sweep(exercise, fault, reports) == "");
        }
        // Caches may grow at first. After some runs, they must stop growing.
        bool grows = !scenario.can_poison && !scenario.has_others;
        for (int i = 0; i < 20 && grows; ++i) {
            synchronize();
            const long before = live_allocations();
            CHECK(sweep(exercise, Fault::one_here, reports) == "");
            synchronize();
            trim_pool(test_device());  // on CUDA, destroys graphs with conditional nodes
            grows = live_allocations() > before;
        }
        CHECK_FALSE(grows);
    }
}

}  // namespace

// Must be the first case: the first wait in the process creates objects that later waits reuse.
TEST_CASE("a thread blocks and is woken when there is no memory") {
    const auto done = heddle::detail::make_completion();
    std::thread completes([&] {
        while (!done->is_awaited()) std::this_thread::yield();
        done->complete();
    });
    {
        const Faults faults(Fault::all_here, 0);
        heddle::detail::block_until(*done);
    }
    completes.join();
    CHECK(done->is_done());
}

TEST_CASE("a thread that NCCL starts gets memory, and all others are counted") {
    void* const library = dlopen(HEDDLE_TEST_THREAD_OF_NCCL, RTLD_NOW);
    REQUIRE(library != nullptr);
    const auto allocate_on_theirs =
        reinterpret_cast<bool (*)()>(dlsym(library, "heddle_test_allocate_on_a_thread"));
    REQUIRE(allocate_on_theirs != nullptr);
    bool theirs = false, ours = true;
    long failed_on_theirs = -1;
    {
        const Faults faults(Fault::one_anywhere, 0);
        theirs = allocate_on_theirs();
        failed_on_theirs = faults.count();
        std::optional<std::thread> thread;
        const auto allocate = [&ours] {
            void* const data = ::operator new(1, std::nothrow);
            ours = data != nullptr;
            ::operator delete(data);
        };
        {
            const OwnMemory own;
            thread.emplace(allocate);
        }
        thread->join();
    }
    CHECK(theirs);
    CHECK(failed_on_theirs == 0);
    CHECK_FALSE(ours);
}

TEST_CASE("a call for which there is no memory says so, and leaves things as they were") {
    check_all(scenarios());
}

TEST_CASE("a call that records, allocates, forks or leases says so too") {
    check_all(recorded_scenarios());
}

TEST_CASE("memory that could not be returned is returned later") {
    const Drained drained;
    const Stream s(test_device()), t(test_device());
    const std::size_t before = memory_stats(test_device()).in_use;
    {
        Array<int> x = zeros<int>(s, 1000);
        x.used_on(t);  // all uses are on one stream, so this needs no memory on GPUs
        Gate gate;
        for (StreamRef held : {StreamRef(s), StreamRef(t)}) {
            gate.hold(held);
            launch_host(held, [] {});
        }
        long failed = 0;
        {
            const Faults faults(Fault::all_here, 0);
            x.reset();
            failed = faults.count();
        }
        CHECK(failed > 0);
        CHECK(memory_stats(test_device()).in_use > before);
    }
    s.synchronize();
    t.synchronize();
    synchronize_device(test_device());
    CHECK(eventually([&] { return memory_stats(test_device()).in_use == before; }));
}

TEST_CASE("a stream, a graph and an event end without memory") {
    const Drained drained;
    OnlyWantOfMemory reports;
    std::atomic<int> count{0};
    {
        std::optional<Stream> used(std::in_place, test_device()),
            unused(std::in_place, test_device());
        std::optional<Event> event(std::in_place, test_device());
        event->record(*used);
        launch_host(*used, [&count] { ++count; });
        auto node = host_node(test_device(), [&count] { ++count; });
        auto last = empty_node(test_device()).after(node);
        std::optional<Graph> graph(last.build());
        graph->launch(*used);
        long failed = 0;
        {
            const Faults faults(Fault::all_here, 0);
            graph.reset();
            event.reset();
            unused.reset();
            used.reset();
            failed = faults.count();
        }
        // On CUDA, destruction may be delayed if memory is exhausted, but it still happens.
        CHECK((failed == 0 || test_device().is_cuda()));
    }
    CHECK(eventually([&] { return count == 2; }));
    CHECK(reports.take_told() + reports.others() == 0);
}

TEST_CASE("a loan that ends without memory stays open, and its memory is not in use afterwards") {
    constexpr std::size_t n = 1000;
    OnlyWantOfMemory reports;
    Ints values(n, 1);
    std::vector<Stream> streams;
    while (streams.size() < 10)
        streams.emplace_back(cpu_device());  // more than a block has room for
    const auto use = [&](Loan& loan) {
        Array<int> x = loan.lend(cpu_device(), values);
        for (std::size_t i = 0; i < streams.size(); ++i)
            launch(streams[i], Add{}, dim(n / 10), x.view().subview(i * n / 10, n / 10), 1);
    };
    {
        Loan loan;
        use(loan);
        bool is_told = false;
        {
            const Faults faults(Fault::all_here, 0);
            try {
                loan.end();
            } catch (const OutOfMemory&) {
                is_told = true;
            }
        }
        CHECK(is_told);
        CHECK(reports.take_told() == 0);
        loan.end();
        CHECK(values == Ints(n, 2));
    }
    CHECK(reports.take_told() == 0);
    for (long k = 0, failed = 1; failed != 0; ++k) {
        std::optional<Loan> loan(std::in_place);
        std::ranges::fill(values, 2);
        use(*loan);
        {
            const Faults faults(Fault::one_here, k);
            loan.reset();
            failed = faults.count();
        }
        CHECK(values == Ints(n, 3));
        CHECK(reports.take_told() == (failed != 0 ? 1 : 0));
    }
    CHECK(reports.others() == 0);
}
