// The latency of a request on CPU devices, while streams of the same priority always have work. Run
// it on as many cores as there are workers, because the threads of the peers must share the same
// cores: taskset -c 0,1 build/release/bin/bench_turns.

#include <atomic>
#include <deque>
#include <string>

#include <heddle/heddle.hpp>

#include "devices.hpp"
#include "report.hpp"
#include "spin.hpp"
#include "turns/parts.hpp"

using namespace heddle;

namespace {

class BusyStreams final : public bench::Busy {
public:
    BusyStreams(Device device, int streams, std::uint64_t ns) : ns_(ns), small_(device) {
        for (int i = 0; i < streams; ++i) streams_.emplace_back(device);
    }
    ~BusyStreams() override { end(); }

    void begin() override {
        stop_ = false;
        begun_ = 0;
        // At any time, each stream has four pending operations.
        for (const Stream& stream : streams_)
            for (int i = 0; i < 4; ++i) go_on(stream);
        begun_.wait(0);
        served_ = 0;
    }
    void request() override {
        const int before = served_;
        launch_host(small_, [this] {
            served_.fetch_add(1);
            served_.notify_all();
        });
        served_.wait(before);  // not by synchronize(), which would run the work on this thread
    }
    void end() override {
        stop_ = true;
        for (const Stream& stream : streams_) stream.synchronize();
        small_.synchronize();
    }

private:
    void go_on(StreamRef stream) {
        launch_host(stream, [this, stream] {
            if (stop_) return;
            go_on(stream);
            begun_ = 1;
            begun_.notify_all();
            bench::spin_for(ns_);
        });
    }

    std::uint64_t ns_;
    std::atomic<bool> stop_{false};
    std::atomic<int> begun_{0}, served_{0};
    std::deque<Stream> streams_;
    Stream small_;
};

void requests(bench::Report& report, Device device) {
    const int workers = device.info().processors;
    for (const std::uint64_t ns : {20'000u, 2'000'000u})
        for (const int streams : {workers, 4 * workers}) {
            const std::string name = "a request beside " + std::to_string(streams) +
                                     " busy streams, operations of " +
                                     (ns < 1'000'000 ? std::to_string(ns / 1'000) + " µs"
                                                     : std::to_string(ns / 1'000'000) + " ms");
            if (!report.wants(name)) continue;
            const bench::Side heddle =
                bench::side_of([=] { return new BusyStreams(device, streams, ns); });
            report.compare(name, device.name(), heddle, bench::busy_threads(streams, ns),
                           {.calls = 10, .pairs = 20, .seconds = 10.0, .quick_calls = 2},
                           bench::in_ms);
        }
}

}  // namespace

int main(int argc, char** argv) {
    bench::Report report("bench_turns", argc, argv);
    for (const Device device : bench::chosen_devices(report)) {
        if (!device.is_cpu()) continue;
        report.attempt("requests", [&] { requests(report, device); });
    }
    return report.finish();
}
