// What is enqueued past a recording: on streams that take no part in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/seam/records.hpp"

namespace heddle::detail {

/// Sees whether streams are given work between two moments. By which thread cannot be seen: a call
/// with a named stream leaves no trace of its thread.
class Elsewhere {
public:
    /// Notes what the open streams have been given, those of this kind of device. Throws
    /// std::bad_alloc.
    void begin(DeviceKind kind);
    /// Returns the name of a stream, other than `without`, that was given something since begin(),
    /// of the first one found; empty if none was, or begin() was not called. Throws std::bad_alloc.
    std::string find(const StreamRecord& without) const;
    bool has_begun() const noexcept { return has_begun_; }
    void end() noexcept { has_begun_ = false; }

private:
    struct Given {
        std::uint64_t id, submissions;
    };
    std::vector<Given> given_;  ///< by id, ascending
    DeviceKind kind_ = DeviceKind::cpu;
    bool has_begun_ = false;
};

}  // namespace heddle::detail
