// CUDA's error log: texts in which the driver explains why a call failed. Drivers of CUDA 12.9 and
// newer pass them to a callback. heddle appends them to its own errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <cuda_runtime_api.h>

namespace heddle::detail::cu {

/// The newest messages that the driver logged on one thread. A ring of fixed size: add() takes no
/// lock and allocates nothing, because it runs within driver calls. For one thread.
class DriverLog {
public:
    static constexpr std::size_t most_messages = 6;
    static constexpr std::size_t most_characters = 222;

    /// Stores a message, without the time and thread before it, instead of the oldest one. Shortens
    /// a long message.
    void add(std::string_view message) noexcept;
    /// Removes all messages. Returns those that explain the newest failure with this code, joined
    /// by "; ", or an empty string if there is none.
    std::string take(int code);

private:
    struct Message {
        std::uint16_t size;
        char text[most_characters];
    };

    Message ring_[most_messages]{};
    std::size_t first_ = 0, count_ = 0;
};

/// Registers the callback, if the driver has a log. Call it once, after load_driver().
void register_driver_log() noexcept;

/// Returns the text for a failure of this thread's newest native call: the text of the code and,
/// in brackets, the messages of CUDA's log. Removes them from the log.
std::string failure_text(cudaError_t code);

}  // namespace heddle::detail::cu
