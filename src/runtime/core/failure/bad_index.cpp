#include "core/failure/bad_index.hpp"

#include <utility>

#include <heddle/memory/bounds.hpp>
#include <heddle/stream/detail/thread_state.hpp>
#include <heddle/stream/stream.hpp>

#include "core/base/errors.hpp"
#include "core/base/kernel_name.hpp"
#include "core/failure/told.hpp"

namespace heddle::detail {

namespace {

/// The number of bad indices that this thread has used outside of work; counts to `most_reported`.
constinit thread_local int reported = 0;
constexpr int most_reported = 10;

/// Returns an index as the program wrote it: "-1" for the huge number that -1 was converted to.
std::string index_text(std::size_t index) {
    const auto number = static_cast<std::ptrdiff_t>(index);
    return number < 0 ? formatted("{}", number) : formatted("{}", index);
}

std::string argument_text(int argument) {
    if (argument < 0) return "";
    return argument == 0 ? " (held by the kernel)" : formatted(" (argument {})", argument);
}

}  // namespace

std::string describe_index(const BadIndex& bad) {
    if (bad.dimensions == 2)
        return formatted("row {}, column {} of a view of {} rows and {} columns{}",
                         index_text(bad.index[0]), index_text(bad.index[1]), bad.extent[0],
                         bad.extent[1], argument_text(bad.argument));
    return formatted("index {} of a view of {} elements{}", index_text(bad.index[0]), bad.extent[0],
                     argument_text(bad.argument));
}

std::exception_ptr index_exception(const BadIndex& bad) {
    return std::make_exception_ptr(IndexOutOfRange(describe_index(bad), bad));
}

ErrorInfo info_of_index(const char* call, const SourceLocation& where, std::string_view name,
                        const BadIndex& bad, const std::string* node) {
    ErrorInfo info = error_info(
        ErrorCode::work_failed, {call, where},
        "{}{} used {}: the index is out of range, so a dummy element was used instead; {}",
        node != nullptr ? formatted("node '{}', ", *node) : "", name, describe_index(bad),
        consequence_of_failure);
    info.cause = index_exception(bad);
    return info;
}

Failure failure_of_index(FallibleStream& stream, const OpType& type, const SourceLocation& where,
                         const std::exception_ptr& thrown, const std::string* node) noexcept {
    try {
        std::rethrow_exception(thrown);
    } catch (const IndexOutOfRange& bad) {
        try {
            const StreamRef ref = Access::stream(stream);
            ErrorInfo info =
                info_of_index(type.call, where, kernel_name(type.pretty), bad.info(), node);
            info.device = ref.device();
            info.stream_id = ref.id();
            info.stream = ref.name();
            return make_failure(std::move(info));
        } catch (...) {
            return no_memory_failure();
        }
    } catch (...) {
        return nullptr;
    }
}

void note_bad_index(const BadIndex& index) noexcept {
    if (thread_states.in_host_function) {
        if (!has_noted_index()) noted_index = index;
        return;
    }
    if (reported == most_reported) return;
    ++reported;
    try {
        report_error(
            ErrorCode::usage, {"View", {}},
            "the host used {}: the index is out of range, so a dummy element was used instead{}",
            describe_index(index),
            reported == most_reported ? ". Further bad indices of this thread are not reported"
                                      : "");
    } catch (...) {
        // out of memory for the report
    }
}

BadIndex* noted_bad_index() noexcept { return has_noted_index() ? &noted_index : nullptr; }

void throw_noted_index() {
    std::rethrow_exception(index_exception(std::exchange(noted_index, BadIndex())));
}

}  // namespace heddle::detail
