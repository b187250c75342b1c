// One user of CUPTI: begins to record, reads what CUPTI recorded, and tells observers.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "core/observe/calls.hpp"
#include "cuda/cupti/api.hpp"
#include "cuda/cupti/buffers.hpp"
#include "cuda/cupti/matcher.hpp"

namespace heddle::detail::cu {

/// Thread-safe. CUPTI knows one session at a time.
class CuptiSession {
public:
    explicit CuptiSession(const CuptiApi& functions, std::size_t most_buffers = 64)
        : api_(functions), buffers_(most_buffers) {}
    ~CuptiSession();
    CuptiSession(const CuptiSession&) = delete;
    CuptiSession& operator=(const CuptiSession&) = delete;

    /// Begins to record, until as many calls of end(). Returns "", or why it cannot.
    std::string begin();
    /// Tells observers what is recorded so far, even of what has not ended.
    void end() noexcept;

    void push(std::uint64_t operation) noexcept;
    void pop() noexcept;

    /// Tells observers of what has ended, and reads the clock.
    void tell() noexcept;
    /// For the background: tells what CUPTI has handed over, and once a second does as tell().
    /// Returns whether nothing is recorded any more.
    bool poll() noexcept;
    RecordCounts counts() const noexcept;

private:
    // What CUPTI calls.
    static void CUPTIAPI give_buffer(std::uint8_t** data, std::size_t* size, std::size_t* records);
    static void CUPTIAPI accept_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* data,
                                       std::size_t size, std::size_t used);
    static void CUPTIAPI see_node(void* session, CUpti_CallbackDomain domain, CUpti_CallbackId what,
                                  const void* data);

    // Call these with mutex_ held.
    std::string start();
    void turn_off() noexcept;
    void flush(std::uint32_t flag) noexcept;
    void read(const RecordBuffers::Filled& buffer);
    void read_record(const CUpti_Activity& record);
    void tell_read() noexcept;
    void read_clock(int times) noexcept;

    const CuptiApi api_;
    RecordBuffers buffers_;
    std::atomic<std::uint64_t> dropped_{0}, without_times_{0};
    std::mutex mutex_;  ///< guards what follows; never taken in what CUPTI calls
    int users_ = 0;
    CUpti_SubscriberHandle subscriber_ = nullptr;
    RecordMatcher matcher_;
    std::int64_t began_ = 0;          ///< on CUPTI's clock
    std::int64_t clock_read_ns_ = 0;  ///< on the host's
};

}  // namespace heddle::detail::cu
