// What a pipeline gains: copy in, work and copy out of pieces, overlapped (Pipeline) beside
//   - the slowest of the three stages by itself: the ratio is the share of its rate that all together reach;
//   - the same, one after the other on one stream;
// over sizes of pieces, depths, and lengths of the work (a multiple of the time that a copy takes). And pieces from
// pinned beside pieces from pageable memory.

#include <algorithm>
#include <string>
#include <vector>

#include <heddle/heddle.hpp>

#include "devices.hpp"
#include "overlap/stages.hpp"

using namespace heddle;

namespace {

std::string size_text(std::size_t bytes) {
    return bytes >= (1 << 20) ? std::to_string(bytes >> 20) + " MB" : std::to_string(bytes >> 10) + " KB";
}

/// Batches of about 1 GB, of 128 to 512 pieces.
bench::Batches batches_of(std::size_t bytes) {
    const std::size_t calls = std::clamp<std::size_t>((1u << 30) / bytes, 128, 512);
    return {.calls = static_cast<int>(calls), .pairs = 50, .seconds = 1.0, .quick_calls = 16};
}

/// Two rows for one pipeline. `work` names the work.
void stages(bench::Report& report, Device device, const bench::StageSizes& sizes, const std::string& work) {
    bench::Stages by_itself(device, sizes);
    const auto slowest = by_itself.slowest();
    bench::Overlapped overlapped(device, sizes);
    const bench::Unit unit = bench::in_gb_per_s(static_cast<double>(sizes.bytes));
    const std::string tail =
        "work of " + work + ", " + size_text(sizes.bytes) + ", depth " + std::to_string(sizes.depth);
    report.compare(
        "beside the slowest stage, " + tail, device.name(), overlapped.side(),
        {std::string(bench::Stages::names[slowest.stage]) + " alone", by_itself.alone(slowest.stage)},
        batches_of(sizes.bytes), unit);
    report.compare("beside one after the other, " + tail, device.name(), overlapped.side(),
                   {"the same stages, serial", by_itself.serial()}, batches_of(sizes.bytes), unit);
}

/// Work that takes `factor` times as long as the slower copy.
void work_of_copies(bench::Report& report, Device device, std::size_t bytes, std::size_t depth, int factor) {
    bench::StageSizes sizes{.bytes = bytes, .depth = depth};
    const double copying = bench::Stages(device, sizes).slowest().seconds;
    sizes.work_ns = static_cast<std::uint64_t>(copying * factor * 1e9);
    stages(report, device, sizes, std::to_string(factor) + " copies");
}

/// Input only, sent from an array as it is; beside the same through the slots' memory, filled by this thread.
void inputs(bench::Report& report, Device device, bool is_pinned, std::size_t bytes) {
    Array<std::byte> source = is_pinned ? pinned<std::byte>(bytes) : pageable<std::byte>(bytes);
    std::fill(source.begin(), source.end(), std::byte{1});
    const PipelineOptions options{.depth = 4, .piece = bytes, .in_place = false};
    const auto nothing = [](StreamRef, View<const std::byte>) {};
    Pipeline<std::byte> direct(device, nothing, options), pushed(device, nothing, options);
    const auto settled = [](Pipeline<std::byte>& pipeline) {
        return [&pipeline] { pipeline.copy_in_stream().synchronize(); };
    };
    const View<const std::byte> piece = source;
    report.compare(std::string("input from ") + (is_pinned ? "pinned" : "pageable") + " memory, " +
                       size_text(bytes),
                   device.name(), {[&](int calls) {
                       for (int i = 0; i < calls; ++i) direct.submit(piece);
                       settled(direct)();
                   }},
                   {"push(): through the slots", {[&](int calls) {
                        for (int i = 0; i < calls; ++i) pushed.push({piece.data(), piece.size()});
                        settled(pushed)();
                    }}},
                   batches_of(bytes), bench::in_gb_per_s(static_cast<double>(bytes)));
}

}  // namespace

int main(int argc, char** argv) {
    bench::Report report("bench_overlap", argc, argv);
    constexpr std::size_t kb = 1 << 10, mb = 1 << 20;
    for (const Device device : bench::chosen_devices(report)) {
        std::vector<std::size_t> sizes =
            device.is_cuda() ? std::vector<std::size_t>{64 * kb, 256 * kb, mb, 4 * mb, 8 * mb, 32 * mb}
                             : std::vector<std::size_t>{16 * kb, 64 * kb, 256 * kb, mb, 4 * mb};
        const std::size_t usual = device.is_cuda() ? 8 * mb : 256 * kb;
        std::vector<std::size_t> depths{1, 2, 3, 4, 6, 8};
        std::vector<int> factors{0, 1, 3};
        if (report.quick()) sizes = {usual}, depths = {3}, factors = {1};
        const auto row = [&](std::size_t bytes, std::size_t depth, int factor) {
            report.attempt("stages", [&] { work_of_copies(report, device, bytes, depth, factor); });
        };
        for (const int factor : factors)
            for (const std::size_t bytes : sizes) row(bytes, 6, factor);
        for (const std::size_t depth : depths)
            if (depth != 6) row(usual, depth, 1);
        // On CPU devices work and copies share the processors; where the work rests, what is left is the pipeline's own.
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
