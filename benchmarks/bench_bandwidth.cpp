// Memory bandwidth, compared with raw calls. Rows: copies between host and device with pinned and
// pageable memory, copies between devices, and a triad (z = x + 3 y) on the device. A GB is 10^9
// bytes. A triad moves three floats for each element. heddle and the raw calls use the same memory,
// except between GPUs, where access depends on the allocator.

#include <algorithm>
#include <string>
#include <vector>

#include <heddle/heddle.hpp>

#include "bandwidth/between.hpp"
#include "bandwidth/parts.hpp"
#include "devices.hpp"

using namespace heddle;
using bench::Direction;

namespace {

struct Triad {
    HEDDLE_FN void operator()(std::size_t i, View<const float> x, View<const float> y,
                              View<float> z) const {
        z[i] = x[i] + 3.0f * y[i];
    }
};

std::string size_text(std::size_t bytes) {
    return bytes >= (1 << 20) ? std::to_string(bytes >> 20) + " MB"
                              : std::to_string(bytes >> 10) + " KB";
}

/// Returns batches that move about 128 MB each, with at most 64 calls.
bench::Batches batches_of(std::size_t bytes) {
    const std::size_t calls =
        std::min<std::size_t>(64, std::max<std::size_t>(1, (128u << 20) / bytes));
    return {.calls = static_cast<int>(calls), .pairs = 50, .seconds = 1.0, .quick_calls = 1};
}

/// Makes `calls` copies on `stream`, and waits for them.
template <class To, class From> bench::Side copies(StreamRef stream, To to, From from) {
    return {[=](int calls) {
        for (int i = 0; i < calls; ++i) copy(stream, to, from);
        stream.synchronize();
    }};
}

std::vector<std::size_t> sizes(bool quick, std::size_t first, std::size_t last) {
    std::vector<std::size_t> all;
    for (std::size_t bytes = first; bytes <= last && (!quick || bytes <= (4u << 20)); bytes *= 4)
        all.push_back(bytes);
    if (all.empty() || (!quick && all.back() != last)) all.push_back(quick ? first : last);
    return all;
}

/// Adds rows for copies between the device and one host array. The array is pinned or pageable.
void host_copies(bench::Report& report, Device device, bool is_pinned,
                 const std::vector<std::size_t>& all) {
    const Stream s{device};
    const std::size_t most = all.back() / sizeof(float);
    Array<float> on_device = zeros<float>(s, most);
    Array<float> host = is_pinned ? pinned<float>(most) : pageable<float>(most);
    s.synchronize();
    std::fill_n(host.data(), most, 1.0f);  // maps the array's pages
    const char* const memory = is_pinned ? "pinned" : "pageable";
    for (const std::size_t bytes : all) {
        const std::size_t count = bytes / sizeof(float);
        const View<float> there = on_device.view().first(count), here = host.view().first(count);
        const std::string suffix = std::string(memory) + ", " + size_text(bytes);
        const auto add = [&](const std::string& name, View<float> to, View<float> from,
                             Direction direction) {
            if (!report.wants(name)) return;
            const bench::Peer peer =
                device.is_cuda()
                    ? bench::raw_copy(device, to.data(), from.data(), bytes, direction, memory)
                    : bench::plain_copy(to.data(), from.data(), bytes);
            report.compare(name, device.name(), copies(s, to, from), peer, batches_of(bytes),
                           bench::in_gb_per_s(static_cast<double>(bytes)));
        };
        add("host to device, " + suffix, there, here, Direction::to_device);
        add("device to host, " + suffix, here, there, Direction::to_host);
    }
}

/// Adds rows for copies of a std::vector, because users often copy memory that heddle did not
/// allocate.
void vector_copies(bench::Report& report, Device device, const std::vector<std::size_t>& all) {
    const Stream s{device};
    const std::size_t most = all.back() / sizeof(float);
    Array<float> on_device = zeros<float>(s, most);
    std::vector<float> host(most, 1.0f);
    s.synchronize();
    for (const std::size_t bytes : all) {
        const std::size_t count = bytes / sizeof(float);
        const View<float> there = on_device.view().first(count), here(host.data(), count);
        const std::string suffix = "std::vector, " + size_text(bytes);
        const auto add = [&](const std::string& name, View<float> to, View<float> from,
                             Direction direction) {
            if (!report.wants(name)) return;
            const bench::Peer peer =
                device.is_cuda()
                    ? bench::raw_copy(device, to.data(), from.data(), bytes, direction, "pageable")
                    : bench::plain_copy(to.data(), from.data(), bytes);
            report.compare(name, device.name(), copies(s, to, from), peer, batches_of(bytes),
                           bench::in_gb_per_s(static_cast<double>(bytes)));
        };
        add("host to device, " + suffix, there, here, Direction::to_device);
        add("device to host, " + suffix, here, there, Direction::to_host);
    }
}

/// Adds a row for copies of pinned memory in both directions at once, on two streams.
void both_ways(bench::Report& report, Device device, std::size_t bytes) {
    const Stream in{device}, out{device};
    const std::size_t count = bytes / sizeof(float);
    Array<float> on_device = zeros<float>(in, 2 * count);
    Array<float> from = pinned<float>(count), to = pinned<float>(count);
    in.synchronize();
    for (Array<float>* host : {&from, &to}) std::fill_n(host->data(), count, 1.0f);
    const View<float> first = on_device.view().first(count), second = on_device.view().last(count);
    report.compare("host to device and device to host at once, pinned, " + size_text(bytes),
                   device.name(), {[&](int calls) {
                       for (int i = 0; i < calls; ++i) {
                           copy(in, first, from);
                           copy(out, to, second);
                       }
                       in.synchronize();
                       out.synchronize();
                   }},
                   device.is_cuda() ? bench::raw_copy_both(device, on_device.data(), to.data(),
                                                           from.data(), bytes)
                                    : bench::Peer{},
                   batches_of(bytes), bench::in_gb_per_s(2.0 * static_cast<double>(bytes)));
}

void device_memory(bench::Report& report, Device device, std::size_t bytes) {
    const Stream s{device};
    const std::size_t count = bytes / sizeof(float);
    Array<float> x = full<float>(s, count, 1.0f), y = full<float>(s, count, 2.0f),
                 z = zeros<float>(s, count);
    s.synchronize();
    const std::string size = ", " + size_text(bytes) + " arrays";
    report.compare("triad" + size, device.name(), {[&](int calls) {
                       for (int i = 0; i < calls; ++i) launch(s, Triad{}, dim(count), x, y, z);
                       s.synchronize();
                   }},
                   device.is_cuda() ? bench::raw_triad(device, count, x.data(), y.data(), z.data())
                                    : bench::plain_triad(count, x.data(), y.data(), z.data()),
                   batches_of(3 * bytes), bench::in_gb_per_s(3.0 * static_cast<double>(bytes)));
    const bench::Peer by_hand = device.is_cuda()
                                    ? bench::raw_copy(device, z.data(), x.data(), bytes,
                                                      Direction::on_device, "on the device")
                                    : bench::plain_copy(z.data(), x.data(), bytes);
    report.compare("copy on the device" + size + ", read and written", device.name(),
                   copies(s, z.view(), x.view()), by_hand, batches_of(bytes),
                   bench::in_gb_per_s(2.0 * static_cast<double>(bytes)));
}

}  // namespace

int main(int argc, char** argv) {
    bench::Report report("bench_bandwidth", argc, argv);
    constexpr std::size_t kb = 1 << 10, mb = 1 << 20;
    const bool quick = report.quick();
    for (const Device device : bench::chosen_devices(report)) {
        // On a CPU device, device memory is host memory, so a few sizes suffice to show a copy's
        // cost.
        const std::size_t last = device.is_cuda() ? 512 * mb : 64 * mb;
        report.attempt("pinned", [&] {
            host_copies(report, device, true, sizes(quick, mb, std::min(last, 256 * mb)));
        });
        report.attempt("pageable",
                       [&] { host_copies(report, device, false, sizes(quick, 64 * kb, last)); });
        report.attempt("vectors",
                       [&] { vector_copies(report, device, sizes(quick, 16 * mb, 64 * mb)); });
        report.attempt("both ways", [&] { both_ways(report, device, quick ? 4 * mb : 64 * mb); });
        for (const std::size_t bytes : {mb, 256 * mb})
            if (!quick || bytes == mb)
                report.attempt("on the device", [&] { device_memory(report, device, bytes); });
        report.attempt("between devices",
                       [&] { bench::add_copies_between(report, device.kind()); });
    }
    return report.finish();
}
