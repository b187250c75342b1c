// Stores the source locations at which streams were made, for the reports of observers.
#pragma once

#include <cstdint>

#include <heddle/location.hpp>

namespace heddle::detail {

/// Stores where a stream was made. Costs one load unless there is an observer. Keeps the newest
/// 4096 places. Thread-safe.
void note_made(std::uint64_t stream, const SourceLocation& where) noexcept;
/// Returns where the stream was made, or an empty location if unknown. Thread-safe.
SourceLocation made_at(std::uint64_t stream) noexcept;

}  // namespace heddle::detail
