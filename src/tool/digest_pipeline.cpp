#include "digest_pipeline.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace heddle::tool {
namespace {

constexpr std::size_t max_readers = 8;       // each reader copies about 12 GB/s from the page cache
constexpr std::size_t min_part = 128 << 10;  // a smaller part is not worth a separate reader

std::size_t workers(Device cpu) {
    return static_cast<std::size_t>(std::max(1, cpu.info().processors));
}

std::size_t round_up(std::size_t value, std::size_t unit) {
    return (value + unit - 1) / unit * unit;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::size_t default_chunk(Device device) {
    // A chunk of 32 MiB has enough blocks to hash in parallel, and is long enough to split among
    // readers.
    if (device.is_cuda()) return 32 << 20;
    // On a CPU, chunks are small, so that they stay in the caches.
    return std::clamp<std::size_t>(workers(device) << 20, 1 << 20, 16 << 20);
}

std::size_t default_depth(Device) { return 4; }

StageSeconds& StageSeconds::operator+=(const StageSeconds& other) {
    reading += other.reading;
    copying += other.copying;
    hashing += other.hashing;
    return *this;
}

DigestPipeline::Interval::Interval(Device device)
    : begin(device, {.timing = true}), end(device, {.timing = true, .blocking = true}) {}

DigestPipeline::DigestPipeline(const DigestOptions& options)
    : options_(options),
      cpu_(options.device.is_cpu() ? options.device : Device(DeviceKind::cpu, 0)),
      reading_(cpu_, {.name = "reading"}), finishing_(options.device),
      root_(options.device.is_cuda() ? pinned<std::uint8_t>(sha256_bytes)
                                     : empty<std::uint8_t>(reading_, sha256_bytes)) {
    const std::size_t readers = std::min(max_readers, workers(cpu_));
    for (std::size_t i = 0; i < readers; ++i)
        readers_.push_back(Stream(cpu_, {.name = "reader " + std::to_string(i)}));
}

DigestPipeline::~DigestPipeline() { wait_for_readers(); }

DigestResult DigestPipeline::digest(const InputFile& file, const Progress& progress) {
    using Clock = std::chrono::steady_clock;
    DigestResult result;
    result.bytes = file.size();
    const Clock::time_point start = Clock::now();
    if (file.size() > 0) make_pipeline(file);
    result.setup_seconds = seconds_since(start);

    reading_clock_.reset();
    const Clock::time_point first = Clock::now();
    Sha256Digest root{};  // zero for an empty file
    if (file.size() > 0) {
        Run streamed{
            .file = file,
            .progress = progress,
            .tree = DigestTree(pipeline_->work_stream(), VerityTree(file.size())),
        };
        try {
            root = run(streamed);
        } catch (...) {
            wait_for_readers();
            pipeline_.reset();  // waits for the chunks in flight
            run_ = nullptr;
            throw;
        }
        result.busy = streamed.busy;
    }
    result.digest = verity_digest(file.size(), root);
    result.seconds = seconds_since(first);
    result.busy.reading = reading_clock_.seconds();
    return result;
}

Sha256Digest DigestPipeline::run(Run& run) {
    run_ = &run;
    const std::uint64_t chunks = chunks_of(run.file);
    while (run.enqueued < chunks) {
        check_stop();
        enqueue(run);
    }
    {
        ScopedStream hashing{pipeline_->work_stream()};
        record_event(finishing_.begin);
        run.tree.finish();
        record_event(finishing_.end);
        copy(pipeline_->work_stream(), root_, run.tree.root());
    }
    wait_for_all();
    run_ = nullptr;
    run.busy.hashing += finishing_.seconds();
    Sha256Digest root;
    const View<const std::uint8_t> result = on_host(std::as_const(root_));
    std::copy(result.begin(), result.end(), root.begin());
    return root;
}

/// Enqueues reading the next chunk. submit() then enqueues its copy and its hashing.
void DigestPipeline::enqueue(Run& run) {
    const Chunk chunk = chunk_at(run.file, run.enqueued);
    read(run.file, chunk, pipeline_->acquire());
    StreamRef copying = pipeline_->copy_in_stream();
    copying.wait_stream(reading_);
    if (options_.device.is_cuda()) copying.record_event(times_of(run.enqueued).copying.begin);
    pipeline_->submit(chunk.padded);
    ++run.enqueued;
}

/// Reads a chunk in parts, concurrently. Work that is enqueued on reading_ later waits for all
/// parts.
void DigestPipeline::read(const InputFile& file, const Chunk& chunk, std::span<std::uint8_t> to) {
    const std::size_t part = std::max(
        round_up(round_up(chunk.bytes, readers_.size()) / readers_.size(), sha256_block_bytes),
        min_part);
    std::size_t used = 0;
    for (std::size_t begin = 0; begin < chunk.bytes; begin += part, ++used) {
        const std::size_t end = std::min(begin + part, chunk.bytes);
        // The zeros that fill the last block.
        const std::size_t padding = round_up(end, sha256_block_bytes) - end;
        const View<std::uint8_t> here = to.subspan(begin, end - begin + padding);
        launch_host(
            readers_[used],
            [this, &file, here, bytes = end - begin, from = chunk.offset + begin] {
                check_stop();
                const Busy busy{reading_clock_};
                file.read(from, bytes, here.data());
                std::memset(here.data() + bytes, 0, here.size() - bytes);
            },
            writes(here));
    }
    for (std::size_t i = 0; i < used; ++i) reading_.wait_stream(readers_[i]);
    end_stage(reading_);
}

/// Hashes a piece on the current stream: the work function of the pipeline. Ignores pieces that
/// were acquired only to allocate their slots.
void DigestPipeline::hash(View<const std::uint8_t> blocks) {
    if (run_ == nullptr) return;
    Times& times = times_of(run_->enqueued);
    if (options_.device.is_cuda()) {
        pipeline_->copy_in_stream().record_event(times.copying.end);
        end_stage(pipeline_->copy_in_stream());
    }
    record_event(times.hashing.begin);
    run_->tree.add(blocks);
    record_event(times.hashing.end);
    end_stage(pipeline_->work_stream());
}

/// Adds the times of a chunk, and reports progress. The pipeline calls this function for each
/// completed chunk, in order.
void DigestPipeline::chunk_done() {
    if (run_ == nullptr) return;
    const Times& times = times_of(run_->done);
    const Chunk chunk = chunk_at(run_->file, run_->done++);
    run_->busy.hashing += times.hashing.seconds();
    if (options_.device.is_cuda()) run_->busy.copying += times.copying.seconds();
    run_->progress(chunk.offset + chunk.bytes);
}

/// Waits for all chunks. Also makes the pipeline call chunk_done() for them.
void DigestPipeline::wait_for_all() {
    pipeline_->work_stream().synchronize();
    pipeline_->acquire();
    pipeline_->submit(0);
}

void DigestPipeline::end_stage(StreamRef stream) const {
    if (options_.serial) stream.synchronize();
}

void DigestPipeline::check_stop() const {
    if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed) != 0)
        throw Interrupted{};
}

std::uint64_t DigestPipeline::chunks_of(const InputFile& file) const {
    return (file.size() + options_.chunk - 1) / options_.chunk;
}

DigestPipeline::Chunk DigestPipeline::chunk_at(const InputFile& file, std::uint64_t index) const {
    const std::uint64_t offset = index * options_.chunk;
    const auto bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(options_.chunk, file.size() - offset));
    return {offset, bytes, round_up(bytes, sha256_block_bytes)};
}

DigestPipeline::Times& DigestPipeline::times_of(std::uint64_t index) {
    return times_[static_cast<std::size_t>(index % pipeline_->depth())];
}

/// Makes a pipeline, unless the current one is large enough for the file. A new pipeline has no
/// more slots than the file can use, and no larger ones.
void DigestPipeline::make_pipeline(const InputFile& file) {
    const std::size_t piece = chunk_at(file, 0).padded;
    const auto depth =
        static_cast<std::size_t>(std::min<std::uint64_t>(chunks_of(file), options_.depth));
    if (pipeline_ && pipeline_->piece() >= piece && pipeline_->depth() >= depth) return;
    pipeline_.reset();  // frees its memory for the new pipeline
    pipeline_.emplace(
        options_.device, [this](StreamRef, View<const std::uint8_t> blocks) { hash(blocks); },
        heddle::PipelineOptions{
            .depth = depth,
            .piece = piece,
            // If hashing and reading use the same threads, hashing has priority: it frees the slots
            // that reading needs.
            .work_priority = -1,
            .name = "digest",
            .progress = [this](std::uint64_t, std::uint64_t) { chunk_done(); },
        });
    while (times_.size() < depth) times_.emplace_back(options_.device);
    // A slot is allocated when it is first used. So all slots are used here, before streaming
    // begins.
    for (std::size_t i = 0; i < depth; ++i) {
        std::ranges::fill(pipeline_->acquire().first(sha256_block_bytes), std::uint8_t{0});
        pipeline_->submit(sha256_block_bytes);
    }
    wait_for_all();
}

/// Waits until all reads have completed or failed.
void DigestPipeline::wait_for_readers() noexcept {
    const auto wait_for = [](StreamRef stream) {
        try {
            stream.synchronize();
        } catch (const Error&) {  // another failure is already being thrown
        }
    };
    for (StreamRef reader : readers_) wait_for(reader);
    wait_for(reading_);
}

}  // namespace heddle::tool
