#include "cuda/device/driver_log.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "core/base/format.hpp"
#include "cuda/device/driver.hpp"

namespace heddle::detail::cu {

namespace {

/// Returns the message without "[time][thread][CUDA][E]" before it, and without white space around
/// it. Source: CUDA programming guide, error log management.
std::string_view without_prefix(std::string_view message) noexcept {
    while (message.starts_with('[')) {
        const std::size_t end = message.find(']');
        if (end == std::string_view::npos) break;
        message.remove_prefix(end + 1);
    }
    const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\0'; };
    while (!message.empty() && is_space(message.front())) message.remove_prefix(1);
    while (!message.empty() && is_space(message.back())) message.remove_suffix(1);
    return message;
}

/// Returns the code in "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemAlloc", the line that ends
/// the messages of a call. Returns -1 for other messages.
int returned_code(std::string_view message) noexcept {
    constexpr std::string_view begin = "Returning ";
    if (!message.starts_with(begin)) return -1;
    message.remove_prefix(begin.size());
    int code = -1;
    std::from_chars(message.data(), message.data() + message.size(), code);
    return code;
}

constinit thread_local DriverLog log_of_thread;

/// Runs within a driver call, so calls no CUDA and takes no lock.
void CUDA_CB note_message(void*, CUlogLevel level, char* message, std::size_t length) {
    if (level == CU_LOG_LEVEL_ERROR && message != nullptr) log_of_thread.add({message, length});
}

}  // namespace

void DriverLog::add(std::string_view message) noexcept {
    message = without_prefix(message);
    if (message.empty()) return;
    Message& slot = ring_[(first_ + count_) % most_messages];
    if (count_ < most_messages) ++count_;
    else first_ = (first_ + 1) % most_messages;
    slot.size = static_cast<std::uint16_t>(std::min(message.size(), most_characters));
    std::memcpy(slot.text, message.data(), slot.size);
}

std::string DriverLog::take(int code) {
    std::string text;
    bool is_ended = false;  // the messages in `text` are those of a call that has returned
    for (; count_ > 0; --count_, first_ = (first_ + 1) % most_messages) {
        const std::string_view message(ring_[first_].text, ring_[first_].size);
        if (const int returned = returned_code(message); returned >= 0) {
            if (returned != code) text.clear();
            is_ended = true;
            continue;
        }
        if (is_ended) text.clear();
        is_ended = false;
        if (!text.empty()) text += "; ";
        text += message;
    }
    return text;
}

void register_driver_log() noexcept {
    // Never unregistered: the log is kept until the process ends. If the driver refuses, errors
    // have no text of the log.
    CUlogsCallbackHandle handle = nullptr;
    if (api.cuLogsRegisterCallback != nullptr)
        (void)api.cuLogsRegisterCallback(&note_message, nullptr, &handle);
}

std::string failure_text(cudaError_t code) {
    const std::string logged = log_of_thread.take(static_cast<int>(code));
    const char* const text = cudaGetErrorString(code);
    return logged.empty() ? text : formatted("{} (CUDA's log: {})", text, logged);
}

}  // namespace heddle::detail::cu
