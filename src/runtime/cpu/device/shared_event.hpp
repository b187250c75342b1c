// Events of CPU devices shared between processes through a mapped page.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/seam/completion.hpp"
#include "core/seam/stream_look.hpp"
#include "cpu/device/shared_file.hpp"

namespace heddle::detail::cpu {

/// A reserved slot for one record of a shared event. Movable.
class SharedRecord {
public:
    SharedRecord() noexcept;
    SharedRecord(SharedRecord&&) noexcept;
    /// Releases the slot if make() was not called.
    ~SharedRecord();
    /// Makes its record the event's newest one. The record is reached when `done` completes.
    /// Call once.
    void make(const CompletionRef& done) noexcept;

private:
    friend class SharedEvent;
    struct Reached;
    explicit SharedRecord(std::unique_ptr<Reached> reached) noexcept;
    std::unique_ptr<Reached> reached_;
};

/// The state of a shared event in this process. Thread-safe, but as with any event, only one thread
/// at a time may record it.
class SharedEvent {
public:
    explicit SharedEvent(const SourceLocation& where);
    SharedEvent(const SharedFileName& name, const SourceLocation& where);
    SharedFileName name(const SourceLocation& where) const;

    /// Prepares the event's next record, which marks a submission of the stream. Records of one
    /// stream are reached in the order of preparation, but several records by one submission may be
    /// reached in any order, because threads can wait only for the last one. Throws Unsupported if
    /// records are pending on too many streams.
    SharedRecord prepare(std::uint64_t stream_id);
    /// Returns a completion of the newest record, whichever process made it. Returns null if there
    /// is no record, or if the newest one was reached without failure.
    CompletionRef newest();
    /// Returns true if the newest record has been reached, or can never be reached because its
    /// process has ended. failure() then returns the record's failure, or null.
    bool is_over() const;
    Failure failure() const;

    /// Lists the completions of all shared events that this process waits for. Returns false if the
    /// list is in use by another thread.
    static bool list_waits(std::vector<SharedWait>& to);

private:
    friend class SharedRecord;
    struct Page;
    struct Watch;
    static Watch* watches;
    std::shared_ptr<Watch> watch_;
};

}  // namespace heddle::detail::cpu
