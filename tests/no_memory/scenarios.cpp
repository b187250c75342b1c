#include "no_memory/scenarios.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>

#include <heddle/algorithms.hpp>
#include <heddle/by_data.hpp>
#include <heddle/heddle.hpp>

#include "kernels.hpp"
#include "no_memory/faults.hpp"
#include "support.hpp"
#include "with/dlpack/structs.hpp"

namespace heddle_test {

using namespace heddle;

namespace {

constexpr std::size_t size = 64;

/// Returns a second device of the kind under test. Returns the same device if there is only one.
Device second_device() {
    const Device first = test_device();
    return device_count(first.kind()) > 1 ? Device(first.kind(), 1) : first;
}

/// Returns whether all elements are `value`. The memory must be host memory.
bool is_all(View<const int> x, int value) {
    for (const int one : x)
        if (one != value) return false;
    return true;
}
/// Waits for the stream, and returns whether all elements are `value`. For any memory.
bool is_all(StreamRef stream, View<const int> x, int value) {
    const OwnMemory own;
    const std::vector<int> there = to_host(stream, x);
    return std::ranges::all_of(there, [value](int one) { return one == value; });
}

std::string long_name() {
    const OwnMemory own;
    return std::string(60, 'n');
}

/// Streams that exist for all runs, and arrays that no other streams use.
struct Bench {
    Stream a{test_device(), {.name = "a"}}, b{test_device(), {.priority = -2, .name = "b"}};
    Stream other{second_device()};
    Array<int> x = zeros<int>(a, size), y = zeros<int>(a, size), z = zeros<int>(other, size);
    Array<int> pinned_x = pinned<int>(size);
    std::vector<int> host = std::vector<int>(size, 3);
    std::atomic<int> count{0};

    ~Bench() { clear(); }
    /// Waits for its streams and clears their failures.
    void clear() noexcept {
        const OwnMemory own;
        for (StreamRef stream : {StreamRef(a), StreamRef(b), StreamRef(other)}) {
            try {
                (void)stream.clear_error();
            } catch (...) {}
        }
    }
};

/// Uses the same bench for all runs. Its streams are idle when a run begins.
template <class F> std::function<Exercise()> on_a_bench(F run) {
    return [run]() -> Exercise {
        return [run, bench = std::make_shared<Bench>()] {
            struct Cleared {
                Bench& bench;
                ~Cleared() { bench.clear(); }
            } cleared{*bench};
            return run(*bench);
        };
    };
}
std::function<Exercise()> as_it_is(bool (*run)()) {
    return [run]() -> Exercise { return run; };
}

/// Keeps a stream busy until open() is called.
class Held {
public:
    explicit Held(StreamRef stream) {
        launch_host(stream, [flag = &open_] {
            while (!flag->load()) flag->wait(false);
        });
        stream_ = stream;
    }
    ~Held() { open(); }
    void open() {
        open_.store(true);
        open_.notify_all();
        const OwnMemory own;
        try {
            if (stream_) std::exchange(stream_, StreamRef()).synchronize();
        } catch (...) {}
    }

private:
    std::atomic<bool> open_{false};
    StreamRef stream_;
};

struct Boom {};

bool run_streams() {
    std::atomic<int> count{0};
    std::string name = long_name();
    Stream a(test_device(), {.name = std::move(name)}), b(test_device(), {.priority = -3});
    // Its destructor waits for the streams, so that `count` is destroyed after their work.
    struct Done {
        StreamRef a, b;
        ~Done() {
            const OwnMemory own;
            for (StreamRef stream : {a, b}) {
                try {
                    stream.synchronize();
                } catch (...) {}
            }
        }
    } done{a, b};
    launch_host(a, [&count] { count += 1; });
    b.wait_stream(a);
    launch_host(b, [&count] { count = count * 10; });
    a.wait_stream(b);
    if (!a.is_complete()) a.synchronize();
    Stream c = std::move(a);
    const bool named = c.name().size() == 60;
    StreamRef own = Stream::per_thread(test_device());
    own.wait_stream(c);
    own.synchronize();
    { Stream unused(test_device()); }
    b.synchronize();
    return count == 10 && named;
}

struct Spin {
    HEDDLE_FN void operator()(std::size_t) const {
        for (int i = 0; i < 100; ++i) asm volatile("");
    }
};

bool run_events(Bench& bench) {
    bench.count = 0;
    Event first(test_device(), {.timing = true}), last(test_device(), {.timing = true});
    first.record(bench.a);
    launch_host(bench.a, [&bench] { bench.count += 1; });
    Event done = bench.a.record_event();
    bench.b.wait_event(done);
    launch_host(bench.b, [&bench] { bench.count = bench.count * 10; });
    last.record(bench.b);
    while (!last.is_complete()) last.synchronize();
    bench.b.synchronize();
    return elapsed(first, last).count() >= 0 && bench.count == 10;
}

/// x[row * 8 + i] += value
struct AddInRows {
    HEDDLE_FN void operator()(std::size_t i, std::size_t row, View<int> x, int value) const {
        x[row * 8 + i] += value;
    }
};

/// A function object that can be copied but not moved, because it owns a const table.
struct AddLast {
    const std::vector<int> table;
    std::atomic<int>* sum;
    void operator()() const { *sum += table.back(); }
};

bool run_launches(Bench& bench) {
    bench.count = 0;
    const auto add = [&] {
        const OwnMemory own;
        return AddLast{std::vector<int>(500, 2), &bench.count};
    }();
    fill(bench.a, bench.x, 0);
    for (int i = 0; i < 60; ++i) {  // more operations than fit in a chunk of a queue
        launch(bench.a, Add{}, dim(size), bench.x, 1);
        launch(bench.a, AddInRows{}, dim(8, size / 8), bench.x, 1);
        if (i % 10 == 0) launch_host(bench.a, add);
    }
    launch_host(bench.a, [&bench, large = std::array<int, 2000>{1}] { bench.count += large[0]; });
    bench.a.synchronize();
    return is_all(bench.a, bench.x, 120) && bench.count == 13;
}

#ifndef __CUDACC__  // std::span does not work in kernels on GPUs
struct AddToSpan {
    void operator()(std::size_t i, std::span<int> x, int value) const { x[i] += value; }
};

/// Spans as arguments, whose arrays are looked up by address.
bool run_spans(Bench& bench) {
    fill(bench.a, bench.x, 0);
    const std::span<int> all(bench.x.data(), size);
    for (int i = 0; i < 60; ++i) launch(bench.a, AddToSpan{}, dim(size), all, 1);
    launch(bench.a, AddToSpan{}, dim(size / 2), all.first<size / 2>(), 1);
    bench.a.synchronize();
    const OwnMemory own;
    const std::vector<int> there = to_host(bench.a, bench.x);
    return there.front() == 61 && there.back() == 60;
}
#endif

bool run_copies(Bench& bench) {
    fill(bench.a, bench.y, 0);
    copy(bench.a, bench.x, bench.host);  // the stream has no pending work
    {
        Held held(bench.a);
        copy(bench.a, bench.y, bench.host);  // takes a snapshot of the streams
        held.open();
    }
    copy(bench.a, bench.pinned_x, bench.x);
    copy_2d(bench.a, View2D<int>(bench.y, 8, 4, 8), View2D<int>(bench.pinned_x.view(), 8, 4, 8));
    const std::vector<int> back = to_host(bench.a, bench.y);
    const OwnMemory own;
    return back == bench.host;
}

bool run_fills(Bench& bench) {
    struct Large {
        int at[32];
    };
    Large large{};
    for (int& one : large.at) one = 7;
    const View<Large> whole(reinterpret_cast<Large*>(bench.x.data()), size / 32);
    launch_host(bench.a, [] {});
    fill(bench.a, whole, large);
    fill(bench.a, bench.y, 7);
    fill_zero(bench.b, bench.pinned_x);
    bench.b.synchronize();
    bench.a.synchronize();
    return is_all(bench.a, bench.x, 7) && is_all(bench.a, bench.y, 7) && is_all(bench.pinned_x, 0);
}

bool run_waits(Bench& bench) {
    bench.count = 0;
    Held held(bench.a);
    for (int i = 0; i < 40; ++i) {
        launch_host(bench.a, [&bench] { bench.count += 1; });
        bench.b.wait_stream(bench.a);
        launch_host(bench.b, [&bench] { bench.count += 1; });
        bench.a.wait_stream(bench.b);
    }
    held.open();
    synchronize_device(test_device());
    synchronize();
    return bench.count == 80;
}

bool run_scopes(Bench& bench) {
    fill(bench.a, bench.x, 0);
    {
        const ScopedStream in(bench.a);
        const ScopedDevice on(test_device());
        launch(Add{}, dim(size), bench.x, 1);
        {
            const ScopedStream inner(bench.b, {.wait_on_exit = true});
            launch(Add{}, dim(size), bench.x, 1);
            set_stream(bench.a);
            launch(Add{}, dim(size), bench.x, 1);
        }
        launch(Add{}, dim(size), bench.x, 1);
        wait_stream(bench.b);
    }
    bench.a.synchronize();
    return is_all(bench.a, bench.x, 4);
}

bool run_refusals(Bench& bench) {
    int refused = 0;
    const auto refuses = [&refused](auto&& call) {
        try {
            call();
        } catch (const UsageError&) {
            ++refused;
        } catch (const NoDevice&) {
            ++refused;
        }
    };
    refuses([&] { (void)Device("no such device"); });
    refuses([&] { (void)Device(DeviceKind::cpu, 1000); });
    refuses([&] { launch(bench.a, AddInRows{}, dim(~std::size_t{0} / 2, 4), bench.x, 1); });
    refuses([&] {
        copy(bench.a, bench.x,
             bench.host.data() == nullptr ? bench.y.view() : bench.y.view().first(1));
    });
    refuses([&] { (void)elapsed(Event(test_device()), Event(test_device())).count(); });
    refuses([&] { (void)Graph().size(); });
    return refused == 6;
}

bool run_observed(Bench& bench) {
    struct Counting final : Observer {
        std::atomic<int> launches{0};
        void on_op(const OpInfo& op) noexcept override {
            if (op.kind == OpKind::launch || op.kind == OpKind::host_function) ++launches;
        }
    } observer;
    struct Removed {
        Observer& observer;
        ~Removed() { remove_observer(observer); }
    } removed{observer};
    add_observer(observer);
    launch(bench.a, Add{}, dim(size), bench.x, 1);
    launch_host(bench.a, [] {});
    bench.b.wait_stream(bench.a);
    (void)OpCounter();
    bench.a.synchronize();
    return observer.launches == 2;
}

bool run_failures(Bench& bench) {
    bench.count = 0;
    launch_host(bench.a, [] { throw Boom(); });
    bench.b.wait_stream(bench.a);
    bool is_told = false;
    try {
        bench.b.synchronize();
    } catch (const WorkFailed&) {
        is_told = true;
    }
    launch_host(bench.b, [&bench] { bench.count += 1; });  // this work is dropped
    launch(bench.b, Add{}, dim(size), bench.x, 1);
    const bool is_poisoned = bench.b.is_poisoned();
    const bool is_cleared = bench.a.clear_error() != nullptr && bench.b.clear_error() != nullptr;
    launch_host(bench.b, [&bench] { bench.count += 10; });
    bench.b.synchronize();
    return is_told && is_poisoned && is_cleared && bench.count == 10;
}

bool run_nodes(Bench& bench) {
    bench.count = 0;
    fill(bench.a, bench.y, 1);
    std::string name = long_name();
    Event reached(test_device());
    auto start = fill_node(bench.x, 0);
    auto add =
        kernel_node(test_device(), Add{}, dim(size), bench.x, 1).after(start).name(std::move(name));
    auto both =
        kernel_node(test_device(), AddTo{}, dim(size), bench.y, bench.x).after(add).priority(-1);
    auto host = host_node(test_device(), [&bench] { bench.count += 1; }).after(start);
    auto record = record_node(reached).after(both, host);
    auto out = copy_node(bench.pinned_x, bench.x).after(record);
    Graph graph = out.build();
    graph.launch(bench.a);
    bench.b.wait_event(reached);
    launch_host(bench.b, [&bench] { bench.count += 10; });
    add.args(bench.x, 5);
    start.with(bench.x, 2);
    graph.launch(bench.a);
    Graph other = graph.clone();
    other.launch(bench.a);
    other.upload(bench.a);
    graph.update(other);
    graph.launch(bench.a);
    auto inside = child_node(graph);
    Graph outer = empty_node(test_device()).after(inside).build();
    outer.launch(bench.a);
    (void)outer.dot();
    (void)outer.nodes();
    bench.b.synchronize();
    bench.a.synchronize();
    return is_all(bench.pinned_x, 8) && bench.count == 15;
}

bool run_wide_graph(Bench& bench) {
    constexpr int width = 10;
    bench.count = 0;
    auto first = empty_node(test_device());
    auto last = empty_node(test_device());
    for (int i = 0; i < width; ++i) {
        auto one = host_node(test_device(), [&bench] { bench.count += 1; }).after(first);
        const View<int> part = bench.x.view().subview(static_cast<std::size_t>(i) * 6, 6);
        auto two =
            kernel_node(test_device(), Add{}, dim(6), part, 0).priority(i % 3 - 3).after(one);
        last.after(two);
    }
    // Long enough to be split among several workers.
    auto large = kernel_node(test_device(), Spin{}, dim(2000)).after(first);
    last.after(large);
    Graph graph = last.build();
    graph.launch(bench.a);
    bench.b.wait_stream(bench.a);
    graph.launch(bench.b);
    bench.b.synchronize();
    return bench.count == 2 * width;
}

bool run_conditional(Bench& bench) {
    launch(bench.a, Set{}, dim(size), bench.x, 5);
    Graph body = kernel_node(test_device(), Add{}, dim(1), bench.x, -1).build();
    Graph graph = while_node(bench.x.view().first(1), body).build();
    graph.launch(bench.a);
    bench.a.synchronize();
    return is_all(bench.a, bench.x.view().first(1), 0);
}

bool run_prepared(Bench& bench) {
    fill(bench.a, bench.x, 0);
    auto prepared = prepare(test_device(), Add{}, dim(size), bench.x, 1);
    for (int i = 0; i < 4; ++i) launch(bench.a, prepared);
    prepared.set<1>(6);
    launch(bench.a, prepared);
    bench.a.synchronize();
    return is_all(bench.a, bench.x, 10);
}

bool run_collectives(Bench& bench, Transport transport) {
    fill(bench.a, bench.x, 1);
    fill(bench.other, bench.z, 2);
    std::vector<Device> devices = [&] {
        const OwnMemory own;
        return std::vector<Device>{test_device(), bench.other.device()};
    }();
    DeviceGroup group(std::move(devices), {.transport = transport});
    const View<int> views[] = {bench.x, bench.z};
    const StreamRef streams[] = {bench.a, bench.other};
    group.all_reduce(streams, ReduceOp::sum, views, views);
    group.broadcast(streams, 0, views);
    group.barrier(streams);
    bench.other.synchronize();
    bench.a.synchronize();
    return is_all(bench.a, bench.x, 3) && is_all(bench.other, bench.z, 3);
}

bool run_copied_collectives(Bench& bench) { return run_collectives(bench, Transport::copies); }
bool run_nccl_collectives(Bench& bench) { return run_collectives(bench, Transport::nccl); }

// Calls that record, allocate, fork and lease -----------------------------------------------------

/// A tensor of another library, in host memory.
struct TheirTensor {
    int memory[size] = {};
    std::int64_t shape = size, stride = 1;
    std::atomic<int> made{0}, ended{0};
    DLManagedTensorVersioned managed{1,    0, this,
                                     &end, 0, {memory, 1, 0, 1, 0, 32, 1, &shape, &stride, 0}};

    static void end(DLManagedTensorVersioned* self) {
        ++static_cast<TheirTensor*>(self->context)->ended;
    }
    DLManagedTensorVersioned* make() {
        ++made;
        return &managed;
    }
    void finish() const {
        const OwnMemory own;
        finish_adopted();
        if (made != ended) throw std::logic_error("a deleter was not called once");
    }
};

bool run_tensors(Bench& bench) {
    TheirTensor theirs;
    try {
        {
            DlpackPtr ours = to_dlpack(bench.b, bench.x, {8, size / 8});
            Array<int> back = from_dlpack<int>(bench.b, ours.release());
            fill(bench.b, back, 7);
        }
        const Stream cpu(Device("cpu"));
        {
            Array<int> x = from_dlpack<int>(cpu, theirs.make());
            fill(cpu, x, 3);
            const auto passed_on = to_dlpack<DLManagedTensor>(cpu, x);
            x.reset();
        }
        cpu.synchronize();
    } catch (...) {
        theirs.finish();
        throw;
    }
    theirs.finish();
    return is_all(bench.b, bench.x, 7) && is_all(theirs.memory, 3);
}

bool run_arrays(Bench& bench) {
    auto x = full<int>(bench.a, size, 1);
    auto y = from_host(bench.a, bench.host);
    copy(bench.a, y, x);
    auto host = pinned<int>(size);
    auto mine = shareable<int>(test_device(), size);
    for (int i = 0; i < 8; ++i) {
        Stream one(test_device());
        one.wait_stream(bench.a);
        launch(one, AddInRows{}, dim(8, size / 8), y, 1);
        bench.a.wait_stream(one);
    }
    copy(bench.a, host, y);
    fill(bench.a, mine, 2);
    y.reset();
    x.reset();
    mine.reset();
    bench.a.synchronize();
    return is_all(host, 9);
}

bool run_shared_events(Bench& bench) {
    bench.count = 0;
    Event shared(test_device(), {.interprocess = true});
    launch_host(bench.b, [&bench] { bench.count += 1; });
    shared.record(bench.b);
    bench.a.wait_event(shared);
    launch_host(bench.a, [&bench] { bench.count = bench.count * 10; });
    (void)export_event(shared);
    shared.synchronize();
    bench.a.synchronize();
    return bench.count == 10;
}

bool run_fork_join(Bench& bench) {
    bench.count = 0;
    fork_join_n(bench.a, 6, [&](std::size_t, StreamRef branch) {
        launch_host(branch, [&bench] { bench.count += 1; });
    });
    fork_join_n(bench.a, 10, [&](std::size_t) { launch_host([&bench] { bench.count += 1; }); },
                {.streams = 3});
    bench.a.synchronize();
    return bench.count == 16;
}

bool run_pool(Bench& bench) {
    synchronize_device(test_device());  // if a run threw, work is left on the leased streams
    bench.count = 0;
    StreamPool pool(test_device());
    {
        auto one = pool.lease(), two = pool.lease(-1);
        one.wait_stream(bench.a);
        launch_host(one, [&bench] { bench.count += 1; });
        two.wait_stream(one);
        bench.a.wait_stream(two);
    }
    StreamRef shared = pool.shared();
    shared.wait_stream(bench.a);
    shared.synchronize();
    bench.a.synchronize();
    return bench.count == 1;
}

bool run_by_data(Bench& bench) {
    bench.count = 0;
    DataOrder order{test_device(), {.streams = 3, .waits = DataWaits::exact}};
    const Array<int> first = empty<int>(order, size);  // every list must still allocate
    fill(order, bench.x, 0);
    fill_zero(order, bench.y);
    for (int i = 0; i < 4; ++i) {
        launch(order, Add{}, dim(size), bench.x, 1);
        launch(order, AddTo{}, dim(size), bench.x, bench.y);
    }
    {
        const Array<int> temporary = clone(order, bench.x);
        launch(order, AddTo{}, dim(size), temporary, bench.y);
    }
    order.task({reads(bench.y), writes(bench.x)},
               [&](StreamRef stream) { copy(stream, bench.x, bench.y); });
    copy(order, bench.pinned_x, bench.x);
    launch_host(
        order, [&bench] { bench.count += bench.pinned_x.data()[0]; }, reads(bench.pinned_x));
    (void)on_host(order, bench.pinned_x);
    order.join();
    order.synchronize();
    return bench.count == 14 && is_all(bench.a, bench.x, 14);
}

bool run_capture(Bench& bench) {
    bench.count = 0;
    fill(bench.a, bench.x, 0);
    Event outside(test_device());
    Graph graph = capture(bench.a, [&] {
        launch(bench.a, Add{}, dim(size), bench.x, 1);
        bench.b.wait_stream(bench.a);
        launch_host(bench.b, [&bench] { bench.count += 1; });
        auto y = empty<int>(bench.a, size);
        copy(bench.a, y, bench.x);
        launch_host(bench.a, [unused = empty<int>(bench.a, size)] {});
        fork_join_n(bench.a, 3, [&](std::size_t, StreamRef branch) { launch_host(branch, [] {}); });
        record_external(bench.a, outside);
        capture_if(bench.a, bench.x.view().first(1),
                   [&] { launch(bench.a, Add{}, dim(size), bench.x, 1); });
        bench.a.wait_stream(bench.b);
    });
    graph.launch(bench.a);
    graph.launch(bench.a);
    Graph other = graph.clone();
    other.launch(bench.a);
    outside.synchronize();
    bench.a.synchronize();
    return is_all(bench.a, bench.x, 6) && bench.count == 3;
}

bool run_batch(Bench& bench) {
    fill(bench.a, bench.x, 0);
    bench.b.wait_stream(bench.a);
    Batch batch({.on_cpu = true});
    const ScopedStream in(bench.a);
    for (int i = 0; i < 4; ++i)
        batch.run([&] {
            launch(bench.a, Add{}, dim(size), bench.x, i);
            bench.b.wait_stream(bench.a);
            launch(bench.b, Add{}, dim(size), bench.x, 1);
            launch_host(bench.b, [unused = empty<int>(bench.b, size)] {});
            Event done = bench.b.record_event();
            bench.a.wait_event(done);
            copy(bench.a, bench.y, bench.x);
        });
    bench.a.synchronize();
    return is_all(bench.a, bench.x, 10) && is_all(bench.a, bench.y, 10);
}

/// A scope that is launched in two parts.
bool run_long_batch(Bench& bench) {
    fill(bench.a, bench.x, 0);
    Batch batch({.on_cpu = true});
    const ScopedStream in(bench.a);
    for (int round = 0; round < 3; ++round)
        batch.run([&] {
            for (int i = 0; i < 70; ++i) launch(Add{}, dim(size), bench.x, round);
        });
    return is_all(bench.a, bench.x, 70 * (0 + 1 + 2));
}

/// Algorithms, which allocate temporary memory of the stream. More than one chunk of elements.
bool run_algorithms(Bench& bench) {
    constexpr std::size_t n = 66'000;
    Array<int> x = full<int>(bench.a, n, 2), sum(bench.a, 1);
    inclusive_scan(bench.a, x, x);
    sort(bench.a, x, std::greater<>());
    reduce(bench.a, x.first(2), sum);
    {
        DataOrder order(test_device(), {.streams = 2});
        exclusive_scan(order, x.first(1), x.first(1), 5);
        reduce(order, x.first(2), sum, 1);
        order.synchronize();
    }
    const std::vector<int> there = to_host(bench.a, sum);
    return there[0] == 1 + 5 + 2 * static_cast<int>(n - 1);
}

bool run_memory_nodes(Bench& bench) {
    auto memory = alloc_node<int>(test_device(), size);
    auto first = fill_node(memory.view(), 4).after(memory);
    auto out = copy_node(bench.pinned_x, memory.view()).after(first);
    auto gone = free_node(memory).after(out);
    Graph graph = gone.build();
    graph.launch(bench.a);
    graph.launch(bench.a);
    bench.a.synchronize();
    return is_all(bench.pinned_x, 4);
}

bool run_pipeline(Bench& bench) {
    int sum = 0;
    Pipeline<int, int> pipeline(
        test_device(),
        [](StreamRef s, View<const int> in, View<int> out) { copy(s, out.first(in.size()), in); },
        {.depth = 3, .piece = 16, .in_place = false});
    (void)pipeline.push(bench.host);
    while (pipeline.pending() > 0) {
        const auto result = pipeline.pop();
        for (const int one : *result) sum += one;
        if (!pipeline.is_full() && pipeline.pending() == 0) break;
    }
    pipeline.finish();
    return sum >= 3 * 16 * 3;
}

}  // namespace

std::vector<Scenario> scenarios() {
    std::vector<Scenario> all{
        {"streams", as_it_is(run_streams)},
        {"events", on_a_bench(run_events)},
        {"launches", on_a_bench(run_launches)},
        {"copies", on_a_bench(run_copies)},
        {"fills", on_a_bench(run_fills)},
        {"waits", on_a_bench(run_waits)},
        {"scopes", on_a_bench(run_scopes)},
        {"refusals", on_a_bench(run_refusals)},
        {"observers", on_a_bench(run_observed)},
        {"failures", on_a_bench(run_failures)},
        {"nodes", on_a_bench(run_nodes)},
        {"wide graphs", on_a_bench(run_wide_graph)},
        {"conditional nodes", on_a_bench(run_conditional)},
        {"prepared launches", on_a_bench(run_prepared)},
    };
#ifndef __CUDACC__
    if (test_device().is_cpu()) all.push_back({"spans", on_a_bench(run_spans)});
#endif
    if (second_device() != test_device())
        all.push_back({"collectives", on_a_bench(run_copied_collectives)});
    if (second_device() != test_device() && test_device().is_cuda() &&
        nccl_unavailable_reason().empty())
        all.push_back({"collectives with NCCL", on_a_bench(run_nccl_collectives), false, true});
    return all;
}

std::vector<Scenario> recorded_scenarios() {
    return {
        {"arrays", on_a_bench(run_arrays)},
        {"tensors", on_a_bench(run_tensors)},
        {"shared events", on_a_bench(run_shared_events)},
        {"fork_join", on_a_bench(run_fork_join)},
        {"pools", on_a_bench(run_pool)},
        {"order by data", on_a_bench(run_by_data)},
        {"captures", on_a_bench(run_capture)},
        {"batches", on_a_bench(run_batch)},
        {"long batches", on_a_bench(run_long_batch)},
        {"algorithms", on_a_bench(run_algorithms)},
        {"memory nodes", on_a_bench(run_memory_nodes)},
        {"pipelines", on_a_bench(run_pipeline)},
    };
}

}  // namespace heddle_test
