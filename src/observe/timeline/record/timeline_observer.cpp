#include "timeline/record/timeline_observer.hpp"

#include <algorithm>
#include <ctime>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/clock.hpp"
#include "core/base/fork.hpp"
#include "core/base/format.hpp"
#include "core/base/ids.hpp"
#include "core/stream/notify.hpp"
#include "timeline/record/collect.hpp"
#include "timeline/record/live.hpp"
#include "timeline/record/read_lock.hpp"

namespace heddle::detail {

namespace {

/// The logs that this thread used last, newest first. Each has the id of its observer, which may no
/// longer exist.
struct UsedLog {
    std::uint64_t observer = 0;
    ThreadLog* log = nullptr;
};
constinit thread_local UsedLog used_logs[8];

ThreadLog* find_log(std::uint64_t observer) noexcept {
    for (UsedLog& one : used_logs) {
        if (one.observer != observer) continue;
        if (&one != used_logs) std::rotate(used_logs, &one, &one + 1);
        return used_logs[0].log;
    }
    return nullptr;
}

void remember_log(std::uint64_t observer, ThreadLog& log) noexcept {
    std::rotate(used_logs, std::end(used_logs) - 1, std::end(used_logs));
    used_logs[0] = {observer, &log};
}

std::int64_t realtime_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Returns the name that the program has set for the thread, or "main" for the first thread.
/// Otherwise returns the system's name for the thread, or "" if that is just the program's name.
std::string name_of_this_thread(const std::string& program) {
    if (const std::string_view named = kept_thread_name(); !named.empty())
        return std::string(named);
    if (syscall(SYS_gettid) == getpid()) return "main";
    char name[64] = "";
    (void)pthread_getname_np(pthread_self(), name, sizeof name);
    // A thread inherits the name of its creator, which is usually the program's name.
    return program.compare(0, 15, name) == 0 ? "" : name;
}

std::string program_name() {
    const std::string path = program_invocation_name != nullptr ? program_invocation_name : "";
    return path.substr(path.find_last_of('/') + 1);
}

}  // namespace

TimelineObserver::TimelineObserver(const Options& options)
    : options_(options), id_(next_id()), process_(forks()), base_ns_(now_ns()),
      base_realtime_ns_(realtime_ns()), counts_before_(gpu_record_counts()) {
    tables_.ops.most = tables_.ranges.most = tables_.clocks.most = options.most_operations;
    tables_.runs.most = 4 * options.most_operations;  // an operation may have several runs
    add_observer(*this, {.times = true});
    if (!options.cupti) return;
    try {
        no_cupti_ = begin_gpu_records();
        has_cupti_ = no_cupti_.empty();
    } catch (...) {
        remove_observer(*this);
        throw;
    }
}

TimelineObserver::~TimelineObserver() { stop(); }

void TimelineObserver::stop() noexcept {
    if (end_ns_.load() == 0) tell_ended_runs();
    if (end_ns_.exchange(now_ns()) != 0) return;
    if (has_cupti_) end_gpu_records();
    remove_observer(*this);
    const RecordCounts counts = gpu_record_counts();
    const std::lock_guard lock(mutex_);
    counts_after_ = counts;
    is_stopped_ = true;
}

ThreadLog& TimelineObserver::find_or_make_log() {
    const std::string program = program_name();
    std::string name = name_of_this_thread(program);
    const std::lock_guard lock(mutex_);
    // The thread's cache holds only a few recordings, so the log may exist already.
    ThreadLog*& log = logs_of_threads_[this_thread_number()];
    if (log != nullptr) return *log;
    if (name.empty()) name = formatted("thread {}", logs_.size() + 1);
    log = logs_.emplace_back(std::make_unique<ThreadLog>(tables_, std::move(name))).get();
    return *log;
}

ThreadLog* TimelineObserver::this_log() noexcept {
    if (forks() != process_) return nullptr;
    if (ThreadLog* const log = find_log(id_)) [[likely]]
        return log;
    try {
        ThreadLog& made = find_or_make_log();
        remember_log(id_, made);
        return &made;
    } catch (...) {
        return nullptr;
    }
}

void TimelineObserver::on_op(const OpInfo& op) noexcept {
    ThreadLog* const log = this_log();
    try {
        if (log != nullptr) return log->add(op, options_.accesses);
    } catch (...) {  // out of memory
    }
    lost_.fetch_add(1, std::memory_order_relaxed);
}

void TimelineObserver::on_run(const OpRun& run) noexcept {
    ThreadLog* const log = this_log();
    try {
        if (log != nullptr) log->add(run);
    } catch (...) {  // out of memory: the operation will have no times
    }
}

void TimelineObserver::on_clock(const ClockReading& reading) noexcept {
    ThreadLog* const log = this_log();
    try {
        if (log != nullptr) log->add(reading);
    } catch (...) {  // out of memory
    }
}

void TimelineObserver::add_range(std::int64_t begin_ns, std::int64_t end_ns,
                                 std::string_view name) noexcept {
    ThreadLog* const log = this_log();
    try {
        if (log != nullptr) log->add_range(begin_ns, end_ns, name);
    } catch (...) {  // out of memory
    }
}

void TimelineObserver::name_thread(std::string_view name) {
    if (ThreadLog* const log = this_log()) {
        const std::lock_guard lock(mutex_);
        thread_names_[log] = name;
    }
}

void TimelineObserver::name_memory(std::uint64_t allocation, std::string_view name) {
    const std::lock_guard lock(mutex_);
    memory_names_[allocation] = name;
}

std::vector<std::string> TimelineObserver::notes(const Trace& trace) const {
    std::vector<std::string> notes;
    if (!std::ranges::any_of(trace.devices, &TraceDevice::is_cuda)) return notes;
    if (!no_cupti_.empty())
        notes.push_back(formatted("times of CUDA devices come from timing events, because CUPTI "
                                  "cannot be used: {}",
                                  no_cupti_));
    const RecordCounts now = is_stopped_ ? counts_after_ : gpu_record_counts();
    if (const std::uint64_t count = now.dropped - counts_before_.dropped)
        notes.push_back(formatted("CUPTI dropped {} records, because its buffers were full: up to "
                                  "that many operations have no times",
                                  count));
    if (const std::uint64_t count = now.without_times - counts_before_.without_times)
        notes.push_back(formatted(
            "{} records of CUPTI had no times, or impossible times, and were ignored", count));
    return notes;
}

Trace TimelineObserver::trace() const {
    // In a copy of the process, the driver must not be queried.
    if (end_ns_.load() == 0 && !is_end_copy.load()) tell_ended_runs();
    Trace trace;
    trace.base_ns = base_ns_;
    trace.base_realtime_ns = base_realtime_ns_;
    const std::int64_t end = end_ns_.load();
    trace.end = (end != 0 ? end : now_ns()) - base_ns_;
    trace.program = program_name();
    const ReadLock lock(mutex_);
    TraceCollector collector(trace, tables_, memory_names_);
    for (const auto& log : logs_) {
        const auto named = thread_names_.find(log.get());
        collector.add(*log, named != thread_names_.end() ? named->second : log->name());
    }
    collector.finish();
    trace.lost_ops += lost_.load();
    trace.notes = notes(trace);
    return trace;
}

}  // namespace heddle::detail
