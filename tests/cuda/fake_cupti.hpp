// A fake CUPTI for tests without a GPU. A test controls the records that it writes, and their
// delivery.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cuda/cupti/api.hpp"

namespace heddle_test {

/// Only one may exist at a time. Thread-safe, except for the settings.
class FakeCupti {
public:
    FakeCupti();
    ~FakeCupti();
    FakeCupti(const FakeCupti&) = delete;
    FakeCupti& operator=(const FakeCupti&) = delete;

    static heddle::detail::cu::CuptiApi functions();

    // Settings of a test.
    std::map<std::string, CUptiResult> fails;  ///< result of each function, by its name
    CUpti_ActivityKind fails_to_enable = CUPTI_ACTIVITY_KIND_INVALID;
    std::uint64_t now = 1'000'000'000'000;
    bool keeps_incomplete = false;  ///< then only a forced flush delivers incomplete records

    /// Makes a CUDA call on this thread. Returns the number of the call.
    std::uint32_t call();
    /// Same as call(), but tell_call() writes the record of the call's operation later.
    std::uint32_t call_quietly();
    void tell_call(std::uint32_t call, std::uint64_t operation);
    /// Writes a record: the work of this call has run.
    void ran(std::uint32_t call, std::uint64_t start, std::uint64_t end, std::uint64_t node = 0);
    void copied(std::uint32_t call, std::uint32_t runtime_call, std::uint64_t start,
                std::uint64_t end);
    void filled(std::uint32_t call, std::uint64_t start, std::uint64_t end);
    /// Delivers the buffer that is in use.
    void hand_over();
    /// Creates a native node. Its address is its id.
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

    mutable std::mutex mutex_;  ///< guards the members below; not held during calls into heddle
    std::mutex writing_;        ///< locked while a record is written
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
