// What the parts of recordings share: lanes, and operations on them. The recording's lock is held.
#pragma once

#include <string>
#include <vector>

#include "core/recording.hpp"

namespace heddle::detail {

/// `tail` comes after `more` too.
void merge(std::vector<std::uint32_t>& tail, const std::vector<std::uint32_t>& more);
/// The stream takes part from now on, or no longer.
void attach(Recording& r, StreamRecord& stream, std::vector<std::uint32_t> tail, const SourceLocation& where);
void detach(Recording::Lane& lane) noexcept;
/// What others gave the stream past heddle comes next.
void collect(Recording& r, Recording::Lane& lane, const SourceLocation& where);
/// A stream of a batch that was given work really since it joined cannot go on being recorded.
bool is_clean(const Recording& r, StreamRecord& stream) noexcept;
/// The batch's operations go first, and the stream is recorded no longer (its first stream excepted, which only sends). Always false.
/// Gives the lock back.
bool really(Recorded& r, StreamRecord& stream, const SourceLocation& where);
/// An operation of the stream; the rest is for the caller to fill in.
void add_op(Recording& r, StreamRecord& stream, NodeKind kind, const SourceLocation& where);
/// Throws while a condition's body is captured: the stream belongs to what is around it.
void refuse_in_body(const Recording& r, StreamRecord& stream, const SourceLocation& where);
[[noreturn]] void refuse(StreamRecord& stream, std::string message, const char* call,
                         const SourceLocation& where);

}  // namespace heddle::detail
