#include "digest_command.hpp"

#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <heddle/heddle.hpp>
#include <heddle/observe/timeline.hpp>

#include "choose_device.hpp"
#include "digest_pipeline.hpp"
#include "interrupt.hpp"
#include "progress.hpp"
#include "text.hpp"
#include "timeline_command.hpp"
#include "json/json.hpp"

namespace heddle::tool {
namespace {

struct CommandLine {
    std::vector<std::string> files;
    std::string device;
    std::string chunk;
    std::string timeline;  ///< file to write; empty to write none
    std::size_t depth = 0;
    bool serial = false;
    bool json = false;
    bool quiet = false;
};

void complain(std::string_view about, std::string_view reason) {
    std::fflush(stdout);
    fmt::print(stderr, "heddle: {}: {}\n", about.empty() ? "\"\"" : one_line(about),
               one_line(reason));
}

/// Returns an exception's message. If the exception stands for failed work, returns the message of
/// the exception that the failed function threw.
std::string reason_of(std::exception_ptr error) {
    try {
        std::rethrow_exception(std::move(error));
    } catch (const Error& e) {
        if (e.cause() != nullptr) return reason_of(e.cause());
        return e.native_name().empty()
                   ? e.info().message
                   : fmt::format("{} ({}: {})", e.info().message, e.call(), e.native_name());
    } catch (const std::exception& e) {
        return e.what();
    } catch (const Interrupted&) {
        return "interrupted";
    } catch (...) {
        return "unknown failure";
    }
}

/// One run of the command. Processes the files one after the other, in one pipeline.
class DigestRun {
public:
    DigestRun(const CommandLine& options, const std::atomic<int>& signal)
        : options_(options), signal_(signal) {}

    int run() {
        int status = 0;
        const std::optional<Device> device = choose_device(options_.device, status);
        if (!device) return status;
        const std::optional<DigestOptions> pipeline = pipeline_options(*device);
        if (!pipeline) return 1;
        std::optional<timeline::Recording> recording;
        if (!options_.timeline.empty()) recording.emplace();
        for (const std::string& path : options_.files) {
            if (signal_ != 0) break;
            try {
                one_file(path, *pipeline);
            } catch (...) {
                // The failed streams stay poisoned, so the next file needs a new pipeline.
                pipeline_.reset();
                if (signal_ != 0) break;
                complain(path, reason_of(std::current_exception()));
                failed_ = true;
            }
        }
        if (recording) write(*recording);
        if (signal_ != 0) {
            fmt::print(stderr, "heddle: interrupted\n");
            return 128 + signal_;
        }
        if (!options_.quiet && done_ > 0) summarize(*pipeline);
        return failed_ ? 1 : 0;
    }

private:
    void write(const timeline::Recording& recording) {
        try {
            recording.write(options_.timeline);
        } catch (...) {
            complain(options_.timeline, reason_of(std::current_exception()));
            failed_ = true;
        }
    }

    std::optional<DigestOptions> pipeline_options(Device device) const {
        try {
            return DigestOptions{
                .device = device,
                .chunk = options_.chunk.empty()
                             ? default_chunk(device)
                             : static_cast<std::size_t>(*parse_bytes(options_.chunk)),
                .depth = options_.depth == 0 ? default_depth(device) : options_.depth,
                .serial = options_.serial,
                .stop = &signal_,
            };
        } catch (const Error&) {
            complain(device.name(), reason_of(std::current_exception()));
            return std::nullopt;
        }
    }

    void one_file(const std::string& path, const DigestOptions& pipeline) {
        const InputFile file(path);
        const auto start = std::chrono::steady_clock::now();
        if (!pipeline_) pipeline_.emplace(pipeline);
        const std::chrono::duration<double> starting = std::chrono::steady_clock::now() - start;
        DigestResult result;
        {
            ProgressBar bar(!options_.quiet && stderr_is_terminal(), path, file.size());
            result = pipeline_->digest(file, [&](std::uint64_t done) { bar.update(done); });
        }
        result.setup_seconds += starting.count();
        const std::string line =
            options_.json ? json_line(path, result, pipeline) : verity_line(result.digest, path);
        if (std::fputs((line + '\n').c_str(), stdout) < 0 || std::fflush(stdout) != 0)
            throw FileError("the digest could not be written to standard output");
        ++done_;
        bytes_ += result.bytes;
        setup_seconds_ += result.setup_seconds;
        seconds_ += result.seconds;
        busy_ += result.busy;
        readers_ = pipeline_->readers();
    }

    static std::string json_line(const std::string& path, const DigestResult& result,
                                 const DigestOptions& pipeline) {
        const auto seconds = [](double value) { return json::number(value, 6); };
        return json::object({
            {"path", json::string(path)},
            {"digest", json::string("sha256:" + to_hex(result.digest))},
            {"bytes", json::number(result.bytes)},
            {"seconds", seconds(result.seconds)},
            {"busy_seconds", json::object({{"reading", seconds(result.busy.reading)},
                                           {"copying", seconds(result.busy.copying)},
                                           {"hashing", seconds(result.busy.hashing)}})},
            {"setup_seconds", seconds(result.setup_seconds)},
            {"device", json::string(pipeline.device.name())},
            {"chunk", json::number(pipeline.chunk)},
            {"depth", json::number(pipeline.depth)},
            {"serial", json::boolean(pipeline.serial)},
        });
    }

    void summarize(const DigestOptions& pipeline) const {
        const auto percent = [this](double busy) {
            return seconds_ > 0 ? 100 * busy / seconds_ : 0.0;
        };
        const double bytes = static_cast<double>(bytes_);
        // Below 1 MB, a rate would be meaningless.
        const bool long_enough = bytes_ >= 1'000'000 && seconds_ > 0;
        fmt::print(
            stderr,
            "{} bytes in {:.3f} s{} on {} ({} x {} in flight, {} readers{}; set up in {:.3f} s)\n",
            bytes_, seconds_, long_enough ? ": " + rounded_bytes(bytes / seconds_) + "/s" : "",
            pipeline.device.name(), pipeline.depth, exact_bytes(pipeline.chunk), readers_,
            pipeline.serial ? ", serial" : "", setup_seconds_);
        const std::string copying = pipeline.device.is_cpu()
                                        ? "copying not needed"
                                        : fmt::format("copying {:.0f} %", percent(busy_.copying));
        fmt::print(
            stderr,
            "busy: reading {:.0f} %, {}, hashing {:.0f} %; overlap: {:.3f} s of work in {:.3f} s\n",
            percent(busy_.reading), copying, percent(busy_.hashing), busy_.sum(), seconds_);
    }

    const CommandLine& options_;
    const std::atomic<int>& signal_;
    std::optional<DigestPipeline> pipeline_;
    bool failed_ = false;
    std::size_t done_ = 0;
    std::size_t readers_ = 0;
    std::uint64_t bytes_ = 0;
    double setup_seconds_ = 0;
    double seconds_ = 0;
    StageSeconds busy_;
};

std::string check_chunk(const std::string& text) {
    const auto bytes = parse_bytes(text);
    if (!bytes) return "\"" + text + "\" is not a size: write 1048576, 1024K, 64M or 1G";
    if (*bytes == 0) return "the chunk must be positive";
    if (*bytes % sha256_block_bytes != 0) return "the chunk must be a multiple of 4096 bytes";
    if (*bytes > (std::uint64_t{16} << 30)) return "the chunk must be 16G at most";
    return {};
}

std::string check_timeline(const std::string& text) {
    constexpr std::string_view ends[] = {".html", ".svg", ".json", ".trace"};
    return check_name(text, ends);
}

}  // namespace

void add_digest_command(CLI::App& app, int& status) {
    auto options = std::make_shared<CommandLine>();
    CLI::App* command = app.add_subcommand("digest", "Print the fs-verity digest of each file");
    command->footer(
        "Each line is the one that `fsverity digest FILE` prints: SHA-256, 4096-byte "
        "blocks, no salt. Each "
        "file is\n"
        "streamed through the device: read by several threads, copied, and hashed, at "
        "the same time.\n\n"
        "On standard error follow bytes, seconds and rate; how much of the time "
        "reading, copying and hashing "
        "were\n"
        "busy; and their overlap: the seconds of work done in the seconds that passed. "
        "Starting the device "
        "and\n"
        "making buffers is listed separately, as set-up.\n\n"
        "With --json each line is an object: path (bytes that are not UTF-8 as \\udc80 "
        "to \\udcff), digest, "
        "bytes,\n"
        "seconds, busy_seconds (reading, copying, hashing), setup_seconds, device, "
        "chunk, depth, serial.\n\n"
        "Exit status: 0, or 1 if a file could not be processed (the others are) or the "
        "device does not exist, 2 for "
        "wrong\n"
        "usage (also a --device or HEDDLE_DEVICE that is not a device), 130 or 143 when "
        "interrupted. Standard "
        "input and special files are not supported.");
    command->add_option("FILE", options->files, "Regular files")->required()->type_name("");
    command
        ->add_option("--device", options->device,
                     "Where to hash: cuda, cuda:1, cpu, ... (default: HEDDLE_DEVICE, or the first "
                     "GPU, or the CPU)")
        ->type_name("DEVICE");
    command
        ->add_option("--chunk", options->chunk,
                     "Bytes read, copied and hashed at a time: a multiple of 4096, with suffix K, "
                     "M or G if\n"
                     "wanted (default: 32M on a GPU, on a CPU 1M for each worker, 16M at most)")
        ->type_name("BYTES")
        ->check(check_chunk);
    command->add_option("--depth", options->depth, "Chunks in flight (default: 4)")
        ->type_name("N")
        ->check(CLI::Range(2, 64));
    command
        ->add_option("--timeline", options->timeline,
                     "Write what ran when, and why it waited: a .html, .svg, .json or .trace file")
        ->type_name("FILE")
        ->check(check_timeline);
    command->add_flag("--serial", options->serial, "The same work without overlap, for comparison");
    command->add_flag("--json", options->json, "Print a JSON object for each file");
    command->add_flag("--quiet", options->quiet,
                      "No progress bar and no figures; errors are still printed");
    command->callback(
        [options, &status] { status = DigestRun(*options, catch_interrupts()).run(); });
}

}  // namespace heddle::tool
