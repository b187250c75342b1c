// Events of CPU devices shared between processes: a page that all of them map.
#pragma once

#include <memory>

#include "core/seam/completion.hpp"
#include "cpu/shared_file.hpp"

namespace heddle::detail::cpu {

/// The state of a shared event in this process. Thread-safe, except that one event must not be
/// recorded by two threads at once (as with all events).
class SharedEvent {
public:
    explicit SharedEvent(const SourceLocation& where);
    SharedEvent(const SharedFileName& name, const SourceLocation& where);
    SharedFileName name(const SourceLocation& where) const;

    /// Makes a record, which is reached when `done` completes. Records with the same `stream_id`
    /// are reached in order; 0 means that the record is ordered with no other. Throws Unsupported
    /// if records are pending on too many streams.
    void record(const CompletionRef& done, std::uint64_t stream_id);
    /// Returns a completion of the newest record, made by any process. Returns null if there is
    /// none, or it is reached and did not fail.
    CompletionRef newest();
    /// Returns whether the newest record is reached, or never will be because its process has
    /// ended. failure() then returns its failure, or null.
    bool is_over() const;
    Failure failure() const;

private:
    struct Page;
    struct Watch;
    std::shared_ptr<Watch> watch_;
};

}  // namespace heddle::detail::cpu
