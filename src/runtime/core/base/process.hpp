// Other processes of this host.
#pragma once

#include <cstdint>

namespace heddle::detail {

/// A process of this host. Process ids are reused, so the start time is part of its identity.
struct Process {
    std::int32_t id = 0;
    std::uint64_t began = 0;  ///< start time as in /proc; 0 if unknown
};

/// Returns this process.
Process this_process();
/// Returns the process that has this id now.
Process process_of(std::int32_t id);
/// Returns whether the process has ended, even if its parent has not reaped it.
bool is_gone(const Process& process);

}  // namespace heddle::detail
