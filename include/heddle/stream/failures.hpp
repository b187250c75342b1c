// Failed work: the streams that it poisoned, and recovery.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include <heddle/device/device.hpp>
#include <heddle/stream/stream.hpp>

namespace heddle HEDDLE_VISIBLE {

/// A stream whose work failed, and the failure.
struct PoisonedStream {
    /// Clear its failure with StreamRef::clear_error().
    StreamRef stream;
    std::string name;            ///< StreamRef::name()
    std::exception_ptr failure;  ///< the exception that synchronize() would throw; not null
};

/// Returns the streams of `device`, or of all devices in use, that are known to be poisoned. Their
/// own work failed, or work that they waited for. Never blocks. Clears nothing, but failures in the
/// list count as reported (ReportHook). Omits destroyed streams and the branches of fork_join.
/// Thread-safe; another thread may destroy or clear a listed stream meanwhile.
[[nodiscard]] std::vector<PoisonedStream> poisoned_streams(Device device);
[[nodiscard]] std::vector<PoisonedStream> poisoned_streams();

/// Waits for all streams of `device`, or of all devices in use, clears their failures and returns
/// them. The streams are usable again. Throws:
/// - UsageError in host functions and while a stream of the device is capturing; nothing is cleared
///   then;
/// - DeviceLost for a lost device, which stays lost. The form for all devices clears the others
///   first, and passes their failures to the report hook.
std::vector<PoisonedStream> clear_errors(Device device, Where where = {});
std::vector<PoisonedStream> clear_errors(Where where = {});

}  // namespace heddle
