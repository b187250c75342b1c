// Stands in CUPTI's place, for tests without a GPU: writes the records that a test asks for, and
// hands them over when it is asked to.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cuda/cupti/api.hpp"

namespace heddle_test {

/// There is one at a time. Thread-safe but for its settings.
class FakeCupti {
public:
    FakeCupti();
    ~FakeCupti();
    FakeCupti(const FakeCupti&) = delete;
    FakeCupti& operator=(const FakeCupti&) = delete;

    static heddle::detail::cu::CuptiApi functions();

    // Settings.
    std::map<std::string, CUptiResult> fails;  ///< what these functions return
    CUpti_ActivityKind fails_to_enable = CUPTI_ACTIVITY_KIND_INVALID;
    std::uint64_t now = 1'000'000'000'000;
    bool keeps_incomplete = false;  ///< only a forced flush hands over what did not end

    /// This thread calls CUDA. Returns the call's number.
    std::uint32_t call();
    /// The same, but the record that names the operation comes with tell_call().
    std::uint32_t call_quietly();
    void tell_call(std::uint32_t call, std::uint64_t operation);
    /// What the call enqueued has run.
    void ran(std::uint32_t call, std::uint64_t start, std::uint64_t end, std::uint64_t node = 0);
    void copied(std::uint32_t call, std::uint32_t runtime_call, std::uint64_t start,
                std::uint64_t end);
    void filled(std::uint32_t call, std::uint64_t start, std::uint64_t end);
    /// Hands over the buffer that is being written.
    void hand_over();
    /// A native node is made, or copied. Its id is its address.
    void make_node(const void* node);
    void copy_node(const void* node, const void* original);

    std::set<CUpti_ActivityKind> enabled() const;
    bool is_subscribed() const;
    std::size_t flushes() const;

private:
    template <class Record> void write(const Record& record);
    void tell_node(CUpti_CallbackId what, const void* node, const void* original);
    CUptiResult result_of(const char* function) const;
    struct Functions;
    friend Functions;

    mutable std::mutex mutex_;  ///< guards what follows; not held while heddle is called
    std::mutex writing_;        ///< held while a record is written
    CUpti_CallbackFunc callback_ = nullptr;
    void* user_ = nullptr;
    CUpti_BuffersCallbackRequestFunc request_ = nullptr;
    CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
    std::set<CUpti_ActivityKind> enabled_;
    std::uint32_t last_call_ = 0;
    std::size_t flushes_ = 0, dropped_ = 0;
    std::uint8_t* buffer_ = nullptr;
    std::size_t size_ = 0, used_ = 0;
};

}  // namespace heddle_test
