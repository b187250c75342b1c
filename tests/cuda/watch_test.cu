// The watch on GPUs. Checks the streams' operations, how many of them have completed, and the
// threads that wait for the streams.
#include "../child.hpp"
#include "../support.hpp"

#include <algorithm>
#include <optional>

#include <heddle/cuda.hpp>
#include <heddle/observe/watch.hpp>

using namespace heddle_test;

namespace {

/// Runs until the host sets *flag.
__global__ void spin_until(const volatile int* flag) {
    while (*flag == 0) {}
}

/// A GPU stream with a kernel that runs until open() is called. The process is watched until then.
class Spinning {
public:
    Spinning() : flag_(pinned<int>(1)), x(zeros<int>(stream, 100)) {
        watch({.limit = std::chrono::milliseconds(0), .on_signal = false});
        set(0);
        fill(stream, x, 1);
        stream.synchronize();
    }
    ~Spinning() {
        open();
        synchronize();
        end_watch();
    }
    void spin() { launch(stream, spin_until, grid(1, 1), flag_.data()); }
    void open() { set(1); }

    /// Returns the stream's pending work, once the driver has answered.
    std::optional<PendingStream> seen() const {
        PendingWork all;
        CHECK(eventually([&] { return (all = what_is_pending()).unseen.empty(); }));
        const auto found = std::ranges::find(all.streams, stream.id(), &PendingStream::id);
        return found != all.streams.end() ? std::optional(*found) : std::nullopt;
    }

private:
    void set(int value) { *static_cast<volatile int*>(flag_.data()) = value; }
    Array<int> flag_;

public:
    Stream stream{Device("cuda:0"), {.priority = 0, .name = "solver"}};
    Array<int> x;
};

bool says(const PendingStream& stream, const std::string& part) {
    return stream.text.find(part) != std::string::npos;
}

}  // namespace

CUDA_TEST_CASE("nothing is pending on a GPU's stream whose work has completed") {
    Spinning work;
    fill(work.stream, work.x, 2);
    CHECK(eventually([&] { return !work.seen(); }));
}

CUDA_TEST_CASE("a GPU's stream with one pending operation is at that") {
    Spinning work;
    work.spin();
    const std::optional<PendingStream> seen = work.seen();
    REQUIRE(seen);
    CHECK(seen->status == StreamStatus::in_flight);
    CHECK(seen->pending == 1);
    INFO(seen->text);
    CHECK(says(*seen, "'solver' is at spin_until (watch_test.cu:"));
}

CUDA_TEST_CASE("a GPU's stream that has got memory before its one pending operation is at that") {
    Spinning work;
    const Array<int> fresh = empty<int>(work.stream, 66'666);
    work.spin();
    CHECK(eventually([&] {
        const std::optional<PendingStream> seen = work.seen();
        return seen && seen->pending == 1 && says(*seen, "'solver' is at spin_until");
    }));
}

CUDA_TEST_CASE("a GPU's stream is between the first and the last of its pending operations") {
    Spinning work;
    work.spin();
    for (int i = 0; i < 3; ++i) fill(work.stream, work.x, i);
    const std::optional<PendingStream> seen = work.seen();
    REQUIRE(seen);
    CHECK(seen->status == StreamStatus::in_flight);
    CHECK(seen->pending == 4);
    INFO(seen->text);
    CHECK(says(*seen, "'solver' is between spin_until (watch_test.cu:"));
    CHECK(says(*seen, " and fill (watch_test.cu:"));
}

CUDA_TEST_CASE("what another stream has waited for is known to have completed") {
    Spinning work;
    const Stream other(Device("cuda:0"));
    for (int i = 0; i < 3; ++i) fill(work.stream, work.x, i);
    other.wait_stream(work.stream);
    work.spin();
    fill(work.stream, work.x, 4);
    other.synchronize();
    const std::optional<PendingStream> seen = work.seen();
    REQUIRE(seen);
    INFO(seen->text);
    CHECK(seen->pending == 2);
    CHECK(says(*seen, "'solver' is between spin_until"));
}

CUDA_TEST_CASE("more operations of a GPU's stream than are remembered") {
    Spinning work;
    work.spin();
    for (int i = 0; i < 100; ++i) fill(work.stream, work.x, i);
    const std::optional<PendingStream> seen = work.seen();
    REQUIRE(seen);
    INFO(seen->text);
    CHECK(seen->pending == 101);
    CHECK(says(*seen, "between operations before fill"));
}

CUDA_TEST_CASE("a thread that waits for a GPU is told of") {
    Spinning work;
    work.spin();
    const auto call = [&](auto&& wait, const std::string& name) {
        std::thread waiting(wait);
        std::string target;
        const bool is_seen = eventually([&] {
            const PendingWork all = what_is_pending();
            const auto found = std::ranges::find(all.threads, name, &PendingThread::call);
            if (found == all.threads.end()) return false;
            target = found->waits_for;
            return true;
        });
        work.open();
        waiting.join();
        return is_seen ? target : "nobody waits";
    };
    SECTION("in synchronize()") {
        CHECK(call([&] { work.stream.synchronize(); }, "synchronize") == "solver");
    }
    SECTION("for an event") {
        const Event done = work.stream.record_event();
        CHECK(call([&] { done.synchronize(); }, "Event::synchronize") == "solver");
    }
    SECTION("in to_host()") {
        CHECK(call([&] { static_cast<void>(to_host(work.stream, work.x)); }, "to_host") ==
              "solver");
    }
    SECTION("for the device") {
        CHECK(call([&] { synchronize_device(Device("cuda:0")); }, "synchronize_device") ==
              "cuda:0");
    }
}

CUDA_TEST_CASE(
    "the only pending kernel of a GPU is the cause once it takes longer than the limit") {
    Spinning work;
    const OrderLog reports;
    watch({.limit = std::chrono::milliseconds(100),
           .on_signal = false,
           .on_report = [reports](const PendingWork&, const std::string& text) {
               reports.add(text);
           }});
    work.spin();
    // The watch may send a report before the driver has answered.
    CHECK(eventually([&] {
        return std::ranges::any_of(reports.seen(), [](const std::string& text) {
            return text.starts_with("heddle: nothing has completed on cuda:0") &&
                   text.find("cause: the kernel spin_until at watch_test.cu:") != text.npos;
        });
    }));
}

CUDA_TEST_CASE("a CPU stream that waits for a GPU has no cause that is not known") {
    Spinning work;
    work.spin();
    fill(work.stream, work.x, 2);
    const Stream reader(cpu_device());
    reader.wait_stream(work.stream);
    launch_host(reader, [] {});
    const PendingWork all = what_is_pending();
    CHECK(std::ranges::count(all.streams, reader.id(), &PendingStream::id) == 1);
    CHECK(all.causes.empty());
    work.open();
    reader.synchronize();
}

// Needs a process of its own. Other tests expose native handles, and the work of such streams is
// unknown to heddle.
CUDA_TEST_CASE("a wait that nothing under way will end is a cause beside an idle GPU") {
    check_test_case("a lost wait beside an idle GPU");
}
TEST_CASE("a lost wait beside an idle GPU", "[.]") {
    Spinning work;
    Gate gate;  // the test itself will end this wait
    const Stream held(cpu_device());
    gate.hold(held);
    launch_host(held, [] {});
    const auto is_told = [] {
        return std::ranges::count(what_is_pending().causes, CauseKind::nothing_reaches,
                                  &PendingCause::kind) != 0;
    };
    CHECK(eventually(is_told));
    work.spin();  // pending work on the GPU may end this wait
    CHECK(!is_told());
}
