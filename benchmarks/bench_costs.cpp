// How long heddle's calls take on the calling thread, compared with raw calls that do the same, on
// each kind of device. Figures are for one call. On CPU devices, worker threads run the work at the
// same time. bench_cpu measures whole runs including the work. bench_graphs measures graphs,
// prepared launches and batches. bench_concurrency measures launches by several threads.
//
// On a GPU, a batch enqueues at most 200 operations, followed by a wait that is not timed. So the
// launch queue is never full, and no launch blocks.

#include <vector>

#include <heddle/heddle.hpp>

#include "costs/parts.hpp"
#include "devices.hpp"

using namespace heddle;
using bench::repeat;
using bench::Side;
namespace row = bench::row;

namespace {

struct Empty {
    HEDDLE_FN void operator()(std::size_t) const {}
};
struct Saxpy {
    HEDDLE_FN void operator()(std::size_t i, float a, View<const float> x, View<float> y) const {
        y[i] += a * x[i];
    }
};
struct FiveArguments {
    HEDDLE_FN void operator()(std::size_t i, int n, float a, double b, View<const float> x,
                              View<float> y) const {
        if (static_cast<int>(i) < n) y[i] = a * x[i] + static_cast<float>(b);
    }
};

constexpr int floats = bench::small_bytes / sizeof(float);
constexpr bench::Batches enqueuing{
    .calls = 100, .pairs = 4000, .seconds = 1.0};  // for calls that enqueue work
constexpr bench::Batches host_only{.calls = 2000, .pairs = 1000, .seconds = 0.5};  // other calls
constexpr bench::Batches slow{.calls = 20, .pairs = 1000, .seconds = 1.0};         // slow calls

/// Adds the rows for one device. Each row has its own streams, because earlier work may affect a
/// stream. For example, failures of host functions are reported late.
class Rows {
public:
    Rows(bench::Report& report, Device device, bench::Peers peers)
        : report_(report), device_(device), peers_(std::move(peers)) {}

    void add_all() {
        report_.attempt("launches", [this] { add_launches(); });
        report_.attempt("order", [this] { add_order(); });
        report_.attempt("scopes", [this] { add_scopes(); });
        report_.attempt("queries", [this] { add_queries(); });
        report_.attempt("makers", [this] { add_makers(); });
        report_.attempt("memory", [this] { add_memory(); });
        report_.attempt("loans", [this] { bench::add_loan_rows(report_, device_); });
        report_.attempt("adopted memory", [this] { bench::add_adopted_rows(report_, device_); });
    }

private:
    void add(const char* name, Side side, const bench::Batches& batches) {
        if (!side.finish) side.finish = [device = device_] { synchronize_device(device); };
        const auto peer = peers_.find(name);
        report_.compare(name, device_.name(), side,
                        peer != peers_.end() ? peer->second : bench::Peer{}, batches);
    }

    void add_launches() {
        const Stream s{device_};
        Array<float> x = zeros<float>(s, floats), y = zeros<float>(s, floats);
        add(row::launch_empty, {repeat([&] { launch(s, Empty{}, dim(1)); })}, enqueuing);
        add(row::launch_saxpy, {repeat([&] { launch(s, Saxpy{}, dim(32), 2.0f, x, y); })},
            enqueuing);
        add(row::launch_five,
            {repeat([&] { launch(s, FiveArguments{}, dim(32), 32, 2.0f, 3.0, x, y); })}, enqueuing);
        {
            const ScopedStream in{s};
            add(row::launch_current, {repeat([&] { launch(Saxpy{}, dim(32), 2.0f, x, y); })},
                enqueuing);
        }
        add(row::launch_synchronize, {repeat([&] {
                launch(s, Empty{}, dim(1));
                s.synchronize();
            })},
            slow);
        const Stream host{device_};
        add(row::host_function, {repeat([&] { launch_host(host, [] {}); })},
            {.calls = 50, .pairs = 2000, .seconds = 1.0});
    }

    void add_order() {
        const Stream a{device_}, b{device_};
        Event event{device_};
        add(row::record, {repeat([&] { a.record_event(event); })}, enqueuing);
        add(row::record_new, {repeat([&] { keep(a.record_event()); })}, enqueuing);

        // Each event is recorded after newer work than the previous event, so no wait is redundant.
        std::vector<Event> events;
        for (int i = 0; i < enqueuing.calls; ++i) events.emplace_back(device_);
        const auto record_all = [&] {
            for (Event& e : events) {
                launch(b, Empty{}, dim(1));
                b.record_event(e);
            }
            b.synchronize();
        };
        add(row::wait_event,
            {.run = repeat([&](int i) { a.wait_event(events[static_cast<std::size_t>(i)]); }),
             .finish = {},
             .prepare = record_all},
            enqueuing);
        add("wait_event, waited for before", {repeat([&] { a.wait_event(events.back()); })},
            host_only);

        // Two streams wait for each other in turn. Each wait counts as work of its stream, so none
        // of the waits is elided. One call is one wait.
        add(row::wait_stream, {[&](int calls) {
                for (int i = 0; i < calls; i += 2) {
                    a.wait_stream(b);
                    b.wait_stream(a);
                }
            }},
            enqueuing);
        add(row::wait_after_launch, {repeat([&] {
                launch(b, Empty{}, dim(1));
                a.wait_stream(b);
            })},
            {.calls = 60, .pairs = 2000, .seconds = 1.0});
        add("wait_stream, elided", {repeat([&] { a.wait_stream(b); })}, host_only);

        const auto two = [&] {
            fork_join(a, [] { launch(Empty{}, dim(1)); }, [] { launch(Empty{}, dim(1)); });
        };
        add(row::fork_join, {repeat(two)}, slow);
    }

    void add_scopes() {
        const Stream outer{device_}, inner{device_};
        const ScopedStream in_outer{outer};
        // Counts a submission on `outer` without enqueuing work, so that only the scope is
        // measured.
        add(row::scope, {repeat([&] {
                detail::count_submission(detail::Access::state(outer));
                const ScopedStream in{inner};
            })},
            enqueuing);
        // The wait on exit counts as work on `outer`, so the next wait on entry cannot be elided.
        add(row::scope_both,
            {repeat([&] { const ScopedStream in{inner, {.wait_on_exit = true}}; })},
            {.calls = 50, .pairs = 4000, .seconds = 1.0});
        add("ScopedStream, elided wait", {repeat([&] { const ScopedStream in{inner}; })},
            host_only);
        add("ScopedStream, no wait asked for",
            {repeat([&] { const ScopedStream in{inner, {.wait_on_enter = false}}; })}, host_only);
        add("ScopedDevice", {repeat([&] { const ScopedDevice in{device_}; })}, host_only);
        add("current_stream()", {repeat([&] { bench::keep(current_stream()); })}, host_only);
    }

    void add_queries() {
        const Stream s{device_};
        launch(s, Empty{}, dim(1));
        const Event event = s.record_event();
        s.synchronize();
        add(row::stream_query, {repeat([&] { bench::keep(s.is_complete()); })}, host_only);
        add(row::event_query, {repeat([&] { bench::keep(event.is_complete()); })}, host_only);
        add(row::synchronize_idle, {repeat([&] { s.synchronize(); })}, host_only);
    }

    void add_makers() {
        add(row::event_make, {repeat([&] { const Event event{device_}; })}, host_only);
        StreamPool pool{device_};
        add(row::stream_lease, {repeat([&] { const StreamPool::Lease lease = pool.lease(); })},
            host_only);
        add("stream shared from a pool", {repeat([&] { bench::keep(pool.shared()); })}, host_only);
        add(row::stream_make, {repeat([&] { const Stream stream{device_}; })}, slow);
    }

    void add_memory() {
        const Stream s{device_};
        add(row::array_small, {repeat([&] { keep(empty<float>(s, floats)); })}, enqueuing);
        add(row::array_large, {repeat([&] { keep(empty<float>(s, (1 << 20) / sizeof(float))); })},
            enqueuing);
        Array<float> x = zeros<float>(s, floats), y = zeros<float>(s, floats),
                     host = pinned<float>(floats);
        add(row::copy_to_device, {repeat([&] { copy(s, x, host); })}, enqueuing);
        add(row::copy_to_host, {repeat([&] { copy(s, host, x); })}, enqueuing);
        add(row::copy_on_device, {repeat([&] { copy(s, y, x); })}, enqueuing);
        add(row::fill_float, {repeat([&] { fill(s, x, 1.5f); })}, enqueuing);
        add(row::fill_zero, {repeat([&] { fill_zero(s, x); })}, enqueuing);
    }

    template <class T> static void keep(T&& made) {
        bench::keep(made);
    }  // if the event is a temporary, this also destroys it

    bench::Report& report_;
    Device device_;
    bench::Peers peers_;
};

/// Adds rows for two devices of one kind. `near` is current. The calls use `far`, or both devices.
void add_two_devices(bench::Report& report, Device near, Device far, bench::Peers peers) {
    const ScopedDevice on{near};
    const Stream a{near}, b{far}, outer{far}, inner{far};
    const auto add = [&](const char* name, std::function<void(int)> run,
                         const bench::Batches& batches = enqueuing) {
        const auto finish = [near, far] {
            synchronize_device(far);
            synchronize_device(near);
        };
        report.compare(name, near.name(), {std::move(run), finish}, peers[name], batches);
    };
    launch(a, Empty{}, dim(1));  // work that the other stream's wait is for
    add(row::far_wait, [&](int calls) {
        for (int i = 0; i < calls; i += 2) {
            a.wait_stream(b);
            b.wait_stream(a);
        }
    });
    a.wait_stream(b);
    add("wait_stream, elided, across two devices", repeat([&] { a.wait_stream(b); }), host_only);
    add(row::far_launch, repeat([&] { launch(b, Empty{}, dim(1)); }));

    const ScopedStream in_outer{outer};
    const ScopedDevice back{near};
    add(row::far_scope, repeat([&] {
            detail::count_submission(detail::Access::state(outer));
            const ScopedStream in{inner};
        }));
    add(row::far_scope_both, repeat([&] { const ScopedStream in{inner, {.wait_on_exit = true}}; }),
        {.calls = 50, .pairs = 4000, .seconds = 1.0});
    add("ScopedStream of another device, elided wait",
        repeat([&] { const ScopedStream in{inner}; }), host_only);
}

}  // namespace

int main(int argc, char** argv) {
    bench::Report report("bench_costs", argc, argv);
    for (const Device device : bench::chosen_devices(report)) {
        report.attempt(device.name(), [&] {
            const ScopedDevice on{device};
            Rows(report, device, device.is_cuda() ? bench::cuda_peers(device) : bench::cpu_peers())
                .add_all();
            if (device.is_cuda()) bench::add_cuda_rows(report, device);
        });
        const int count = device_count(device.kind());
        if (count < 2) continue;
        report.attempt("two devices", [&] {
            const Device far(device.kind(), (device.index() + 1) % count);
            add_two_devices(report, device, far,
                            device.is_cuda() ? bench::cuda_peers_of_two(device, far)
                                             : bench::Peers{});
        });
    }
    return report.finish();
}
