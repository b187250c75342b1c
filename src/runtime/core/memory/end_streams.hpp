// Streams for the functions that end adopted memory in stream order (ends.hpp).
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "core/stream/returned_streams.hpp"

namespace heddle::detail {

/// Internal streams, cached for reuse by later ends: an end usually costs less than making and
/// closing a stream of a GPU. Thread-safe.
class EndStreams {
public:
    /// Returns a stream without pending work: one of an earlier end, or a new one. Throws if no
    /// stream can be made.
    StreamRecord& take(Device device);
    /// Keeps the stream for a later end. Closes it instead if enough streams are kept, if its work
    /// has failed or may still fail, if it is captured, or if code outside heddle has its handle.
    void give(StreamRecord& stream) noexcept;
    /// Closes the kept streams of the device.
    void trim(Device device) noexcept;

private:
    using Key = std::pair<DeviceKind, int>;
    /// Removes and returns the stream that was returned first, or null.
    StreamRecord* remove_oldest(Device device) noexcept;

    std::mutex mutex_;
    std::map<Key, ReturnedStreams> idle_;
};

/// A stream that is taken from `streams`, and returned by the destructor.
class EndStream {
public:
    EndStream(EndStreams& streams, Device device)
        : streams_(streams), stream_(streams.take(device)) {}
    ~EndStream() { streams_.give(stream_); }
    EndStream(const EndStream&) = delete;
    EndStream& operator=(const EndStream&) = delete;
    StreamRecord& record() const noexcept { return stream_; }
    /// Orders later work of the stream after the users' work. The stream does not inherit the
    /// users' failures: memory is freed after failed work, too.
    void put_behind(std::span<const StreamUse> users) const;

private:
    EndStreams& streams_;
    StreamRecord& stream_;
};

}  // namespace heddle::detail
