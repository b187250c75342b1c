#include "core/failure/failure.hpp"

#include "core/base/errors.hpp"
#include "core/base/host_function_mark.hpp"
#include "core/base/made_once.hpp"
#include "core/base/report.hpp"

namespace heddle::detail {

namespace {

/// Made in advance, because it is needed when memory has run out.
struct LastResort {
    Failure failure = make_failure(
        {.code = ErrorCode::out_of_memory,
         .message = "out of memory, so the failed call cannot be named: free memory, then retry",
         .call = {}});
};
constinit MadeOnce<LastResort> last_resort;
[[maybe_unused]] const LastResort& last_resort_at_load = last_resort.get();

}  // namespace

const Failure& no_memory_failure() noexcept { return last_resort.get().failure; }

Failure as_failure(std::exception_ptr error) noexcept {
    try {
        try {
            std::rethrow_exception(error);
        } catch (const Error& known) {
            return make_failure(known.info());
        } catch (const std::bad_alloc&) {
            return no_memory_failure();
        } catch (...) {
            return make_failure(
                {.code = ErrorCode::work_failed, .message = what_of(error), .cause = error});
        }
    } catch (...) {
        return no_memory_failure();
    }
}

void report_untold(const FailedWork& failure) {
    if (!failure.note_reported()) return;
    // This may be any thread, even a worker, so the hook must not wait.
    const InHostFunction mark;
    report(static_cast<const ErrorInfo&>(failure));
}

FailedWork::~FailedWork() { report_untold(*this); }

}  // namespace heddle::detail
