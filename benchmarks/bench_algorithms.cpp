// Algorithms: heddle's sort, reduce and scan of floats, compared on CPU devices with those of
// oneTBB and of the standard library, and on GPUs with CUB called by hand. Figures are for one
// call, until its result is available.

#include <cstdint>
#include <string>
#include <vector>

#include <heddle/heddle.hpp>

#include "algorithms/parts.hpp"
#include "devices.hpp"
#include "measure.hpp"
#include "report.hpp"

using namespace heddle;
using bench::Job;

namespace {

struct NamedJob {
    Job job;
    const char* name;
};
constexpr NamedJob jobs[] = {{Job::sort, "sort"},
                             {Job::sort_by_function, "sort by a function"},
                             {Job::reduce, "reduce"},
                             {Job::scan, "inclusive_scan"}};

/// Returns different numbers, in no order.
std::vector<float> numbers(std::size_t size) {
    std::vector<float> made(size);
    std::uint32_t state = 1;
    for (float& one : made) {
        state = state * 1664525 + 1013904223;
        one = static_cast<float>(state >> 8);
    }
    return made;
}

struct NamedSize {
    std::size_t size;
    std::string text;
};

void add_rows(bench::Report& report, Device device, const NamedSize& named) {
    const std::size_t size = named.size;
    const Stream s(device);
    const std::vector<float> in = numbers(size);
    std::vector<float> out(size);
    const Array<float> x = from_host(s, in);
    Array<float> y(s, size);
    s.synchronize();
    const bench::DeviceNumbers on_device{s, x, y};
    for (const NamedJob& one : jobs) {
        const Job job = one.job;
        const auto add = [&](const bench::Side& heddle, const bench::Peer& peer) {
            const std::string row =
                std::string(one.name) + " of " + named.text + " (" + peer.name + ")";
            const int calls = job == Job::reduce && size < 100'000 ? 50 : 1;
            report.compare(row, device.name(), heddle, peer,
                           {.calls = calls, .pairs = 300, .seconds = 2.0, .quick_calls = 1},
                           bench::in_us);
        };
        if (device.is_cuda()) {
            add(bench::algorithm_on_gpu(job, on_device),
                {"CUB", bench::algorithm_by_cub(job, on_device)});
            continue;
        }
        const bench::Side heddle = bench::algorithm_on_cpu(job, on_device);
        const std::vector<bench::Peer> peers = bench::host_algorithms(job, {in, out});
        for (const bench::Peer& peer : peers) add(heddle, peer);
        if (peers.empty()) add(heddle, {"no peer", {}});
    }
}

}  // namespace

int main(int argc, char** argv) {
    bench::Report report("bench_algorithms", argc, argv);
    std::vector<NamedSize> sizes{{4096, "4 K"}, {65'536, "64 K"}, {1'000'000, "1 M"}};
    if (!report.quick()) {
        sizes.push_back({16'000'000, "16 M"});
        sizes.push_back({100'000'000, "100 M"});
    }
    for (const Device device : bench::chosen_devices(report))
        for (const NamedSize& one : sizes)
            report.attempt(device.name(), [&] { add_rows(report, device, one); });
    return report.finish();
}
