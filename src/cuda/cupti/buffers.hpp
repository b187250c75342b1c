// The memory into which CUPTI writes its records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace heddle::detail::cu {

/// A pool of buffers of one size. CUPTI takes one, fills it and completes it; then it is read and
/// given back. Thread-safe: CUPTI calls from threads of its own.
class RecordBuffers {
public:
    static constexpr std::size_t bytes = std::size_t{2} << 20;

    /// At most so many exist at a time.
    explicit RecordBuffers(std::size_t most = 64) : most_(most) {}
    /// Frees those that are here. CUPTI may still have others.
    ~RecordBuffers();
    RecordBuffers(const RecordBuffers&) = delete;
    RecordBuffers& operator=(const RecordBuffers&) = delete;

    struct Filled {
        std::uint8_t* data;
        std::size_t used;  ///< bytes
    };

    /// Returns an empty buffer, or null if there is no memory, or all are in use.
    std::uint8_t* take() noexcept;
    /// Accepts a buffer from CUPTI.
    void complete(std::uint8_t* data, std::size_t used) noexcept;
    /// Returns the buffers that were completed, in that order.
    std::vector<Filled> take_filled();
    /// Takes back a buffer that has been read.
    void give(std::uint8_t* data) noexcept;
    void free_unused() noexcept;
    /// Frees a buffer that belongs to no pool any more.
    static void free(std::uint8_t* data) noexcept;

private:
    const std::size_t most_;
    std::mutex mutex_;  ///< guards what follows
    std::vector<Filled> filled_;
    std::vector<std::uint8_t*> free_;
    std::size_t count_ = 0;  ///< of all that exist
};

}  // namespace heddle::detail::cu
