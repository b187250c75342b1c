// One user of CUPTI: starts recording, reads CUPTI's records, and reports them to observers.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "core/operation/calls.hpp"
#include "cuda/cupti/api.hpp"
#include "cuda/cupti/buffers.hpp"
#include "cuda/cupti/matcher.hpp"

namespace heddle::detail::cu {

/// A session with CUPTI. CUPTI supports one session at a time. Thread-safe.
class CuptiSession {
public:
    explicit CuptiSession(const CuptiApi& functions, std::size_t most_buffers = 64)
        : api_(functions), buffers_(most_buffers) {}
    ~CuptiSession();
    CuptiSession(const CuptiSession&) = delete;
    CuptiSession& operator=(const CuptiSession&) = delete;

    /// Starts recording. Recording ends after as many calls of end() as of begin(). Returns "", or
    /// the reason why recording is impossible.
    std::string begin();
    /// Ends a recording. The last end() reports all records to observers, including those of
    /// unfinished work.
    void end() noexcept;

    void push(std::uint64_t operation) noexcept;
    void pop() noexcept;

    /// Reports finished work to observers, and reads the clock.
    void tell() noexcept;
    /// Call on the background thread. Reports the records that CUPTI has delivered, and once a
    /// second also flushes CUPTI and reads the clock. Returns true once all recordings have ended.
    bool poll() noexcept;
    RecordCounts counts() const noexcept;

private:
    // Callbacks for CUPTI.
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
    std::mutex mutex_;  ///< guards the next members; never locked in callbacks
    int users_ = 0;
    CUpti_SubscriberHandle subscriber_ = nullptr;
    RecordMatcher matcher_;
    std::int64_t began_ = 0;          ///< on CUPTI's clock
    std::int64_t clock_read_ns_ = 0;  ///< on the host's clock
};

}  // namespace heddle::detail::cu
