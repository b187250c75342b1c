// Pools of streams.
#pragma once

#include <cstddef>
#include <memory>

#include <heddle/stream/stream.hpp>

namespace heddle {

/// Options of a StreamPool.
struct StreamPoolOptions {
    int max_streams = 64;  ///< for leases, over all priorities
    int shared = 4;        ///< streams per priority that shared() returns in turn
};

/// Keeps streams of one device for reuse; makes them when first needed.
///
///     StreamPool pool{Device{}, {.max_streams = 16}};
///     StreamPool::Lease mine = pool.lease();  // exclusive until the lease ends
///     fill(mine, x, 1);
///     StreamRef anyone = pool.shared();       // others may use it too
///
/// Leases may outlive the pool; streams of shared() may not. The constructor throws UsageError for
/// options below 1. Thread-safe.
class StreamPool {
public:
    /// Makes an empty pool of `device`, by default the current one.
    explicit StreamPool(Device device = Device(), StreamPoolOptions options = {}, Where where = {});
    ~StreamPool();
    StreamPool(const StreamPool&) = delete;
    StreamPool& operator=(const StreamPool&) = delete;

    /// Exclusive use of a stream until the lease ends. Move-only.
    ///
    /// The stream's work may still be pending when the lease ends. The next lease prefers an idle
    /// stream and takes a busy one only at max_streams, with the failure of its work if that fails.
    /// A stream that has failed, or takes part in a capture, is destroyed instead of reused: no
    /// lease starts in a capture.
    ///
    /// A lease used in an open batch lasts until the batch has sent its work, if the object goes
    /// earlier; that of the batch's first stream, until the batch ends. At max_streams the batch's
    /// own thread may lease such a stream again: its work is recorded after the earlier work.
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
    /// Leases a stream of that priority, clamped to the device's range. Throws UsageError if all
    /// `max_streams` are leased or idle with another priority. Never waits.
    [[nodiscard]] Lease lease(int priority = 0, Where where = {});

    /// Returns a stream that others may use too: `shared` streams of each priority, in turn.
    /// Streams that take part in a capture are returned only to callers whose current stream takes
    /// part in the same capture. Other callers get additional streams in their place.
    StreamRef shared(int priority = 0, Where where = {});

    /// Returns the device of its streams.
    Device device() const noexcept;
    int size() const;    ///< streams made so far
    int leased() const;  ///< leases at present, with those that open batches keep

    /// Returns how many streams of the device can really run concurrently: hardware queues
    /// (CUDA_DEVICE_MAX_CONNECTIONS, 8 unless set) or CPU workers. More streams work, but may wait
    /// for each other through false dependencies.
    int concurrent_queues() const;

private:
    std::shared_ptr<struct StreamPoolState> state_;
};

/// Makes room for `count` more streams on the device at the same time. The CUDA driver has room for
/// some thirty. Making another one blocks until the device is idle, unless as many streams have
/// existed before (H200, driver 580: docs/adr/0202).
///
/// Reserving blocks in the same way: do it before there is work. 128 streams take 4 ms and 70 MB of
/// device memory. Does nothing on CPU devices. Throws UsageError for more than 4096. Thread-safe.
void reserve_streams(Device device, std::size_t count, Where where = {});

}  // namespace heddle
