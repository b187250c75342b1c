// How much observers cost the calling thread. Compares calls without observers with calls under an
// observer that does nothing, a recording for a timeline, a check, or a watch. Figures are for one
// call. Also measures host loops over arrays that report accesses to a check; these figures are for
// one loop.

#include <optional>
#include <vector>

#include <heddle/heddle.hpp>
#include <heddle/observe/check.hpp>

#include "devices.hpp"
#include "measure.hpp"
#include "observing/host_loops.hpp"
#include "report.hpp"

using namespace heddle;
using bench::keep;
using bench::repeat;

namespace {

struct Quiet final : Observer {
    void on_op(const OpInfo& op) noexcept override { keep(op); }
};

struct ThreeViews {
    HEDDLE_FN void operator()(std::size_t i, View<const float> x, View<const float> y,
                              View<float> z) const {
        z[i] = x[i] + y[i];
    }
};

constexpr bench::Batches enqueuing{.calls = 100, .pairs = 4000, .seconds = 1.0};
constexpr bench::Batches waiting{.calls = 10, .pairs = 1000, .seconds = 1.0};
constexpr bench::Batches host_only{.calls = 2000, .pairs = 1000, .seconds = 0.5};

class Rows {
public:
    Rows(bench::Report& report, Device device) : report_(report), device_(device) {}

    void add_all() {
        const Stream s{device_}, other{device_};
        const Array<float> x = zeros<float>(s, 32), y = zeros<float>(s, 32);
        Array<float> z = zeros<float>(s, 32);
        Event event{device_};
        const auto start = repeat([&] { launch(s, ThreeViews{}, dim(32), x, y, z); });
        add("launch of three views", start, {}, enqueuing);
        add("launch of three views, with times", start, {.times = true}, enqueuing);
        record("launch of three views", start, {}, enqueuing);
        record("launch of three views, without accesses", start, {.accesses = false}, enqueuing);
        record("wait_stream, elided", repeat([&] { other.wait_stream(s); }), {}, enqueuing);
        add("launch_host", repeat([&] { launch_host(s, [] {}); }), {}, enqueuing);
        add("record_event", repeat([&] { s.record_event(event); }), {}, enqueuing);
        add("wait_stream, elided", repeat([&] { other.wait_stream(s); }), {}, host_only);
        check("launch of three views", start, enqueuing);
        check("launch_host", repeat([&] { launch_host(s, [] {}); }), enqueuing);
        check("record_event", repeat([&] { s.record_event(event); }), enqueuing);
        check_among_64_streams();
        // If the watch needs a record of an event, it needs the wait, too.
        watch_calls("launch of three views", start, enqueuing);
        watch_calls("launch_host", repeat([&] { launch_host(s, [] {}); }), enqueuing);
        watch_calls("record_event", repeat([&] { s.record_event(event); }), enqueuing);
        watch_calls("record_event and wait_event", repeat([&] {
                        s.record_event(event);
                        other.wait_event(event);
                    }),
                    enqueuing);
        watch_calls("wait_stream, elided", repeat([&] { other.wait_stream(s); }), host_only);
        watch_calls("launch and synchronize", repeat([&] {
                        start(1);
                        s.synchronize();
                    }),
                    waiting);
    }

    /// Compares host loops that report accesses to a check with loops compiled as in a release.
    void add_host_loops() {
        constexpr std::size_t size = 1000;
        Array<float> x = pinned<float>(size), y = pinned<float>(size);
        for (std::size_t i = 0; i < size; ++i) x[i] = y[i] = 1;
        const bench::Batches loops{.calls = 100, .pairs = 2000, .seconds = 0.5};
        compare_loops("1000 x[i], read", repeat([&] { keep(bench::reported::sum_by_index(x)); }),
                      repeat([&] { keep(bench::unreported::sum_by_index(x)); }), loops);
        compare_loops("1000 x[i] += y[i]", repeat([&] { bench::reported::add_by_index(x, y); }),
                      repeat([&] { bench::unreported::add_by_index(x, y); }), loops);
        compare_loops("a loop over 1000 elements",
                      repeat([&] { keep(bench::reported::sum_by_range(x)); }),
                      repeat([&] { keep(bench::unreported::sum_by_range(x)); }), loops);
    }

    /// Adds the costs of both clocks for a CUDA device: timing events, and CUPTI if it can be used.
    void add_clocks() {
        const Stream s{device_};
        const Array<float> x = zeros<float>(s, 32), y = zeros<float>(s, 32);
        Array<float> z = zeros<float>(s, 32);
        const auto start = [&] { launch(s, ThreeViews{}, dim(32), x, y, z); };
        constexpr int many = 20;
        const auto start_many = [&] {
            for (int i = 0; i < many; ++i) start();
        };
        Graph graph;
        {
            ScopedCapture capture(s);
            start_many();
            graph = capture.end();
        }
        for (const timeline::GpuTimes clock :
             {timeline::GpuTimes::events, timeline::GpuTimes::cupti}) {
            const bool is_cupti = clock == timeline::GpuTimes::cupti;
            if (is_cupti && !can_use_cupti(start)) return;
            const std::string by = is_cupti ? ", by CUPTI" : ", by events";
            const timeline::RecordingOptions options{.gpu_times = clock};
            record_by_clock("launch of three views" + by, repeat(start), options, enqueuing);
            record_by_clock("20 launches and a host wait" + by, repeat([&] {
                                start_many();
                                s.synchronize();
                            }),
                            options, waiting);
            record_by_clock("graph of 20 kernels and a host wait" + by, repeat([&] {
                                graph.launch(s);
                                s.synchronize();
                            }),
                            options, waiting);
        }
    }

private:
    /// Measures the same calls twice: between begin() and end(), as described by `how`, and alone.
    template <class Begin, class End>
    void compare(const std::string& name, const char* how, const std::function<void(int)>& run,
                 Begin begin, End end, const bench::Batches& batches) {
        report_.compare(
            name + ", " + how, device_.name(), {.run = run, .finish = end, .prepare = begin},
            {std::string("not ") + how, {.run = run, .finish = [this] { finish(); }}}, batches);
    }

    void compare_loops(const std::string& name, const std::function<void(int)>& told,
                       const std::function<void(int)>& untold, const bench::Batches& batches) {
        const bench::Peer released{"as released", {.run = untold}};
        report_.compare(name + ", told to nobody", device_.name(), {.run = told}, released,
                        batches);
        report_.compare(
            name + ", checked", device_.name(),
            {.run = told, .finish = [] { check::stop(); }, .prepare = [] { check::start(); }},
            released, batches);
    }

    /// Like record(), but fills no recording before the measurement. Each batch begins after the
    /// first work of its recording has completed.
    void record_by_clock(const std::string& name, const std::function<void(int)>& run,
                         const timeline::RecordingOptions& options, const bench::Batches& batches) {
        std::optional<timeline::Recording> recording;
        const auto begin = [&] {
            recording.emplace(options);
            run(10);
            finish();
        };
        const auto end = [&] {
            finish();
            recording.reset();
        };
        compare(name, "recorded", run, begin, end, batches);
    }

    /// Measures the same calls with and without the watch.
    void watch_calls(const char* name, const std::function<void(int)>& run,
                     const bench::Batches& batches) {
        const auto end = [&] {
            end_watch();
            finish();
        };
        compare(name, "watched", run, [] { watch({.on_signal = false}); }, end, batches);
    }

    void finish() const { synchronize_device(device_); }

    template <class F> bool can_use_cupti(const F& start) {
        const timeline::Recording recording({.gpu_times = timeline::GpuTimes::cupti});
        start();
        synchronize_device(device_);
        return recording.summary().find("CUPTI cannot be used") == std::string::npos;
    }

    /// Measures the same calls with and without an observer.
    void add(const char* name, const std::function<void(int)>& run, ObserverOptions options,
             const bench::Batches& batches) {
        Quiet quiet;
        const auto end = [&] {
            remove_observer(quiet);
            finish();
        };
        compare(name, "observed", run, [&] { add_observer(quiet, options); }, end, batches);
    }

    /// Measures the same calls with and without a recording for a timeline.
    void record(const char* name, const std::function<void(int)>& run,
                timeline::RecordingOptions options, const bench::Batches& batches) {
        options.limit = 10'000;  // is soon full, so it reuses its memory
        std::optional<timeline::Recording> recording(options);
        run(50'000);
        finish();
        recording.reset();
        const auto begin = [&] {
            recording.emplace(options);
            run(10);
        };
        const auto end = [&] {
            finish();
            recording.reset();
        };
        compare(name, "recorded", run, begin, end, batches);
    }

    /// Measures the same calls with and without a check. The check observes `first` before them.
    template <class First>
    void check(const char* name, const std::function<void(int)>& run, First first,
               const bench::Batches& batches) {
        const auto begin = [&] {
            check::start();
            first();
        };
        const auto end = [&] {
            finish();
            check::stop();
        };
        compare(name, "checked", run, begin, end, batches);
    }
    void check(const char* name, const std::function<void(int)>& run,
               const bench::Batches& batches) {
        const auto first = [&] {
            run(10);
            finish();
        };
        check(name, run, first, batches);
    }

    /// Measures records and waits on a stream that has waited for 63 other streams. No host wait
    /// follows, so the check cannot discard its data about these streams.
    void check_among_64_streams() {
        std::vector<Stream> streams;
        for (int k = 0; k < 64; ++k) streams.emplace_back(device_);
        std::vector<Array<float>> x;
        for (const Stream& s : streams) x.push_back(zeros<float>(s, 32));
        const auto all_in_turn = [&] {
            for (std::size_t k = 1; k < streams.size(); ++k) {
                launch(streams[k], ThreeViews{}, dim(32), x[k], x[k], x[k]);
                streams[0].wait_stream(streams[k]);
            }
        };
        check("a round of 63 launches and waits on 64 streams", repeat(all_in_turn), all_in_turn,
              {.calls = 1, .pairs = 2000, .seconds = 1.0});
        Event event{device_};
        check("record_event among 64 streams", repeat([&] { streams[0].record_event(event); }),
              all_in_turn, enqueuing);
        const auto all_but_one = [&] {  // so that each wait inherits the order of the other streams
            all_in_turn();
            streams[0].record_event(event);
        };
        check("wait_event among 64 streams", repeat([&] { streams[1].wait_event(event); }),
              all_but_one, enqueuing);
        finish();
    }

    bench::Report& report_;
    Device device_;
};

}  // namespace

int main(int argc, char** argv) {
    bench::Report report("bench_observing", argc, argv);
    for (const Device device : bench::chosen_devices(report))
        report.attempt(device.name(), [&] {
            Rows rows(report, device);
            rows.add_all();
            if (device.is_cpu()) rows.add_host_loops();
            if (device.is_cuda()) rows.add_clocks();
        });
    return report.finish();
}
