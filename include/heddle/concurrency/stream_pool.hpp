// Pools of streams.
#pragma once

#include <cstddef>
#include <memory>

#include <heddle/stream/stream.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
struct StreamPoolState;
}

/// Options of a StreamPool.
struct StreamPoolOptions {
    int max_streams = 64;  ///< maximum number of leased and idle streams, over all priorities
    int shared = 4;        ///< streams per priority that shared() returns in turn
};

/// A pool of reusable streams of one device, created on demand.
///
///     StreamPool pool{current_device(), {.max_streams = 16}};
///     StreamPool::Lease mine = pool.lease();  // exclusive until the lease ends
///     fill(mine, x, 1);
///     StreamRef anyone = pool.shared();       // others may use it too
///
/// Order: like a new Stream, a stream of the pool is not ordered with other streams.
///
/// Lifetime: leases may outlive the pool; streams of shared() may not. The destructor does not
/// block, and pending work still completes.
///
/// Errors: the constructor throws UsageError for options below 1. lease() throws UsageError if no
/// stream is left. Thread-safe.
class StreamPool {
public:
    /// Makes an empty pool of `device`, by default the current one.
    explicit StreamPool(Device device = current_device(), StreamPoolOptions options = {},
                        Where where = {});
    ~StreamPool();
    StreamPool(const StreamPool&) = delete;
    StreamPool& operator=(const StreamPool&) = delete;

    /// Exclusive use of a stream until the lease ends. Move-only. A lease that is
    /// default-constructed or moved from is an empty StreamRef. Example and errors: see StreamPool.
    /// Threads: as for a Stream.
    ///
    /// The stream's work may still be pending when the lease ends. The next lease prefers an idle
    /// stream. It reuses a busy stream only at max_streams; if the earlier work fails, the new
    /// lease's stream is poisoned. A stream is destroyed instead of reused if it has failed, if it
    /// takes part in a capture, or if its native handle is known outside heddle. Therefore no lease
    /// starts with a stream in a capture.
    ///
    /// A lease used in an open batch is held until the batch is flushed, even if the Lease object
    /// is destroyed first. The lease of the batch's first stream is held until the batch ends. At
    /// max_streams the batch's own thread may lease such a stream again; the new work is recorded
    /// after the earlier work.
    class Lease : public StreamRef {
    public:
        Lease() noexcept = default;
        Lease(Lease&& other) noexcept;
        Lease& operator=(Lease&& other) noexcept;
        ~Lease();

    private:
        friend detail::Access;
        Lease(std::shared_ptr<void> pool, detail::StreamState& state) noexcept;
        std::shared_ptr<void> pool_;
    };
    /// Leases a stream of this priority, clamped to the device's range. Throws UsageError if all
    /// `max_streams` are leased, or idle with another priority. Never blocks.
    [[nodiscard]] Lease lease(int priority = 0, Where where = {});

    /// Returns one of the `shared` streams of this priority, in turn. Other callers may use it too.
    /// Streams that take part in a capture are returned only to callers whose current stream takes
    /// part in the same capture. Other callers receive additional streams instead.
    StreamRef shared(int priority = 0, Where where = {});

    /// Returns the device of its streams.
    Device device() const noexcept;
    int size() const;    ///< streams that the pool owns now
    int leased() const;  ///< current leases, including those that open batches hold

    /// Returns the number of streams of the device that can run concurrently: hardware queues
    /// (CUDA_DEVICE_MAX_CONNECTIONS, 8 unless set) or CPU workers. More streams are allowed, but
    /// may wait for each other through false dependencies.
    int concurrent_queues() const;

private:
    std::shared_ptr<detail::StreamPoolState> state_;
};

/// Reserves driver resources for `count` more streams on the device. By default the CUDA driver has
/// resources for about thirty streams at a time. Creating one more stream blocks until the device
/// is idle, unless as many streams existed before (H200, driver 580: docs/adr/0202). Graphs that
/// are instantiated need such resources, too.
///
/// This call also blocks until the device is idle, so call it before enqueuing work. 128 streams
/// take 4 ms and 70 MB of device memory. Has no effect on CPU devices. Throws UsageError for more
/// than 4096. Thread-safe.
void reserve_streams(Device device, std::size_t count, Where where = {});

}  // namespace heddle
