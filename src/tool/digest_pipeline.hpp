#pragma once

// Streams a file through a device: chunks are read, copied and hashed concurrently.

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

/// Thrown by digest() when it is told to stop.
struct Interrupted {};

struct PipelineOptions {
    Device device;  ///< where blocks are hashed
    /// Bytes read, copied and hashed at a time; a multiple of 4096.
    std::size_t chunk = 0;
    std::size_t depth = 2;  ///< chunks in flight at the same time
    /// Waits for each stage of each chunk: the same work without overlap.
    bool serial = false;
    /// Once it is not 0, digest() soon throws Interrupted. May be null.
    const std::atomic<int>* stop = nullptr;
};

/// Return the chunk size and depth that suit a device.
std::size_t default_chunk(Device device);
std::size_t default_depth(Device device);

/// Seconds during which each stage was busy.
struct StageSeconds {
    double reading = 0;
    double copying = 0;  ///< 0 on CPU devices, which hash the file where it was read
    double hashing = 0;
    double sum() const { return reading + copying + hashing; }
    StageSeconds& operator+=(const StageSeconds& other);
};

struct DigestResult {
    Sha256Digest digest{};
    std::uint64_t bytes = 0;
    double setup_seconds = 0;  ///< allocating buffers; not part of `seconds`
    double seconds = 0;        ///< from the first read to the digest
    StageSeconds busy;
};

/// Computes fs-verity digests of files, one at a time, on one device.
///
/// Chunks of the file go through a ring of slots. Each chunk is read into pinned memory in several
/// parts concurrently, copied to the device, and hashed there. Each stage has its own streams. Only
/// scopes and events order the stages: a chunk is read before it is copied and copied before it is
/// hashed, and no buffer is refilled before it is free. The calling thread only enqueues, up to two
/// rounds of the ring ahead.
class DigestPipeline {
public:
    explicit DigestPipeline(const PipelineOptions& options);

    using Progress = std::function<void(std::uint64_t bytes_done)>;

    /// Returns the digest of a whole file. Throws what reading threw, wrapped in WorkFailed, or any
    /// other heddle::Error. After an exception nothing uses the file any more, and this pipeline
    /// must not be used again.
    DigestResult digest(const InputFile& file, const Progress& progress);

    std::size_t readers() const noexcept { return readers_.size(); }

private:
    /// The buffers of a chunk in flight.
    struct Slot {
        /// On a CPU device: orders the read of a chunk, from its first part to its last.
        Stream reading;
        Array<std::uint8_t> host;  ///< the chunk as read
        /// Its copy on the device; empty if the device is a CPU.
        Array<std::uint8_t> device;
        Event hashed;  ///< recorded when the copy may be overwritten
    };

    /// Two events on a stream, and the time between them.
    struct Interval {
        Event begin, end;
        explicit Interval(Device device);
        double seconds() const { return elapsed_time(begin, end) / 1e3; }
    };

    /// When the device copied and hashed a chunk.
    struct Times {
        Interval copying, hashing;
        explicit Times(Device device) : copying(device), hashing(device) {}
    };

    struct Chunk {
        std::uint64_t offset;  ///< in the file
        std::size_t bytes;     ///< the file's last chunk may be shorter
        std::size_t padded;    ///< size in whole blocks, in bytes
    };

    Chunk chunk_at(const InputFile& file, std::uint64_t index) const;
    void make_slots(const InputFile& file);
    Array<std::uint8_t> host_memory(StreamRef stream, std::size_t bytes) const;
    Sha256Digest run(const InputFile& file, const Progress& progress, StageSeconds& busy);
    void enqueue(const InputFile& file, const Chunk& chunk, Slot& slot, Times& times,
                 DigestTree& tree);
    void read(const InputFile& file, const Chunk& chunk, Slot& slot);
    void copy_to_device(const Chunk& chunk, Slot& slot, Times& times);
    void hash(View<const std::uint8_t> blocks, Times& times, DigestTree& tree);
    void collect(Times& times, StageSeconds& busy) const;
    void end_stage(StreamRef stream) const;
    void check_stop() const;
    void drain() noexcept;

    PipelineOptions options_;
    Device cpu_;  ///< the device whose streams read files
    std::vector<Stream> readers_;
    Stream copying_;
    Stream hashing_;
    std::vector<Slot> slots_;
    std::vector<Times> times_;  ///< times of the enqueued chunks, in a ring
    /// When the device hashed what was left of the tree after the last chunk.
    Interval finishing_;
    Array<std::uint8_t> root_;  ///< the root hash, copied back from the device
    BusyClock reading_;
};

}  // namespace heddle::tool
