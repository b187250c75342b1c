// The memory into which CUPTI writes its records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace heddle::detail::cu {

/// A pool of buffers of equal size. CUPTI requests, fills and completes a buffer, which heddle then
/// reads and releases. Thread-safe: CUPTI calls from its own threads.
class RecordBuffers {
public:
    static constexpr std::size_t bytes = std::size_t{2} << 20;

    /// Makes a pool of at most `most` buffers.
    explicit RecordBuffers(std::size_t most = 64) : most_(most) {}
    /// Frees the buffers in the pool. Other buffers may still be in use by CUPTI.
    ~RecordBuffers();
    RecordBuffers(const RecordBuffers&) = delete;
    RecordBuffers& operator=(const RecordBuffers&) = delete;

    struct Filled {
        std::uint8_t* data;
        std::size_t used;  ///< bytes
    };

    /// Returns an empty buffer. Returns null if all buffers are in use, or if out of memory.
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
    std::size_t count_ = 0;  ///< number of existing buffers
};

}  // namespace heddle::detail::cu
