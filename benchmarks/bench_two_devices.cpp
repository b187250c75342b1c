// A step of a loop on two devices: each has a strip of a grid, computes its new values, sends a
// halo to the other device, and adds up a norm. Rows for whole steps (launched, in a graph, in a
// batch) and for the parts of a step show the parts that take the time. On CUDA, compares them with
// steps by hand, launched and in a captured graph. Set HEDDLE_CPU_DEVICES=2 for two CPU devices.

#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <heddle/heddle.hpp>

#include "devices.hpp"
#include "two_devices/grid.hpp"
#include "two_devices/parts.hpp"

using namespace heddle;
using bench::Part;
using bench::repeat;

namespace {

struct Relax {
    HEDDLE_FN void operator()(std::size_t i, View<const float> from, View<float> to) const {
        to[bench::columns + i] = bench::relaxed(from.data(), i);
    }
};
struct AddColumns {
    HEDDLE_FN void operator()(std::size_t column, View<const float> before, View<const float> after,
                              View<float> sums) const {
        sums[column] = bench::change_of_column(before.data(), after.data(), column);
    }
};
struct AddNorm {
    HEDDLE_FN void operator()(std::size_t part, View<const float> sums, View<float> norm) const {
        norm[part] = bench::part_of_norm(sums.data(), part);
    }
};

/// The strip of one device, and its stream. grid[now] has the values before a step, and
/// grid[1 - now] those after it.
struct Strip {
    Stream stream;
    std::array<Array<float>, 2> grid;
    Array<float> sums, norm;

    explicit Strip(Device device)
        : stream(device),
          grid{zeros<float>(stream, bench::grid_points), zeros<float>(stream, bench::grid_points)},
          sums(zeros<float>(stream, bench::columns)),
          norm(zeros<float>(stream, bench::norm_parts)) {
        stream.synchronize();
    }

    View<float> row(int which, std::size_t index) {
        return grid[static_cast<std::size_t>(which)].view().subview(index * bench::columns,
                                                                    bench::columns);
    }
    void relax(int now) {
        const auto from = static_cast<std::size_t>(now);
        launch(stream, Relax{}, dim(bench::strip_points), grid[from], grid[1 - from]);
    }
    void add_norm(int now) {
        const auto from = static_cast<std::size_t>(now);
        launch(stream, AddColumns{}, dim(bench::columns), grid[from], grid[1 - from], sums);
        launch(stream, AddNorm{}, dim(bench::norm_parts), sums, norm);
    }
};

/// The strips of both devices. The first device's strip is above the second's.
class Strips {
public:
    Strips(Device first, Device second) : first_(first), second_(second) {
        if (first.can_access_peer(second) && second.can_access_peer(first))
            access_ = std::make_unique<ScopedPoolAccess>(first, second);
    }

    StreamRef stream() const { return first_.stream; }
    void synchronize() const {
        first_.stream.synchronize();
        second_.stream.synchronize();
    }

    void launch_on_second() { second_.relax(0); }
    /// Each wait counts as work of its stream, so none is elided. One call is one event and wait.
    void wait_in_turn(int calls) {
        for (int i = 0; i < calls; i += 2) {
            first_.stream.wait_event(second_.stream.record_event());
            second_.stream.wait_event(first_.stream.record_event());
        }
    }
    void copy_halo(int grid) {
        copy(first_.stream, second_.row(grid, 0), first_.row(grid, bench::rows));
    }
    void add_norm() { first_.add_norm(0); }

    void two_steps() {
        for (const int now : {0, 1}) step(now);
    }
    /// Like two_steps(), but ordered after the first stream's work, and before its later work.
    void joined_steps() {
        second_.stream.wait_stream(first_.stream);
        two_steps();
        first_.stream.wait_stream(second_.stream);
    }

private:
    /// A halo overwrites values that the other device read in the previous step. The waits at the
    /// end of that step order the copy after these reads. The events end with the step, because a
    /// batch turns events that still exist into nodes.
    void step(int now) {
        first_.relax(now);
        copy_halo(1 - now);
        const Event of_first = first_.stream.record_event();
        first_.add_norm(now);
        second_.relax(now);
        copy(second_.stream, first_.row(1 - now, bench::rows + 1), second_.row(1 - now, 1));
        const Event of_second = second_.stream.record_event();
        second_.add_norm(now);
        first_.stream.wait_event(of_second);
        second_.stream.wait_event(of_first);
    }

    Strip first_, second_;
    std::unique_ptr<ScopedPoolAccess> access_;
};

std::string name_of(const std::string& what, bool to_the_end) {
    return what + (to_the_end ? ", run to the end" : ", host time");
}

void parts(bench::Report& report, Device first, Device second) {
    Strips strips(first, second);
    const struct {
        const char* name;
        Part part;
        std::function<void(int)> run;
    } all[] = {
        {"launch on the second device", Part::launch, repeat([&] { strips.launch_on_second(); })},
        {"event and wait across the devices", Part::wait,
         [&](int calls) { strips.wait_in_turn(calls); }},
        {"copy of a halo (4096 floats)", Part::halo, repeat([&] { strips.copy_halo(0); })},
        {"norm (two kernels)", Part::norm, repeat([&] { strips.add_norm(); })},
    };
    for (const bool to_the_end : {false, true})
        for (const auto& part : all) {
            const std::string name =
                name_of(std::string("part of a step on two devices: ") + part.name, to_the_end);
            if (!report.wants(name)) continue;
            report.compare(name, first.name(),
                           {[&](int calls) {
                                part.run(calls);
                                if (to_the_end) strips.synchronize();
                            },
                            [&] { strips.synchronize(); }},
                           bench::raw_part(part.part, first, second, to_the_end),
                           {.calls = 50, .pairs = 1000, .seconds = 1.0}, bench::in_us);
        }
}

/// Adds rows for one way to enqueue two steps. On CUDA, the peers are steps that are launched by
/// hand, and a captured graph of them. `finish` waits for the steps.
void add_way(bench::Report& report, const std::string& way, Strips& strips, Device first,
             Device second, const std::function<void()>& two_steps,
             const std::function<void()>& finish) {
    for (const bool to_the_end : {false, true}) {
        const std::string name = name_of("a step on two devices, " + way, to_the_end);
        if (!report.wants(name)) continue;
        const bench::Side side{[&](int calls) {
                                   for (int i = 0; i < calls; ++i) two_steps();
                                   if (to_the_end) finish();
                               },
                               [&] { strips.synchronize(); }};
        for (const bool in_graph : {false, true})
            if (first.is_cuda() || !in_graph)  // CPU devices have no peer
                report.attempt(name, [&] {
                    report.compare(name, first.name(), side,
                                   bench::raw_steps(first, second, in_graph, to_the_end),
                                   {.calls = 20, .pairs = 400, .seconds = 1.0, .quick_calls = 2},
                                   {"µs", 1e6 / 2, 0});
                });
    }
}

void steps(bench::Report& report, Device first, Device second) {
    Strips strips(first, second);
    const StreamRef stream = strips.stream();
    const auto finish_first = [&] { stream.synchronize(); };
    add_way(
        report, "launched", strips, first, second, [&] { strips.two_steps(); },
        [&] { strips.synchronize(); });

    Graph graph = capture(stream, [&] { strips.joined_steps(); });
    graph.instantiate();
    graph.upload(stream);
    add_way(
        report, "in a captured graph", strips, first, second, [&] { graph.launch(stream); },
        finish_first);

    Batch batch({.on_cpu = true});
    const auto run = [&] { batch.run(stream, [&] { strips.joined_steps(); }); };
    for (int i = 0; i < 2; ++i) run();
    const BatchResult last = batch.last();
    if (last.outcome != BatchOutcome::replayed || last.graphs != 1)
        std::fprintf(stderr, "the batch of two steps was %s, in %zu graphs: %.*s\n",
                     to_string(last.outcome), last.graphs, static_cast<int>(last.why.size()),
                     last.why.data());
    add_way(report, "in a batch", strips, first, second, run, finish_first);
}

}  // namespace

int main(int argc, char** argv) {
    bench::Report report("bench_two_devices", argc, argv);
    bool is_measured = false;
    for (const Device first : bench::chosen_devices(report)) {
        const int count = device_count(first.kind());
        if (count < 2) continue;
        const Device second(first.kind(), (first.index() + 1) % count);
        report.attempt("steps", [&] { steps(report, first, second); });
        report.attempt("parts", [&] { parts(report, first, second); });
        is_measured = true;
    }
    if (is_measured) return report.finish();
    std::printf("two devices are needed (HEDDLE_CPU_DEVICES=2 makes two CPU devices)\n");
    return 77;
}
