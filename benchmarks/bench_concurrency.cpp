// The gain of streams, and the cost of waits between devices of different kinds:
//   - small kernels on one stream, and on many by fork_join_n, with a branch for each and with few;
//   - an urgent kernel during a flood of other work, with and without a priority;
//   - launches by 1 to 16 threads at once;
//   - round trips from a device to a CPU stream and back;
//   - many CPU streams that wait for one stalled device stream, to check that no call blocks its
//     caller.
// bench_graphs measures dependent launches, and compares batches with single launches.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <heddle/heddle.hpp>

#include "concurrency/parts.hpp"
#include "concurrency/priorities.hpp"
#include "concurrency/throughput.hpp"
#include "devices.hpp"
#include "spin.hpp"

using namespace heddle;
using bench::now_ns;
using bench::Spin;

namespace {

void small_kernels(bench::Report& report, Device device) {
    const int kernels = 320;
    const std::uint64_t ns = device.is_cuda() ? 50'000 : 20'000;
    const std::string what =
        std::to_string(kernels) + " one-block kernels of " + std::to_string(ns / 1000) + " µs, ";
    const bench::Batches batches{.calls = 1, .pairs = 40, .seconds = 1.0};
    const Stream base{device};
    for (const int streams : {1, 2, 4, 8, 16, 32, 64}) {
        const auto spread = [&] {
            const auto launch_some = [&](StreamRef stream, int count) {
                for (int i = 0; i < count; ++i) launch(stream, Spin{}, dim(1), ns);
            };
            if (streams == 1) launch_some(base, kernels);
            else
                fork_join_n(
                    base, static_cast<std::size_t>(streams),
                    [&](std::size_t, StreamRef stream) { launch_some(stream, kernels / streams); });
            base.synchronize();
        };
        const std::string name =
            what + (streams == 1 ? "one stream" : "fork_join_n on " + std::to_string(streams));
        if (report.wants(name))
            report.compare(name, device.name(), {bench::repeat(spread)},
                           bench::raw_fork_join(device, streams, kernels, ns), batches,
                           bench::in_ms);
    }
    for (const int streams : {4, 8, 16, 32, 64}) {
        const std::string name = what + "fork_join_n dealt on " + std::to_string(streams);
        if (!report.wants(name)) continue;
        const auto deal = [&] {
            fork_join_n(base, kernels,
                        [&](std::size_t, StreamRef stream) { launch(stream, Spin{}, dim(1), ns); },
                        {.streams = static_cast<std::size_t>(streams)});
            base.synchronize();
        };
        report.compare(name, device.name(), {bench::repeat(deal)},
                       bench::raw_dealt(device, streams, kernels, ns), batches, bench::in_ms);
    }
}

/// Returns the CPU device with which `device` exchanges work: if possible, not `device` itself.
Device partner_of(Device device) {
    const int last = device_count(DeviceKind::cpu) - 1;
    return Device(DeviceKind::cpu, device == Device(DeviceKind::cpu, last) ? 0 : last);
}

void round_trips(bench::Report& report, Device device) {
    const Stream near{device}, far{partner_of(device)};
    const auto counter = std::make_shared<std::atomic<long>>(0);
    const auto hop = [&] {
        launch(near, Spin{}, dim(1), std::uint64_t{0});
        far.wait_stream(near);
        launch_host(far, [counter] { counter->fetch_add(1, std::memory_order_relaxed); });
        near.wait_stream(far);
    };
    const std::string suffix = ": kernel, wait, host function on " + far.device().name() + ", wait";
    const bench::Batches batches{.calls = 50, .pairs = 100, .seconds = 2.0};
    const std::string chained = "round trip in a chain" + suffix,
                      alone = "one round trip, run to the end" + suffix,
                      host = "host cost of a round trip" + suffix;
    const bench::Peer raw = bench::raw_round_trips(device);
    report.compare(chained, device.name(), {[&](int calls) {
                       for (int i = 0; i < calls; ++i) hop();
                       near.synchronize();
                   }},
                   raw, batches, bench::in_us);
    report.compare(alone, device.name(), {bench::repeat([&] {
                       hop();
                       near.synchronize();
                   })},
                   raw.side.run ? bench::Peer{raw.name, {bench::repeat([&] { raw.side.run(1); })}}
                                : bench::Peer{},
                   batches, bench::in_us);
    report.compare(host, device.name(), {bench::repeat(hop), [&] { near.synchronize(); }}, {},
                   batches, bench::in_us);
}

/// Stalls a stream until the gate is opened, but for at most two seconds. So a call that waits for
/// the stream is detected, and does not make the program hang.
class Gate {
public:
    void hold(StreamRef stream) {
        launch_host(stream, [state = state_] {
            std::unique_lock lock(state->mutex);
            state->change.wait_for(lock, std::chrono::seconds(2), [&] { return state->open; });
        });
    }
    void open() {
        const std::lock_guard lock(state_->mutex);
        state_->open = true;
        state_->change.notify_all();
    }

private:
    struct State {
        std::mutex mutex;
        std::condition_variable change;
        bool open = false;
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// Calls `f`, and returns its time in µs.
template <class F> double us_of(F&& f) {
    const std::int64_t begin = now_ns();
    f();
    return static_cast<double>(now_ns() - begin) * 1e-3;
}

void held_up(bench::Report& report, Device device, int waiting) {
    const std::string what = std::to_string(waiting) + " CPU streams wait for one stream of " +
                             device.name() + " that is held: ";
    if (!report.wants(what)) return;
    const Device cpu = partner_of(device);
    const Stream warm{device};
    launch(warm, Spin{}, dim(1), std::uint64_t{0});
    warm.synchronize();
    for (const char* time : {"the first time", "again"}) {
        const Stream gate_stream{cpu}, held{device}, other{device};
        std::vector<Stream> waiters;
        for (int i = 0; i < waiting; ++i) waiters.emplace_back(cpu);
        const auto ran = std::make_shared<std::atomic<int>>(0);
        Gate gate;
        gate.hold(gate_stream);
        held.wait_stream(gate_stream);
        launch(held, Spin{}, dim(1), std::uint64_t{0});
        std::vector<double> waits, launches;
        for (const Stream& waiter : waiters) {
            waits.push_back(us_of([&] { waiter.wait_stream(held); }));
            launches.push_back(us_of([&] { launch_host(waiter, [ran] { ran->fetch_add(1); }); }));
        }
        const double other_us = us_of([&] {
            launch(other, Spin{}, dim(1), std::uint64_t{0});
            other.synchronize();
        });
        const bool early = ran->load() != 0;
        const double release_us = us_of([&] {
            gate.open();
            for (const Stream& waiter : waiters) waiter.synchronize();
        });
        const auto add = [&](const char* figure, double us) {
            report.add({.name = what + figure + ", " + time,
                        .device = device.name(),
                        .heddle = us,
                        .unit = "µs"});
        };
        add("longest wait_stream", bench::percentile(waits, 1.0));
        add("median wait_stream", bench::median(waits));
        add("longest launch_host", bench::percentile(launches, 1.0));
        add("launch and synchronize on another stream of the device", other_us);
        add("from opening until all have run", release_us);
        if (ran->load() != waiting)
            throw std::runtime_error("not every waiting stream ran its work");
        if (early)
            std::fprintf(
                stderr,
                "%swork ran before the gate was opened (or it took 2 s and opened itself)\n",
                what.c_str());
    }
}

}  // namespace

int main(int argc, char** argv) {
    bench::Report report("bench_concurrency", argc, argv);
    for (const Device device : bench::chosen_devices(report)) {
        report.attempt("small kernels", [&] { small_kernels(report, device); });
        report.attempt("priorities", [&] { bench::add_priorities(report, device); });
        report.attempt("throughput", [&] { bench::add_throughput(report, device); });
        report.attempt("round trips", [&] { round_trips(report, device); });
        for (const int waiting : {64, 256})
            report.attempt("held up", [&] { held_up(report, device, waiting); });
    }
    return report.finish();
}
