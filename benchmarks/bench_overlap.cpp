// The gain of a pipeline. An overlapped Pipeline (copy in, work, copy out) is compared with:
//   - the slowest single stage, where both copies at the same time also count as a stage: the ratio
//     is the pipeline's rate divided by the rate of that stage;
//   - the same stages, one after the other on one stream;
//   - pipelines written by hand, with pinned memory, and with pageable memory without staging;
// for several sizes, depths, and lengths of the work (multiples of the time that a copy takes).
// Also measures input alone, from pinned and pageable memory, and compares it with input through
// the pipeline's own buffers, and with plain copies.

#include <algorithm>
#include <string>
#include <vector>

#include <heddle/heddle.hpp>

#include "devices.hpp"
#include "overlap/stages.hpp"

using namespace heddle;

namespace {

std::string size_text(std::size_t bytes) {
    return bytes >= (1 << 20) ? std::to_string(bytes >> 20) + " MB"
                              : std::to_string(bytes >> 10) + " KB";
}

/// Returns batches of about 1 GB, with 128 to 512 pieces.
bench::Batches batches_of(std::size_t bytes) {
    const std::size_t calls = std::clamp<std::size_t>((1u << 30) / bytes, 128, 512);
    return {.calls = static_cast<int>(calls), .pairs = 50, .seconds = 1.0, .quick_calls = 16};
}

/// Adds two rows for one pipeline. `work` is the text for its work.
void stages(bench::Report& report, Device device, const bench::StageSizes& sizes,
            const std::string& work) {
    bench::Stages by_itself(device, sizes);
    const auto slowest = by_itself.slowest();
    bench::Overlapped overlapped(device, sizes);
    const bench::Unit unit = bench::in_gb_per_s(static_cast<double>(sizes.bytes));
    const std::string suffix = "work of " + work + ", " + size_text(sizes.bytes) + ", depth " +
                               std::to_string(sizes.depth);
    report.compare("beside the slowest stage, " + suffix, device.name(), overlapped.side(),
                   {bench::Stages::names[slowest.stage], by_itself.alone(slowest.stage)},
                   batches_of(sizes.bytes), unit);
    report.compare("beside one after the other, " + suffix, device.name(), overlapped.side(),
                   {"the same stages, serial", by_itself.serial()}, batches_of(sizes.bytes), unit);
}

/// Returns sizes whose work takes `factor` times as long as the slower copy.
bench::StageSizes with_work(Device device, std::size_t bytes, std::size_t depth, int factor) {
    bench::StageSizes sizes{.bytes = bytes, .depth = depth};
    if (factor == 0) return sizes;
    bench::Stages copies(device, sizes);
    const double copying =
        std::max(copies.seconds(bench::Stages::copy_in), copies.seconds(bench::Stages::copy_out));
    sizes.work_ns = static_cast<std::uint64_t>(copying * factor * 1e9);
    return sizes;
}

/// Compares heddle's pipelines, from end to end, with hand-written ones, from pinned and from
/// pageable memory. heddle stages pageable memory.
void sources(bench::Report& report, Device device, std::size_t bytes) {
    const bench::StageSizes sizes = with_work(device, bytes, 6, 1);
    for (const bool is_pinned : {true, false}) {
        const std::string name = std::string("from ") + (is_pinned ? "pinned" : "pageable") +
                                 " memory, work of 1 copies, " + size_text(bytes) + ", depth 6";
        if (!report.wants(name)) continue;
        Array<std::byte> source = is_pinned ? pinned<std::byte>(bytes * sizes.depth)
                                            : pageable<std::byte>(bytes * sizes.depth);
        std::fill(source.begin(), source.end(), std::byte{1});
        bench::Overlapped overlapped(device, sizes);
        report.compare(name, device.name(), overlapped.side_from(source),
                       bench::raw_overlap(device, sizes, is_pinned), batches_of(bytes),
                       bench::in_gb_per_s(static_cast<double>(bytes)));
    }
}

/// Compares two kinds of input without output: sends an array directly, or copies it to the slots'
/// memory on this thread.
void inputs(bench::Report& report, Device device, bool is_pinned, std::size_t bytes) {
    Array<std::byte> source = is_pinned ? pinned<std::byte>(bytes) : pageable<std::byte>(bytes);
    std::fill(source.begin(), source.end(), std::byte{1});
    const PipelineOptions options{.depth = 4, .piece = bytes, .in_place = false};
    const auto nothing = [](StreamRef, View<const std::byte>) {};
    Pipeline<std::byte> direct(device, nothing, options), pushed(device, nothing, options);
    const auto finishing = [](Pipeline<std::byte>& pipeline) {
        return [&pipeline] { pipeline.copy_in_stream().synchronize(); };
    };
    const View<const std::byte> piece = source;
    const std::string name = std::string("input from ") + (is_pinned ? "pinned" : "pageable") +
                             " memory, " + size_text(bytes);
    const bench::Unit unit = bench::in_gb_per_s(static_cast<double>(bytes));
    const bench::Side from_where_it_is{[&](int calls) {
        for (int i = 0; i < calls; ++i) direct.submit(piece);
        finishing(direct)();
    }};
    report.compare(name, device.name(), from_where_it_is,
                   {"push(): through the slots", {[&](int calls) {
                        for (int i = 0; i < calls; ++i) pushed.push({piece.data(), piece.size()});
                        finishing(pushed)();
                    }}},
                   batches_of(bytes), unit);
    if (device.is_cuda())
        report.compare(name, device.name(), from_where_it_is,
                       bench::raw_input(device, bytes, options.depth, is_pinned), batches_of(bytes),
                       unit);
}

}  // namespace

int main(int argc, char** argv) {
    bench::Report report("bench_overlap", argc, argv);
    constexpr std::size_t kb = 1 << 10, mb = 1 << 20;
    for (const Device device : bench::chosen_devices(report)) {
        std::vector<std::size_t> sizes =
            device.is_cuda()
                ? std::vector<std::size_t>{64 * kb, 256 * kb, mb, 4 * mb, 8 * mb, 32 * mb}
                : std::vector<std::size_t>{16 * kb, 64 * kb, 256 * kb, mb, 4 * mb};
        std::vector<std::size_t> depths{1, 2, 3, 4, 8, 6};  // each length of work uses the last
        std::vector<int> factors{0, 1, 3};
        if (report.quick()) sizes = {256 * kb}, depths = {3}, factors = {1};
        const auto row = [&](std::size_t bytes, std::size_t depth, int factor) {
            report.attempt("stages", [&] {
                stages(report, device, with_work(device, bytes, depth, factor),
                       std::to_string(factor) + " copies");
            });
        };
        for (const int factor : factors)
            for (const std::size_t bytes : sizes) row(bytes, depths.back(), factor);
        depths.pop_back();
        for (const std::size_t bytes : sizes)
            for (const std::size_t depth : depths) row(bytes, depth, 1);
        for (const std::size_t bytes : sizes)
            report.attempt("sources", [&] { sources(report, device, bytes); });
        // On CPU devices, work and copies share the processors. So here the work only sleeps: the
        // rest of the time is the cost of the pipeline itself.
        for (const std::uint64_t ms : {std::uint64_t{2}, std::uint64_t{5}})
            if (device.is_cpu() && (!report.quick() || ms == 2))
                report.attempt("rest", [&] {
                    stages(report, device,
                           {.bytes = 4 * mb, .depth = 6, .work_ns = ms * 1'000'000, .rests = true},
                           std::to_string(ms) + " ms of rest");
                });
        for (const bool is_pinned : {true, false})
            for (const std::size_t bytes : sizes)
                report.attempt("inputs", [&] { inputs(report, device, is_pinned, bytes); });
    }
    return report.finish();
}
