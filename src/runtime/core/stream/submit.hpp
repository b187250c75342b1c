// The one way to enqueue work. submit() checks whether the stream accepts the work, and notes the
// arrays that the work uses. Then it lets a capture or batch record the work, or enqueues it, and
// reports it to the watch and observers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <type_traits>

#include <heddle/memory/detail/block.hpp>
#include <heddle/operation/observer.hpp>
#include <heddle/stream/detail/stream_state.hpp>

#include "core/base/report.hpp"
#include "core/stream/elsewhere.hpp"
#include "core/stream/notify.hpp"

namespace heddle::detail {

/// An array that work uses. MemoryArgument has the same members.
struct ArrayUse {
    Block* block;  ///< null if the memory is not heddle's
    bool writes;
};
/// The argument for work that uses no array.
inline constexpr std::span<const ArrayUse> no_uses{};

inline void note_used(StreamState& stream, Block* block) { note_use(block, stream); }
template <class Use> void note_used(StreamState& stream, const Use& use) {
    note_use(use.block, stream, use.writes);
}

/// Checks whether a stream accepts work, and notes the stream as a user of the arrays that the work
/// uses. Notes it even if the work is dropped, because later users of these arrays must inherit the
/// stream's failure (docs/adr/0056). `uses`: a range of ArrayUse, MemoryArgument, or blocks that
/// may be written. Throws for dead and forked streams and lost devices. Functions that enqueue work
/// call submit() instead.
template <class Uses>
inline Admission admit(StreamState& stream, const char* call, const Uses& uses,
                       const SourceLocation& where) {
    Admission admission = Admission::enqueued;
    const std::uint32_t slow =
        stream.flags.load(std::memory_order_relaxed) & stream_flag::slow_submit;
    if (slow != 0) [[unlikely]]
        // A stream that is only recorded has nothing that admit_slowly() would check.
        admission = slow == stream_flag::recording ? Admission::recorded
                                                   : admit_slowly(stream, call, where);
    if (lookouts != 0 && admission == Admission::enqueued) [[unlikely]]
        note_elsewhere(stream);
    for (const auto& use : uses) note_used(stream, use);
    return admission;
}

/// An operation, for errors and observers.
template <class Name> struct Operation {
    OpKind kind;
    const char* call;  ///< the public function, also for work that is dropped
    /// For observers: a text, or a function that returns it once the work is enqueued.
    Name name;
    const SourceLocation& where;
    std::size_t views = 0;  ///< number of views reported to the watch
};
template <class Name>
Operation(OpKind, const char*, Name, const SourceLocation&) -> Operation<Name>;
template <class Name>
Operation(OpKind, const char*, Name, const SourceLocation&, std::size_t) -> Operation<Name>;

/// Reports a recorded or enqueued operation to observers if there are any, otherwise to the watch
/// if there is one. `describe(op, f)` completes the description, and calls f() while the
/// description's references are valid. Reports exceptions of describe().
template <class Name, class Describe>
[[gnu::cold, gnu::noinline]] void tell(StreamState& stream, const Operation<Name>& operation,
                                       bool is_recorded, const Describe& describe) noexcept try {
    const auto name = [&]() -> const char* {
        if constexpr (std::is_invocable_v<Name>) return operation.name();
        else return operation.name;
    };
    if (is_observed()) {
        OpInfo op{.kind = operation.kind, .name = name(), .where = operation.where};
        describe(op, [&] { complete_and_notify_on(stream, op, is_recorded); });
    } else if (has_watch()) {
        note_flight(stream,
                    {.kind = operation.kind,
                     .name = name(),
                     .where = operation.where,
                     .views = operation.views},
                    is_recorded);
    }
} catch (...) {
    report(std::current_exception());  // no memory
}

/// The outcome of a submission.
enum class Submitted : std::uint8_t { dropped, recorded, enqueued };

/// Whether submit() checks for observers. `nobody`: the caller has checked that there are none.
enum class Telling : bool { asked, nobody };

/// Submits an operation whose arguments have been checked. Drops it if the stream has failed.
/// `uses`: as for admit(). `record()` records the operation if a capture or batch records the
/// stream, and returns whether it did; otherwise `enqueue()` enqueues the operation. Both may
/// block. If one throws, nothing is reported. `describe`: see the function above.
template <Telling telling = Telling::asked, class Name, class Uses, class Record, class Enqueue,
          class Describe>
[[gnu::always_inline]] inline Submitted submit(StreamState& stream,
                                               const Operation<Name>& operation, const Uses& uses,
                                               const Record& record, const Enqueue& enqueue,
                                               const Describe& describe) {
    const Admission admission = admit(stream, operation.call, uses, operation.where);
    if (admission == Admission::dropped) [[unlikely]]
        return Submitted::dropped;
    const bool is_recorded = admission == Admission::recorded && record();
    if (!is_recorded) enqueue();
    if constexpr (telling == Telling::asked)
        if (is_noted()) [[unlikely]]
            tell(stream, operation, is_recorded, describe);
    return is_recorded ? Submitted::recorded : Submitted::enqueued;
}

}  // namespace heddle::detail
