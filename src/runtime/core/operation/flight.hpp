// The flight recorder: a stream's last operations, for reports of stuck work (docs/adr/0051).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <heddle/location.hpp>
#include <heddle/operation/observer.hpp>

namespace heddle::detail {

/// The description of one operation. Names and files point to texts that live as long as the
/// process or the library that contains them.
struct FlightNote {
    OpKind kind = OpKind::launch;
    const char* name = "";
    SourceLocation where = {};
    /// The number of arrays that it uses.
    std::size_t views = 0;
    /// For waits: StreamState::key of the stream waited for, or 0.
    std::uint64_t other = 0;
    /// The event and its record, for waits and records.
    EventPoint event = {};
    OpMode mode = OpMode::run;
    /// For operations of a collective: the collective's id (see OpInfo). Only the lower half is
    /// stored, which suffices to compare ids.
    std::uint64_t collective = 0;
    std::uint32_t share = 0;
};

/// A note with its position in the stream.
struct FlightEntry : FlightNote {
    /// The position in the stream, as OpInfo::position.
    std::uint64_t position = 0;
    /// The stream's number of submissions when the note was made. For an operation that is a
    /// submission, the operation's own number.
    std::uint64_t submissions = 0;
};

/// The last 64 operations of a stream, a cache line each. All threads may read and write at any
/// time. Lock-free.
class FlightRing {
public:
    static constexpr std::size_t size = 64;

    void put(std::uint64_t position, std::uint64_t submissions, const FlightNote& note) noexcept;
    /// Returns the entries with positions beyond `after`, oldest first. Leaves out entries that are
    /// being written.
    std::vector<FlightEntry> read(std::uint64_t after) const;

private:
    struct alignas(64) Slot {
        std::atomic<std::uint64_t> position{0};  ///< 0 while being written
        std::atomic<const char*> name{nullptr};
        std::atomic<const char*> file{nullptr};
        std::atomic<std::uint64_t> line_and_kinds{0};
        std::atomic<std::uint64_t> submissions{0};
        std::atomic<std::uint64_t> other{0};
        std::atomic<std::uint64_t> event{0};
        std::atomic<std::uint64_t> record_and_collective{0};
    };
    static_assert(sizeof(Slot) == 64);
    Slot slots_[size];
};

}  // namespace heddle::detail
