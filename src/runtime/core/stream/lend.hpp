// Loans of a stream's native handle. Code outside heddle enqueues work through the handle while the
// loan is open; the work counts as one operation. After the loan, redundant waits are elided again.
// (docs/adr/0069)
#pragma once

#include <cstdint>
#include <span>

#include "core/stream/recorded_calls.hpp"

namespace heddle::detail {

/// A loan. The caller sets the first three members.
struct OpenLoan {
    StreamRecord& stream;
    const char* call;  ///< the public function
    SourceLocation where;
    std::uint64_t key = 0;  ///< StreamState::key at the start: the stream may end during the loan
    RecordedLoan recorded = {};
};

/// Returns the native handle to lend, which a capture may have replaced.
inline void* native_of(const OpenLoan& loan) noexcept {
    return loan.recorded.recording != 0 ? loan.recorded.native : loan.stream.native;
}

/// Begins a loan. Until end_lend(), other streams' waits for the stream are neither elided nor
/// noted. Memory that is freed on the stream counts as used by the loan's work. `memory` is the
/// memory of that work. Returns false if the stream has failed: no loan is open, and the work is
/// dropped. A batch that records the stream is flushed. Loans may be nested, and several threads
/// may have loans open. Throws UsageError for dead streams and for memory that the stream cannot
/// access. Thread-safe.
[[nodiscard]] bool begin_lend(OpenLoan& loan, std::span<const MemoryArgument> memory);

/// Ends the loan: counts its work as one submission, or lets the stream's capture record it, and
/// reports it to observers with the same `memory`. Call once after begin_lend() has returned true,
/// on any thread, even if the work was enqueued in part. Throws UsageError if the stream is in a
/// capture that cannot record the work; the loan has ended nevertheless. Thread-safe.
void end_lend(const OpenLoan& loan, std::span<const MemoryArgument> memory);

/// Like begin_lend() and end_lend(), but without admission and reports. For work that is admitted
/// and reported elsewhere (NCCL's collectives).
void open_loan(OpenLoan& loan, std::span<const MemoryArgument> memory);
/// Returns false if there is nothing to report, because the stream or its capture has ended.
bool close_loan(const OpenLoan& loan);

}  // namespace heddle::detail
