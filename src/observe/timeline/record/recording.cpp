// The public interface of recordings.

#include <heddle/memory/array.hpp>
#include <heddle/observe/timeline.hpp>

#include "core/base/clock.hpp"
#include "core/base/errors.hpp"
#include "core/operation/start.hpp"
#include "timeline/file/output.hpp"
#include "timeline/record/live.hpp"
#include "timeline/solve/solution.hpp"

namespace heddle::timeline {

using detail::TimelineObserver;

namespace {
/// Whether `automatic` uses CUPTI. CUPTI locks other profilers out of the process, or fails if one
/// is already active.
constexpr bool cupti_by_itself = false;

bool wants_cupti(GpuTimes times) noexcept {
    return times == GpuTimes::cupti || (times == GpuTimes::automatic && cupti_by_itself);
}
}  // namespace

struct Recording::Impl {
    explicit Impl(const RecordingOptions& options)
        : observer({.most_operations = options.limit,
                    .accesses = options.accesses,
                    .cupti = wants_cupti(options.gpu_times)}) {
        detail::add_live_observer(observer);
    }
    ~Impl() { stop(); }
    void stop() noexcept {
        detail::remove_live_observer(observer);
        observer.stop();
    }
    TimelineObserver observer;
};

Recording::Recording(RecordingOptions options, Where where) try {
    if (options.limit == 0)
        detail::usage_error({"timeline::Recording", where},
                            "a limit of 0 records nothing: set .limit to 1 or more");
    impl_ = std::make_unique<Impl>(options);
} catch (...) {
    detail::rethrow_as_error("timeline::Recording", where);
}
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&&) noexcept = default;
Recording::~Recording() = default;

void Recording::stop() noexcept {
    if (impl_ != nullptr) impl_->stop();
}

const Recording::Impl& Recording::impl(const char* call, Where where) const {
    if (impl_ == nullptr) detail::throw_moved_from({call, where}, "recording");
    return *impl_;
}

void Recording::write(const std::string& file, Where where) const try {
    const detail::ErrorSite site("timeline::Recording::write", where);
    const Impl& recorded = impl("timeline::Recording::write", where);
    detail::format_of(file, site);  // reports an unknown format before the long work
    detail::write_output(recorded.observer.trace(), {}, file, site);
} catch (...) {
    detail::rethrow_as_error("timeline::Recording::write", where);
}

std::string Recording::summary(Where where) const try {
    const detail::Trace trace = impl("timeline::Recording::summary", where).observer.trace();
    return detail::summary_of(trace, detail::solve(trace));
} catch (...) {
    detail::rethrow_as_error("timeline::Recording::summary", where);
}

Range::Range(const char* name) noexcept : name_(name != nullptr ? name : ""), begin_ns_(0) {
    detail::start_observers();
    if (detail::has_live_observers()) begin_ns_ = detail::now_ns();
}

Range::Range(std::string_view name) noexcept : begin_ns_(0) {
    detail::start_observers();
    if (!detail::has_live_observers()) return;
    try {
        copy_ = name;
        begin_ns_ = detail::now_ns();
    } catch (...) {  // out of memory
    }
}

Range::~Range() {
    if (begin_ns_ == 0) return;
    const std::int64_t end_ns = detail::now_ns();
    const std::string_view name = name_ != nullptr ? std::string_view(name_) : copy_;
    detail::for_each_live_observer(
        [&](TimelineObserver& one) { one.add_range(begin_ns_, end_ns, name); });
}

void name_thread(std::string_view name) try {
    detail::start_observers();
    detail::keep_thread_name(name);
    detail::for_each_live_observer([&](TimelineObserver& one) { one.name_thread(name); });
} catch (...) {
    detail::rethrow_as_error("timeline::name_thread", {});
}

}  // namespace heddle::timeline

namespace heddle::detail {

void name_memory(const Block* block, std::string_view name) try {
    if (block == nullptr) return;
    for_each_live_observer(
        [&](TimelineObserver& one) { one.name_memory(allocation_of(block), name); });
} catch (...) {
    rethrow_as_error("timeline::name_array", {});
}

}  // namespace heddle::detail
