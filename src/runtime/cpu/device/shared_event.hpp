// Events of CPU devices shared between processes through a mapped page.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/seam/completion.hpp"
#include "core/seam/stream_look.hpp"
#include "cpu/device/shared_file.hpp"

namespace heddle::detail::cpu {

/// A place for one record of a shared event. Movable.
class SharedRecord {
public:
    SharedRecord() noexcept;
    SharedRecord(SharedRecord&&) noexcept;
    /// Withdraws the place if the record has not been made.
    ~SharedRecord();
    /// Makes this place the event's newest record. The record is reached when `done` completes.
    /// Call once.
    void make(const CompletionRef& done) noexcept;

private:
    friend class SharedEvent;
    struct Reached;
    explicit SharedRecord(std::unique_ptr<Reached> reached) noexcept;
    std::unique_ptr<Reached> reached_;
};

/// The state of a shared event in this process. Thread-safe, except that, as with all events, only
/// one thread at a time may record an event.
class SharedEvent {
public:
    explicit SharedEvent(const SourceLocation& where);
    SharedEvent(const SharedFileName& name, const SourceLocation& where);
    SharedFileName name(const SourceLocation& where) const;

    /// Prepares a record that a submission of the stream makes. The records of one stream are
    /// reached in the order of preparation. Those of one submission may be reached in any order,
    /// because only the last one can be waited for. Throws Unsupported if records are pending on
    /// too many streams.
    SharedRecord prepare(std::uint64_t stream_id);
    /// Returns a completion of the newest record, made by any process. Returns null if there is no
    /// record, or if it was reached and did not fail.
    CompletionRef newest();
    /// Returns whether the newest record has been reached, or never will be because its process has
    /// ended. failure() then returns its failure, or null.
    bool is_over() const;
    Failure failure() const;

    /// Lists the completions that this process waits for in all shared events. Returns false if the
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
