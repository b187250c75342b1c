#pragma once

// Streams a file through a device: chunks are read, copied and hashed concurrently.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <heddle/heddle.hpp>

#include "busy_clock.hpp"
#include "digest_tree.hpp"
#include "input_file.hpp"
#include "verity.hpp"

namespace heddle::tool {

/// Thrown by digest() when DigestOptions::stop is set.
struct Interrupted {};

struct DigestOptions {
    Device device;  ///< the device that hashes the blocks
    /// The size of a chunk, in bytes; a multiple of 4096.
    std::size_t chunk = 0;
    std::size_t depth = 2;  ///< how many chunks are in flight at the same time
    /// If true, waits for each stage of each chunk. The work is the same, but nothing overlaps.
    bool serial = false;
    /// When the value becomes nonzero, digest() soon throws Interrupted. The pointer may be null.
    const std::atomic<int>* stop = nullptr;
};

/// Returns a suitable chunk size for a device, in bytes.
std::size_t default_chunk(Device device);
/// Returns a suitable number of chunks in flight for a device.
std::size_t default_depth(Device device);

/// The time in which each stage was busy, in seconds.
struct StageSeconds {
    double reading = 0;
    double copying = 0;  ///< 0 on CPU devices, which hash the file's bytes without copying them
    double hashing = 0;
    double sum() const { return reading + copying + hashing; }
    StageSeconds& operator+=(const StageSeconds& other);
};

struct DigestResult {
    Sha256Digest digest{};
    std::uint64_t bytes = 0;
    double setup_seconds = 0;  ///< time to allocate buffers, which is not part of `seconds`
    double seconds = 0;        ///< time from the first read to the digest
    StageSeconds busy;
};

/// Computes fs-verity digests of files, one at a time, on one device.
///
/// A heddle::Pipeline processes the file; each piece is a chunk. Streams of a CPU device read a
/// chunk into the pipeline's memory, in several concurrent parts. The pipeline copies the chunk to
/// the device, and its work function hashes the chunk. The calling thread only enqueues. It waits
/// only while all slots of the pipeline are in use.
class DigestPipeline {
public:
    explicit DigestPipeline(const DigestOptions& options);
    ~DigestPipeline();
    DigestPipeline(const DigestPipeline&) = delete;
    DigestPipeline& operator=(const DigestPipeline&) = delete;

    using Progress = std::function<void(std::uint64_t bytes_done)>;

    /// Returns the digest of a whole file. Throws a read error, wrapped in WorkFailed, or another
    /// heddle::Error. After an exception, no stream reads the file any more, and this pipeline must
    /// not be used again.
    DigestResult digest(const InputFile& file, const Progress& progress);

    std::size_t readers() const noexcept { return readers_.size(); }

private:
    /// Two events on a stream, and the time between them.
    struct Interval {
        Event begin, end;
        explicit Interval(Device device);
        double seconds() const { return elapsed(begin, end).count() / 1e3; }
    };

    /// When the device copied a chunk, and when it hashed the chunk.
    struct Times {
        Interval copying, hashing;
        explicit Times(Device device) : copying(device), hashing(device) {}
    };

    struct Chunk {
        std::uint64_t offset;  ///< in the file
        std::size_t bytes;     ///< size in bytes; the last chunk may be shorter than the others
        std::size_t padded;    ///< size in bytes, rounded up to whole blocks
    };

    /// A file that is being streamed.
    struct Run {
        const InputFile& file;
        const Progress& progress;
        DigestTree tree;
        std::uint64_t enqueued = 0, done = 0;  ///< chunks
        StageSeconds busy = {};
    };

    std::uint64_t chunks_of(const InputFile& file) const;
    Chunk chunk_at(const InputFile& file, std::uint64_t index) const;
    Times& times_of(std::uint64_t index);
    void make_pipeline(const InputFile& file);
    Sha256Digest run(Run& run);
    void enqueue(Run& run);
    void read(const InputFile& file, const Chunk& chunk, std::span<std::uint8_t> to);
    void hash(View<const std::uint8_t> blocks);
    void chunk_done();
    void wait_for_all();
    void end_stage(StreamRef stream) const;
    void check_stop() const;
    void wait_for_readers() noexcept;

    DigestOptions options_;
    Device cpu_;  ///< the device whose streams read files
    std::vector<Stream> readers_;
    Stream reading_;            ///< ordered after all readers of a chunk
    std::vector<Times> times_;  ///< times of the chunks in flight, as a ring
    Interval finishing_;        ///< when the device completed the hash tree
    Array<std::uint8_t> root_;  ///< copy of the root hash on the host
    BusyClock reading_clock_;
    Run* run_ = nullptr;  ///< the file being streamed, or null
    std::optional<Pipeline<std::uint8_t>> pipeline_;
};

}  // namespace heddle::tool
