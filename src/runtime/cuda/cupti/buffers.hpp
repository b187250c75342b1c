// The memory into which CUPTI writes its records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace heddle::detail::cu {

/// A pool of buffers of one size. CUPTI requests a buffer, fills it and completes it; then it is
/// read and released. Thread-safe: CUPTI calls from its own threads.
class RecordBuffers {
public:
    static constexpr std::size_t bytes = std::size_t{2} << 20;

    /// Makes a pool of at most `most` buffers.
    explicit RecordBuffers(std::size_t most = 64) : most_(most) {}
    /// Frees the buffers in the pool. CUPTI may still hold others.
    ~RecordBuffers();
    RecordBuffers(const RecordBuffers&) = delete;
    RecordBuffers& operator=(const RecordBuffers&) = delete;

    struct Filled {
        std::uint8_t* data;
        std::size_t used;  ///< bytes
    };

    /// Returns an empty buffer, or null if out of memory, or if all are in use.
    std::uint8_t* take() noexcept;
    /// Accepts a filled buffer from CUPTI.
    void complete(std::uint8_t* data, std::size_t used) noexcept;
    /// Returns the completed buffers, oldest first.
    std::vector<Filled> take_filled();
    /// Releases a buffer that has been read.
    void give(std::uint8_t* data) noexcept;
    void free_unused() noexcept;
    /// Frees a buffer whose pool no longer exists.
    static void free(std::uint8_t* data) noexcept;

private:
    const std::size_t most_;
    std::mutex mutex_;  ///< guards the next members
    std::vector<Filled> filled_;
    std::vector<std::uint8_t*> free_;
    std::size_t count_ = 0;  ///< of all buffers that exist
};

}  // namespace heddle::detail::cu
