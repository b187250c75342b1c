#pragma once

// Streams a file through a device: read, copied and hashed chunk by chunk, all three at the same time.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <heddle/heddle.hpp>

#include "busy_clock.hpp"
#include "digest_tree.hpp"
#include "input_file.hpp"
#include "verity.hpp"

namespace heddle::tool {

/// Thrown out of digest() when it was told to stop.
struct Interrupted {};

struct PipelineOptions {
    Device device;          ///< where blocks are hashed
    std::size_t chunk = 0;  ///< bytes read, copied and hashed at a time, a multiple of 4096
    std::size_t depth = 2;  ///< chunks under way at the same time
    bool serial = false;    ///< each stage of each chunk is waited for: the same work without overlap
    const std::atomic<int>* stop = nullptr;  ///< not 0: give up soon (digest() throws Interrupted)
};

/// The chunk and depth that suit a device.
std::size_t default_chunk(Device device);
std::size_t default_depth(Device device);

/// Seconds in which each stage was at work.
struct StageSeconds {
    double reading = 0;
    double copying = 0;  ///< 0 on CPU devices, which hash where the file was read to
    double hashing = 0;
    double sum() const { return reading + copying + hashing; }
    StageSeconds& operator+=(const StageSeconds& other);
};

struct DigestResult {
    Sha256Digest digest{};
    std::uint64_t bytes = 0;
    double setup_seconds = 0;  ///< making buffers; not in `seconds`
    double seconds = 0;        ///< from the first read to the digest
    StageSeconds busy;
};

/// Computes fs-verity digests of files, one at a time, on one device.
///
/// Chunks of the file go round a ring of slots. In each, a chunk is read into pinned memory in several parts
/// side by side, copied to the device, and hashed there. A stage has its streams; that a chunk is read
/// before it is copied, copied before it is hashed, and that no buffer is filled before it is free, is
/// ordered by scopes and events alone. This thread only enqueues, up to two rounds of the ring ahead.
class DigestPipeline {
public:
    explicit DigestPipeline(const PipelineOptions& options);

    using Progress = std::function<void(std::uint64_t bytes_done)>;

    /// The digest of a whole file. Throws what reading threw, inside a WorkFailed, or any other
    /// heddle::Error. After an exception nothing uses the file any more, and this pipeline cannot be used
    /// any more either.
    DigestResult digest(const InputFile& file, const Progress& progress);

    std::size_t readers() const noexcept { return readers_.size(); }

private:
    /// Where a chunk is while it is under way.
    struct Slot {
        Stream reading;              ///< of a CPU device: a chunk's read, from its first part to its last
        Array<std::uint8_t> host;    ///< the chunk as it was read
        Array<std::uint8_t> device;  ///< its copy; empty where the device is a CPU
        Event hashed;                ///< the copy may be overwritten
    };

    /// Two points of a stream, and the time between them.
    struct Interval {
        Event begin, end;
        explicit Interval(Device device);
        double seconds() const { return elapsed_time(begin, end) / 1e3; }
    };

    /// When the device was at a chunk.
    struct Times {
        Interval copying, hashing;
        explicit Times(Device device) : copying(device), hashing(device) {}
    };

    struct Chunk {
        std::uint64_t offset;  ///< in the file
        std::size_t bytes;     ///< the file's last chunk may be shorter
        std::size_t padded;    ///< as whole blocks
    };

    Chunk chunk_at(const InputFile& file, std::uint64_t index) const;
    void make_slots(const InputFile& file);
    Array<std::uint8_t> host_memory(StreamRef stream, std::size_t bytes) const;
    Sha256Digest run(const InputFile& file, const Progress& progress, StageSeconds& busy);
    void enqueue(const InputFile& file, const Chunk& chunk, Slot& slot, Times& times, DigestTree& tree);
    void read(const InputFile& file, const Chunk& chunk, Slot& slot);
    void copy_to_device(const Chunk& chunk, Slot& slot, Times& times);
    void hash(View<const std::uint8_t> blocks, Times& times, DigestTree& tree);
    void collect(Times& times, StageSeconds& busy) const;
    void end_stage(StreamRef stream) const;
    void check_stop() const;
    void drain() noexcept;

    PipelineOptions options_;
    Device cpu_;  ///< where files are read
    std::vector<Stream> readers_;
    Stream copying_;
    Stream hashing_;
    std::vector<Slot> slots_;
    std::vector<Times> times_;  ///< of the chunks enqueued, in a ring
    Interval finishing_;        ///< when the device was at what is left of the tree after the last chunk
    Array<std::uint8_t> root_;  ///< the root hash, back from the device
    BusyClock reading_;
};

}  // namespace heddle::tool
