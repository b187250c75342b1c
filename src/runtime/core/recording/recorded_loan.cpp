// Loans of the native handle of a recorded stream.
#include <exception>

#include "core/base/errors.hpp"
#include "core/recording/recorder.hpp"

namespace heddle::detail {

namespace {
/// Returns whether the recorder captures the body of a condition.
bool is_body(const Recorder::Participant& one) noexcept {
    return one.outer != nullptr && one.outer->is_capture();
}
}  // namespace

RecordedLoan begin_recorded_loan(StreamRecord& stream, const char* call,
                                 std::span<const MemoryArgument> memory,
                                 const SourceLocation& where) {
    const Recorded r(stream);
    if (!r) return {};
    if (!r->is_capture()) {
        r->step_aside(stream, where);
        return {};
    }
    (void)r->accept(stream, Recorder::Wants::nothing, call, where);
    Recorder::Participant& one = r->participant(stream);
    if (is_body(one))
        unsupported_error({call, where, stream},
                          "work enqueued outside heddle cannot be captured in a body: enqueue it "
                          "before or after capture_if() or capture_while()");
    if (one.held == nullptr && one.lent == nullptr)
        one.lent = stream.backend->capture_foreign(stream, false, r->capture_mode(), where);
    const ForeignCapture* const capture = one.held != nullptr ? one.held.get() : one.lent.get();
    const std::uint64_t number = ++one.loans;
    for (const MemoryArgument& argument : memory) one.lent_memory.push_back({number, argument});
    return {r->id.load(std::memory_order_relaxed), number,
            capture != nullptr ? capture->native() : stream.native};
}

bool end_recorded_loan(StreamRecord& stream, const RecordedLoan& loan,
                       const SourceLocation& where) {
    std::exception_ptr failure;
    bool is_open = false;
    {
        const Recorded r(stream);
        is_open = r && r->id.load(std::memory_order_relaxed) == loan.recording;
        if (is_open) {
            try {
                r->collect_external(r->participant(stream), where);
            } catch (...) {
                failure = std::current_exception();
            }
        }
        if (is_open)
            std::erase_if(r->participant(stream).lent_memory,
                          [&](const auto& one) { return one.loan == loan.number; });
        const std::uint32_t left =
            stream.flags.fetch_sub(stream_flag::one_loan) - stream_flag::one_loan;
        if (is_open && (left & stream_flag::lending) == 0) r->participant(stream).lent.reset();
        if (is_open && (left & stream_flag::unseen) == 0) r->participant(stream).held.reset();
    }
    if (failure != nullptr) std::rethrow_exception(failure);
    return is_open;
}

}  // namespace heddle::detail
