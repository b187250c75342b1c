#include "digest_pipeline.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace heddle::tool {
namespace {

constexpr std::size_t max_readers = 8;       // each copies about 12 GB/s from the page cache
constexpr std::size_t min_part = 128 << 10;  // smaller parts are not worth a separate reader

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
    // Enough blocks to hash in parallel, and long enough to split among readers.
    if (device.is_cuda()) return 32 << 20;
    // Small, to stay in the caches.
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

DigestPipeline::DigestPipeline(const PipelineOptions& options)
    : options_(options),
      cpu_(options.device.is_cpu() ? options.device : Device(DeviceKind::cpu, 0)),
      copying_(options.device, {.name = "copying"}),
      // More urgent than reading where both run on the same threads, because hashing frees the
      // buffers to read into.
      hashing_(options.device, {.priority = -1, .name = "hashing"}), finishing_(options.device),
      root_(host_memory(hashing_, sha256_bytes)) {
    const std::size_t readers = std::min(max_readers, workers(cpu_));
    for (std::size_t i = 0; i < readers; ++i)
        readers_.push_back(Stream(cpu_, {.name = "reader " + std::to_string(i)}));
}

DigestResult DigestPipeline::digest(const InputFile& file, const Progress& progress) {
    using Clock = std::chrono::steady_clock;
    DigestResult result;
    result.bytes = file.size();
    const Clock::time_point start = Clock::now();
    make_slots(file);
    result.setup_seconds = seconds_since(start);

    reading_.reset();
    const Clock::time_point first = Clock::now();
    Sha256Digest root{};  // zero for an empty file
    if (file.size() > 0) {
        try {
            root = run(file, progress, result.busy);
        } catch (...) {
            drain();
            throw;
        }
    }
    result.digest = verity_digest(file.size(), root);
    result.seconds = seconds_since(first);
    result.busy.reading = reading_.seconds();
    return result;
}

Sha256Digest DigestPipeline::run(const InputFile& file, const Progress& progress,
                                 StageSeconds& busy) {
    DigestTree tree{hashing_, VerityTree(file.size())};
    const std::uint64_t chunks = (file.size() + options_.chunk - 1) / options_.chunk;
    const std::uint64_t ahead = times_.size();
    const auto collect_chunk = [&](std::uint64_t index) {
        collect(times_[index % ahead], busy);
        const Chunk chunk = chunk_at(file, index);
        progress(chunk.offset + chunk.bytes);
    };
    for (std::uint64_t i = 0; i < chunks; ++i) {
        if (i >= ahead) collect_chunk(i - ahead);
        check_stop();
        enqueue(file, chunk_at(file, i), slots_[i % slots_.size()], times_[i % ahead], tree);
    }
    {
        ScopedStream hashing{hashing_};
        record_event(finishing_.begin);
        tree.finish();
        record_event(finishing_.end);
        copy(hashing_, root_, tree.root());
    }
    for (std::uint64_t i = chunks > ahead ? chunks - ahead : 0; i < chunks; ++i) collect_chunk(i);
    hashing_.synchronize();
    busy.hashing += finishing_.seconds();
    Sha256Digest root;
    std::copy(root_.view().begin(), root_.view().end(), root.begin());
    return root;
}

void DigestPipeline::enqueue(const InputFile& file, const Chunk& chunk, Slot& slot, Times& times,
                             DigestTree& tree) {
    ScopedStream reading{slot.reading};
    read(file, chunk, slot);
    end_stage(slot.reading);

    if (options_.device.is_cpu()) {
        // Entering orders it after the reading. Leaving orders the slot's next read after the
        // hashing.
        ScopedStream hashing{hashing_, {.wait_on_exit = true}};
        hash(slot.host.view().first(chunk.padded), times, tree);
        end_stage(hashing_);
        return;
    }
    ScopedStream copying{copying_};
    copy_to_device(chunk, slot, times);
    end_stage(copying_);
    {
        // Ordered after the copying, which continues with the next chunk meanwhile.
        ScopedStream hashing{hashing_};
        hash(slot.device.view().first(chunk.padded), times, tree);
        hashing_.record_event(slot.hashed);
        end_stage(hashing_);
    }
}

/// Reads a chunk in parts, concurrently. Each reader starts when the slot is free, and the slot's
/// stream continues when all are done.
void DigestPipeline::read(const InputFile& file, const Chunk& chunk, Slot& slot) {
    const std::size_t part = std::max(
        round_up(round_up(chunk.bytes, readers_.size()) / readers_.size(), sha256_block_bytes),
        min_part);
    std::size_t used = 0;
    for (std::size_t begin = 0; begin < chunk.bytes; begin += part, ++used) {
        StreamRef reader = readers_[used];
        reader.wait_stream(slot.reading);
        const std::size_t end = std::min(begin + part, chunk.bytes);
        launch_host(reader,
                    [this, &file, begin, end, offset = chunk.offset, to = slot.host.data()] {
                        check_stop();
                        const Busy busy{reading_};
                        file.read(offset + begin, end - begin, to + begin);
                        // Pads the file's last block.
                        const std::size_t padding = round_up(end, sha256_block_bytes) - end;
                        std::memset(to + end, 0, padding);
                    });
    }
    for (std::size_t i = 0; i < used; ++i) slot.reading.wait_stream(readers_[i]);
}

/// Enqueues on copying_, which is current: after the read of the chunk, and after the hashing of
/// the device buffer's previous content. The slot's next read is ordered after it.
void DigestPipeline::copy_to_device(const Chunk& chunk, Slot& slot, Times& times) {
    wait_stream(slot.reading);
    wait_event(slot.hashed);
    record_event(times.copying.begin);
    copy(slot.device.view().first(chunk.padded), slot.host.view().first(chunk.padded));
    record_event(times.copying.end);
    slot.reading.wait_stream(copying_);
}

/// Enqueues on hashing_, which is current.
void DigestPipeline::hash(View<const std::uint8_t> blocks, Times& times, DigestTree& tree) {
    record_event(times.hashing.begin);
    tree.add(blocks);
    record_event(times.hashing.end);
}

/// Waits until a chunk is done and adds its times to `busy`.
void DigestPipeline::collect(Times& times, StageSeconds& busy) const {
    times.hashing.end.synchronize();
    busy.hashing += times.hashing.seconds();
    if (options_.device.is_cuda()) busy.copying += times.copying.seconds();
}

void DigestPipeline::end_stage(StreamRef stream) const {
    if (options_.serial) stream.synchronize();
}

void DigestPipeline::check_stop() const {
    if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed) != 0)
        throw Interrupted{};
}

DigestPipeline::Chunk DigestPipeline::chunk_at(const InputFile& file, std::uint64_t index) const {
    const std::uint64_t offset = index * options_.chunk;
    const auto bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(options_.chunk, file.size() - offset));
    return {offset, bytes, round_up(bytes, sha256_block_bytes)};
}

/// Allocates as many slots as the file can use, and as large. They are kept for the next file.
void DigestPipeline::make_slots(const InputFile& file) {
    const std::uint64_t chunks = (file.size() + options_.chunk - 1) / options_.chunk;
    const auto slots = static_cast<std::size_t>(std::min<std::uint64_t>(chunks, options_.depth));
    while (slots_.size() < slots)
        slots_.push_back({Stream(cpu_, {.name = "reading"}), {}, {}, Event(options_.device)});
    while (times_.size() < 2 * slots) times_.emplace_back(options_.device);
    const std::size_t bytes = slots == 0 ? 0 : chunk_at(file, 0).padded;
    for (std::size_t i = 0; i < slots; ++i) {
        if (slots_[i].host.size() >= bytes) continue;
        slots_[i].host = host_memory(slots_[i].reading, bytes);
        if (options_.device.is_cuda()) slots_[i].device = empty<std::uint8_t>(copying_, bytes);
    }
}

/// Returns memory that both the host and the device reach: pinned memory for a GPU, otherwise
/// memory of the CPU device, allocated on `stream`.
Array<std::uint8_t> DigestPipeline::host_memory(StreamRef stream, std::size_t bytes) const {
    return options_.device.is_cuda() ? pinned<std::uint8_t>(bytes)
                                     : empty<std::uint8_t>(stream, bytes);
}

/// Waits until all enqueued work has ended, failed or not.
void DigestPipeline::drain() noexcept {
    const auto wait_for = [](StreamRef stream) {
        try {
            stream.synchronize();
        } catch (const Error&) {  // the first failure is being thrown already
        }
    };
    for (StreamRef reader : readers_) wait_for(reader);
    for (const Slot& slot : slots_) wait_for(slot.reading);
    wait_for(copying_);
    wait_for(hashing_);
}

}  // namespace heddle::tool
