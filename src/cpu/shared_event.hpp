// Events of CPU devices shared between processes: a page that all of them map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/seam/completion.hpp"
#include "cpu/shared_file.hpp"

namespace heddle::detail::cpu {

/// A place for one record of a shared event. Movable.
class SharedRecord {
public:
    SharedRecord() noexcept;
    SharedRecord(SharedRecord&&) noexcept;
    /// If the record has not been made, takes its place back.
    ~SharedRecord();
    /// Makes it the event's newest record, reached when `done` completes. Call it once.
    void make(const CompletionRef& done) noexcept;

private:
    friend class SharedEvent;
    struct Reached;
    explicit SharedRecord(std::unique_ptr<Reached> reached) noexcept;
    std::unique_ptr<Reached> reached_;
};

/// The state of a shared event in this process. Thread-safe, except that one event must not be
/// recorded by two threads at once (as with all events).
class SharedEvent {
public:
    explicit SharedEvent(const SourceLocation& where);
    SharedEvent(const SharedFileName& name, const SourceLocation& where);
    SharedFileName name(const SourceLocation& where) const;

    /// A sequence of records that are reached in the order in which they are prepared: those that a
    /// stream's submissions make, or the first, second, ... that each of its graph launches makes.
    struct Sequence {
        std::uint64_t stream_id = 0;
        std::size_t number = 0;
        friend bool operator==(const Sequence&, const Sequence&) = default;
    };
    /// Prepares a record. Throws Unsupported if records of too many sequences are pending.
    SharedRecord prepare(const Sequence& sequence);
    /// Returns a completion of the newest record, made by any process. Returns null if there is
    /// none, or it is reached and did not fail.
    CompletionRef newest();
    /// Returns whether the newest record is reached, or never will be because its process has
    /// ended. failure() then returns its failure, or null.
    bool is_over() const;
    Failure failure() const;

private:
    friend class SharedRecord;
    struct Page;
    struct Watch;
    std::shared_ptr<Watch> watch_;
};

}  // namespace heddle::detail::cpu
