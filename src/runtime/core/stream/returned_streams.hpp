// Streams that branches or leases have returned, for reuse.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/stream/registry.hpp"

namespace heddle::detail {

struct ReturnedStream {
    StreamRecord* stream = nullptr;
    std::uint64_t base_id = 0;    ///< id of the stream that joined it; 0 if there is none
    std::uint64_t joined_at = 0;  ///< that stream's submissions at the join
};

/// Returned streams, nearly in the order of their return. The oldest stream is the first, because
/// it is the likeliest to be idle. Only the cost of reserve() grows with the number of streams, so
/// a program that once had many streams is not slower for ever. Not thread-safe.
class ReturnedStreams {
public:
    /// The number of streams that are searched in one place.
    static constexpr std::size_t few = 16;

    std::size_t size() const noexcept { return size_; }
    /// Returns the number of streams that fit without another reserve().
    std::size_t capacity() const noexcept { return ring_.size(); }
    /// Reserves room for `count` streams, so that returning them does not allocate.
    void reserve(std::size_t count) {
        if (count <= ring_.size()) return;
        std::vector<ReturnedStream> larger(std::bit_ceil(count));
        for (std::size_t i = 0; i < size_; ++i) larger[i] = (*this)[i];
        ring_.swap(larger);
        first_ = 0;
    }

    ReturnedStream& operator[](std::size_t i) noexcept {
        return ring_[(first_ + i) & (ring_.size() - 1)];
    }
    const ReturnedStream& operator[](std::size_t i) const noexcept {
        return ring_[(first_ + i) & (ring_.size() - 1)];
    }
    /// Adds a stream. Call only if there is room. Marks the stream as closed for its arrays, until
    /// the caller of take() or remove() calls note_back() for it.
    void give(const ReturnedStream& one) noexcept {
        one.stream->note_gone();
        (*this)[size_++] = one;
    }
    StreamRecord& remove(std::size_t i) noexcept {
        StreamRecord& stream = *(*this)[i].stream;
        if (size_ - 1 - i < few) {
            for (; i + 1 < size_; ++i) (*this)[i] = (*this)[i + 1];
        } else {
            if (i >= few) (*this)[i] = (*this)[0];
            else
                for (; i > 0; --i) (*this)[i] = (*this)[i - 1];
            ++first_;
        }
        --size_;
        return stream;
    }

    /// Removes and returns the first stream for which `is_wanted` is true, or returns null.
    /// Searches the few oldest streams, and then a few others, which differ from call to call. So
    /// no stream is skipped for ever while the oldest have long work. Streams for which `is_spoilt`
    /// is true are removed and passed to `drop`.
    template <class IsSpoilt, class Drop, class IsWanted>
    StreamRecord* take(IsSpoilt&& is_spoilt, Drop&& drop, IsWanted&& is_wanted) {
        for (const bool is_oldest : {true, false}) {
            std::size_t i = is_oldest ? 0 : few + next_;
            for (std::size_t looked = 0; looked < few && i < size_; ++looked) {
                StreamRecord& stream = *(*this)[i].stream;
                const bool is_wrong = is_spoilt(stream);
                if (!is_wrong && is_wanted(stream)) {
                    if (!is_oldest) next_ = i - few;
                    return &remove(i);
                }
                // Checks the stream again, because it may have failed since the first check.
                if (is_wrong || is_spoilt(stream)) drop(remove(i));
                else ++i;
            }
            if (!is_oldest) next_ = i < size_ ? i - few : 0;
        }
        return nullptr;
    }

    /// Works like take(), but searches all streams.
    template <class IsSpoilt, class Drop, class IsWanted>
    StreamRecord* take_any(IsSpoilt&& is_spoilt, Drop&& drop, IsWanted&& is_wanted) {
        for (std::size_t i = 0; i < size_;) {
            StreamRecord& stream = *(*this)[i].stream;
            const bool is_wrong = is_spoilt(stream);
            if (!is_wrong && is_wanted(stream)) return &remove(i);
            if (is_wrong || is_spoilt(stream)) drop(remove(i));
            else ++i;
        }
        return nullptr;
    }

private:
    std::vector<ReturnedStream> ring_;  ///< its size is 0, or a power of two
    std::size_t first_ = 0;
    std::size_t size_ = 0;
    std::size_t next_ = 0;  ///< position at which the next take() searches, behind the oldest few
};

}  // namespace heddle::detail
