// The one way to enqueue work: admit() checks the stream, and notes what the work uses.
#pragma once

#include <span>

#include <heddle/detail/block.hpp>
#include <heddle/detail/stream_state.hpp>

#include "core/stream/elsewhere.hpp"

namespace heddle::detail {

/// An array that work uses. MemoryArgument says it too.
struct ArrayUse {
    Block* block;  ///< null: memory that is not heddle's
    bool writes;
};

inline void note_used(StreamState& stream, Block* block) { note_use(block, stream); }
template <class Use> void note_used(StreamState& stream, const Use& use) {
    note_use(use.block, stream, use.writes);
}

/// Asks whether a stream takes work, and notes the stream as a user of the arrays that the work
/// uses, also if it is dropped: what asks these arrays later has the stream's failure either way
/// (docs/adr/0056). `uses`: a range of ArrayUse, MemoryArgument, or blocks that may be written.
/// Call it for every submission, once, behind the checks of its arguments. Throws for dead and
/// forked streams and lost devices.
template <class Uses>
inline Admission admit(StreamState& stream, const char* call, const Uses& uses,
                       const SourceLocation& where) {
    Admission admission = Admission::given;
    if ((stream.flags.load(std::memory_order_relaxed) & stream_flag::slow_submit) != 0) [[unlikely]]
        admission = admit_slowly(stream, call, where);
    if (lookouts != 0 && admission == Admission::given) [[unlikely]]
        note_elsewhere(stream);
    for (const auto& use : uses) note_used(stream, use);
    return admission;
}
/// For what uses no array.
inline constexpr std::span<const ArrayUse> no_uses{};

}  // namespace heddle::detail
