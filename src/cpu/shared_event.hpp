// Events of CPU devices that several processes record and wait for: a page that all of them map.
#pragma once

#include <memory>

#include "core/completion.hpp"
#include "cpu/shared_file.hpp"

namespace heddle::detail::cpu {

/// Thread-safe, but for two records of one event at the same time (as with all events).
class SharedEvent {
public:
    explicit SharedEvent(const SourceLocation& where);
    SharedEvent(const SharedFileName& name, const SourceLocation& where);
    SharedFileName name(const SourceLocation& where) const;

    /// A record was made; it is reached when `done` is. Records with one `stream_id` are reached one after the other; 0: it is on its own.
    void record(const CompletionRef& done, std::uint64_t stream_id);
    /// A completion of the newest record, whoever made it; null if that is reached and did not fail.
    CompletionRef newest();
    /// Whether the newest record is reached, or never will be; and then, what failed.
    bool is_over() const;
    Failure failure() const;

private:
    struct Page;
    struct Watch;
    std::shared_ptr<Watch> watch_;
};

}  // namespace heddle::detail::cpu
