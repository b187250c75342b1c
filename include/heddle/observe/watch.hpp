// The watch: reports why a program is stuck.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include <heddle/device/device.hpp>
#include <heddle/location.hpp>
#include <heddle/operation/observer.hpp>
#include <heddle/operation/source_place.hpp>

namespace heddle HEDDLE_VISIBLE {

/// The old name of SourcePlace.
using PendingPlace [[deprecated("use SourcePlace")]] = SourcePlace;

/// The state of a stream.
enum class StreamStatus : std::uint8_t {
    running,    ///< its current operation runs, or is about to run
    ready,      ///< its current operation has no worker yet
    waiting,    ///< it waits for another stream, an event or a graph's end
    recording,  ///< a batch or capture defers its work
    /// A GPU stream is at one of its pending operations; CUDA does not show which one.
    in_flight,
    unknown,  ///< its state could not be read
    between [[deprecated("use in_flight")]] = in_flight,
};
/// The old name of StreamStatus.
using StreamIs [[deprecated("use StreamStatus")]] = StreamStatus;

/// One of the last operations of a stream.
struct RecentOperation {
    OpKind kind = OpKind::launch;  ///< the kind of the operation
    OpMode mode = OpMode::run;     ///< whether it was enqueued or recorded
    std::string name;              ///< name of the kernel, or "host to device" and the like
    SourcePlace where;             ///< where it was enqueued
    bool is_done = false;          ///< whether it is known to have completed
};

/// A stream with work that has not completed.
struct PendingStream {
    std::string name;                                            ///< the same as StreamRef::name()
    std::uint64_t id = 0;                                        ///< the same as StreamRef::id()
    Device device = detail::Access::device(DeviceKind::cpu, 0);  ///< the stream's device
    union {
        StreamStatus status = StreamStatus::unknown;  ///< its state
        /// The old name of `status`.
        [[deprecated("use status")]] StreamStatus is;
    };
    /// Its current operation: the kernel's name, "copy", "wait" and the like.
    std::string operation;
    SourcePlace where;          ///< where that operation was enqueued
    std::uint64_t pending = 0;  ///< operations and waits, including the current one
    /// Time without progress, as observed by the watch; 0 if unknown.
    std::chrono::nanoseconds since{0};
    std::string waits_for;  ///< the stream that it waits for; empty if none or unknown
    EventPoint event = {};  ///< the record that it waits for, if known
    std::string text;       ///< a description in words
    /// Its last operations, oldest first, at most 64. Recorded while the process is watched.
    std::vector<RecentOperation> recent;
};

/// A thread of the host that waits in a call. Listed only if the call began while the process was
/// watched.
struct PendingThread {
    unsigned number = 0;                ///< counted from 1
    int thread = 0;                     ///< the result of gettid() on the thread
    std::string call;                   ///< "synchronize", for example
    SourcePlace where;                  ///< the call site
    std::chrono::nanoseconds since{0};  ///< how long it has waited
    std::string waits_for;              ///< the stream or device that it waits for
    std::string text;                   ///< a description in words
};

/// The kind of a cause.
enum class CauseKind : std::uint8_t {
    operation_runs,   ///< a kernel, copy or host function has not ended
    workers_busy,     ///< no worker is free, and all run host functions
    cycle,            ///< streams and threads wait for each other
    nothing_reaches,  ///< no pending work reaches the record that a stream or thread waits for
    batch_is_open,    ///< work is deferred because a batch is open
    capture_is_open,  ///< work is deferred because a capture is open
    other_process,    ///< another process has ended, or has not reached its record
    rank_missing,     ///< a rank has not reached a collective
    process_is_gone [[deprecated("use other_process")]] = other_process,
    rank_has_not_come [[deprecated("use rank_missing")]] = rank_missing,
};

/// A reason why work makes no progress.
struct PendingCause {
    CauseKind kind = CauseKind::operation_runs;  ///< the kind of cause
    std::string text;  ///< a description: "the kernel Relax at solver.cpp:88 has not ended"
    /// Stack of the thread that runs the operation, innermost call first. Only in reports requested
    /// by a signal.
    std::vector<std::string> stack;
    std::string thread;  ///< the name of the thread that runs the operation
};

/// The pending work of the process, and the causes. A plain value, which does not change later.
///
///     const PendingWork work = what_is_pending();
///     if (!work.is_empty()) std::cerr << work;
struct PendingWork {
    std::vector<PendingStream> streams;  ///< streams with pending work
    std::vector<PendingThread> threads;  ///< threads that wait
    std::vector<PendingCause> causes;    ///< empty if unknown
    std::vector<std::string> unseen;  ///< describes streams and recordings that could not be read
    /// Describes streams that have failed. They drop later work, so a thread may wait for work that
    /// never runs.
    std::vector<std::string> failed;

    /// Returns whether no stream has pending work and no thread waits.
    bool is_empty() const noexcept { return streams.empty() && threads.empty(); }
};

/// Returns a description in words, one line for each stream, thread and cause. If `recent`, adds
/// each stream's last operations.
std::string to_string(const PendingWork& work, bool recent = false);
/// Writes to_string(work) to `out`.
std::ostream& operator<<(std::ostream& out, const PendingWork& work);

/// Returns the pending work, its waits, and the causes. For a GPU's streams, finds the range of
/// operations that may be running. Waiting threads, and the last operations of streams, are
/// recorded only while the process is watched.
///
/// Never blocks: takes no lock that a thread of the program can hold for long. It may be called
/// while the program is stuck, and in host functions. Throws OutOfMemory. Thread-safe.
PendingWork what_is_pending(Where where = {});

/// Options of watch().
struct WatchOptions {
    /// The time without progress after which a report is made. If 0, reports are made only on
    /// request.
    std::chrono::milliseconds limit = std::chrono::seconds(10);
    /// The file for reports; `%p` in the name is replaced by the process id. If empty, reports are
    /// written to standard error. Without `%p` a forked child writes to NAME.PID.
    std::string file = {};
    /// Makes a report at each SIGQUIT, unless the program handles that signal.
    bool on_signal = true;
    /// Called with each report, on the watching thread, instead of writing it. It may call
    /// what_is_pending(), and no other function of heddle.
    std::function<void(const PendingWork&, const std::string& text)> on_report = {};
};

/// Starts to watch the process. Reports the pending work and its causes when a device with pending
/// work has completed no operation for longer than the limit. Also reports when a thread has waited
/// for longer than the limit without progress. A report is repeated only if its contents change. A
/// later call replaces the options.
///
///     watch({.limit = std::chrono::seconds(30)});
///
/// HEDDLE_WATCH=10s in the environment watches a program without changes to it, from its first
/// stream on. Other values: 500ms, 2m; a plain number is seconds; 0 is on request only.
/// HEDDLE_WATCH=10s,file=hang-%p.txt writes to a file. While the process is watched, each stream's
/// last 64 operations are recorded for reports. std::terminate() writes a report. In the child of a
/// fork, watching resumes with the child's first stream.
///
/// Throws NativeError if no thread can be created, and UsageError for a limit below 0. Thread-safe.
void watch(WatchOptions options = {}, Where where = {});
/// Stops watching. Thread-safe.
void end_watch() noexcept;

}  // namespace heddle
