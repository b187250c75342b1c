// Collectives of all devices of one kind, by heddle's copies and kernels. Compares them with NCCL
// if NCCL is found, otherwise with copies without peer access. Rates in GB/s (10^9 bytes) refer to
// one rank's array, for any number of ranks. For small arrays, measures two durations: until the
// call returns, and until the work ends. Set HEDDLE_CPU_DEVICES=4 for several CPU devices.

#include <string>
#include <vector>

#include <heddle/heddle.hpp>

#include "devices.hpp"

using namespace heddle;

namespace {

std::string size_text(std::size_t bytes) {
    return bytes >= (1 << 20) ? std::to_string(bytes >> 20) + " MB"
                              : std::to_string(bytes >> 10) + " KB";
}

/// The arrays and streams for all collectives of one size.
struct Data {
    std::vector<Stream> streams;
    std::vector<Array<float>> x, y;
    std::vector<View<float>> parts;

    Data(const std::vector<Device>& devices, std::size_t bytes) {
        const std::size_t count = bytes / sizeof(float) / devices.size() * devices.size();
        for (const Device d : devices) {
            const std::size_t rank = streams.size(), part = count / devices.size();
            const StreamRef s = streams.emplace_back(d);
            x.push_back(full<float>(s, count, 1));
            y.push_back(full<float>(s, count, 1));
            parts.push_back(x.back().view().subview(rank * part, part));
        }
        synchronize();
    }
    void synchronize() const {
        for (const Stream& s : streams) s.synchronize();
    }
};

using Collective = void (*)(DeviceGroup&, Data&);
struct Named {
    const char* name;
    Collective run;
};
const Named all_collectives[] = {
    {"all_reduce",
     [](DeviceGroup& g, Data& d) { g.all_reduce(d.streams, ReduceOp::max, d.x, d.y); }},
    {"all_reduce in place",
     [](DeviceGroup& g, Data& d) { g.all_reduce(d.streams, ReduceOp::max, d.x); }},
    {"reduce", [](DeviceGroup& g, Data& d) { g.reduce(d.streams, ReduceOp::max, 0, d.x, d.y[0]); }},
    {"reduce_scatter",
     [](DeviceGroup& g, Data& d) { g.reduce_scatter(d.streams, ReduceOp::max, d.x, d.parts); }},
    {"broadcast", [](DeviceGroup& g, Data& d) { g.broadcast(d.streams, 0, d.x); }},
    {"all_gather", [](DeviceGroup& g, Data& d) { g.all_gather(d.streams, d.parts, d.x); }},
};

bench::Side to_the_end(DeviceGroup& group, Data& data, Collective run) {
    return {[&group, &data, run](int calls) {
        for (int i = 0; i < calls; ++i) run(group, data);
        data.synchronize();
    }};
}
bench::Side on_the_host(DeviceGroup& group, Data& data, Collective run) {
    return {[&group, &data, run](int calls) {
                for (int i = 0; i < calls; ++i) run(group, data);
            },
            [&data] { data.synchronize(); }};
}

void measure(bench::Report& report, Device first) {
    std::vector<Device> devices;
    for (const Device d : heddle::devices())
        if (d.kind() == first.kind()) devices.push_back(d);
    const bool has_nccl =
        first.is_cuda() && devices.size() > 1 && nccl_unavailable_reason().empty();
    DeviceGroup ours(devices, {.transport = Transport::copies});
    DeviceGroup theirs(
        devices, {.access = has_nccl, .transport = has_nccl ? Transport::nccl : Transport::copies});
    const char* const peer = has_nccl ? "NCCL" : "without access";
    const std::string on = std::to_string(devices.size()) + " x " + first.name();

    const std::size_t most = report.quick() ? 1 << 20 : first.is_cuda() ? 256 << 20 : 16 << 20;
    for (std::size_t bytes = 4 << 10; bytes <= most; bytes *= 4) {
        Data data(devices, bytes);
        const bool small = bytes <= (256 << 10);
        for (const Named& c : all_collectives) {
            const std::string suffix = std::string(c.name) + ", " + size_text(bytes);
            const bench::Batches batches{
                .calls = small ? 50 : 4, .pairs = 50, .seconds = 0.5, .quick_calls = 2};
            report.compare(suffix, on, to_the_end(ours, data, c.run),
                           {peer, to_the_end(theirs, data, c.run)}, batches,
                           small ? bench::in_us : bench::in_gb_per_s(static_cast<double>(bytes)));
            if (bytes == 4 << 10)
                report.compare(suffix + ", on the host", on, on_the_host(ours, data, c.run),
                               {peer, on_the_host(theirs, data, c.run)}, batches, bench::in_us);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    bench::Report report("bench_collectives", argc, argv);
    bool is_measured = false;
    for (const Device device : bench::chosen_devices(report)) {
        if (device_count(device.kind()) < 2) continue;
        report.attempt("groups of " + device.name(), [&] { measure(report, device); });
        is_measured = true;
    }
    if (is_measured) return report.finish();
    std::printf("a collective needs two devices (HEDDLE_CPU_DEVICES=4 makes four CPU devices)\n");
    return 77;
}
