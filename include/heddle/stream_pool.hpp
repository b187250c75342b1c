// Pools of streams.
#pragma once

#include <cstddef>
#include <memory>

#include <heddle/stream.hpp>

namespace heddle {

struct StreamPoolOptions {
    int max_streams = 64;  ///< exclusive leases beyond it throw UsageError
    int shared = 4;        ///< streams that shared() hands out in turn, for each priority
};

/// Streams of one device, made when first needed and kept. Thread-safe. Leases may outlive the pool.
class StreamPool {
public:
    explicit StreamPool(Device device = Device(), StreamPoolOptions options = {},
                        SourceLocation where = SourceLocation::current());
    ~StreamPool();
    StreamPool(const StreamPool&) = delete;
    StreamPool& operator=(const StreamPool&) = delete;

    /// A stream that no one else has until the lease ends. Its returned work need not be done then: the next lease
    /// prefers an idle stream, and takes a busy one only at max_streams (and its failure, should that work fail). A stream
    /// that is returned in a capture in which it takes part is destroyed: no lease begins in a capture.
    class Lease : public StreamRef {
    public:
        Lease() noexcept = default;
        Lease(Lease&& other) noexcept;
        Lease& operator=(Lease&& other) noexcept;
        ~Lease();

    private:
        friend class StreamPool;
        Lease(std::shared_ptr<void> pool, detail::StreamState& state) noexcept;
        std::shared_ptr<void> pool_;
    };
    [[nodiscard]] Lease lease(int priority = 0, SourceLocation where = SourceLocation::current());

    /// A stream that others may have too: `shared` streams of each priority in turn. Those that take part in a capture go to
    /// callers in that capture alone (whose current stream takes part in it); to others go as many more streams as are missing.
    StreamRef shared(int priority = 0, SourceLocation where = SourceLocation::current());

    Device device() const noexcept;
    int size() const;    ///< streams made so far
    int leased() const;  ///< exclusive leases now

    /// How many streams of the device can really run side by side: hardware queues (CUDA_DEVICE_MAX_CONNECTIONS, 8
    /// unless set) or CPU workers. More streams work; they may wait for each other falsely.
    int concurrent_queues() const;

private:
    std::shared_ptr<struct StreamPoolState> state_;
};

/// Makes room for `count` more streams at once on the device. A CUDA driver has room for some thirty; making another one waits until the device is idle, unless
/// as many streams have been there before (H200, driver 580: docs/adr/0202). Reserving waits in the same way: do it before there is work. 128 streams take
/// 4 ms and 70 MB of device memory. Nothing on CPU devices. Thread-safe. Throws UsageError for more than 4096.
void reserve_streams(Device device, std::size_t count, SourceLocation where = SourceLocation::current());

}  // namespace heddle
