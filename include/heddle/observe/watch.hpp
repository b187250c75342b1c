// The watch: says why a program is stuck.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include <heddle/device/device.hpp>
#include <heddle/location.hpp>
#include <heddle/observe/observer.hpp>

namespace heddle {

/// A place in the source, or no file if it is not known.
struct PendingPlace {
    std::string file;   ///< as the compiler was given it
    unsigned line = 0;  ///< counted from 1
};

/// The state of a stream.
enum class StreamIs : std::uint8_t {
    running,    ///< its operation runs, or is about to
    ready,      ///< its operation has no worker yet
    waiting,    ///< it waits for another stream, an event or a graph's end
    recording,  ///< a batch or capture holds its work back
    between,    ///< of a GPU: it is at one of its pending operations, which one is not known
    unknown,    ///< its state could not be read
};

/// One of the last operations of a stream.
struct RecentOperation {
    OpKind kind = OpKind::launch;  ///< of work
    OpMode mode = OpMode::run;     ///< whether it was enqueued or recorded
    std::string name;              ///< of the kernel, or "host to device" and the like
    PendingPlace where;            ///< where it was enqueued
    bool is_done = false;          ///< whether it is known to have completed
};

/// A stream with work that has not completed.
struct PendingStream {
    std::string name;                                            ///< as the program gave it
    std::uint64_t id = 0;                                        ///< as StreamRef::id()
    Device device = detail::Access::device(DeviceKind::cpu, 0);  ///< whose stream it is
    StreamIs is = StreamIs::unknown;                             ///< its state
    /// The operation that it is at: the kernel's name, "copy", "wait" and the like.
    std::string operation;
    PendingPlace where;         ///< where that was enqueued
    std::uint64_t pending = 0;  ///< operations and waits, this one among them
    /// How long nothing of it has completed, as far as somebody looked; else 0.
    std::chrono::nanoseconds since{0};
    std::string waits_for;  ///< the stream that it waits for; empty if there is none
    EventPoint event = {};  ///< the record that it waits for, if it is known
    std::string text;       ///< all of it in words
    /// The last of its operations, oldest first, at most 64. Kept while the process is watched.
    std::vector<RecentOperation> recent;
};

/// A thread of the host that waits in a call. Known of calls that began while the process was
/// watched.
struct PendingThread {
    unsigned number = 0;                ///< counted from 1
    int thread = 0;                     ///< as gettid()
    std::string call;                   ///< "synchronize", for example
    PendingPlace where;                 ///< where it was called
    std::chrono::nanoseconds since{0};  ///< how long it has waited
    std::string waits_for;              ///< the stream, or the device
    std::string text;                   ///< all of it in words
};

/// The kind of a cause.
enum class CauseKind : std::uint8_t {
    operation_runs,    ///< a kernel, copy or host function has not ended
    workers_busy,      ///< no worker is free, and all run host functions
    cycle,             ///< streams and threads wait for each other
    nothing_reaches,   ///< no pending work reaches the record that a stream or thread waits for
    batch_is_open,     ///< a batch holds work back
    capture_is_open,   ///< a capture does
    process_is_gone,   ///< another process has ended, or has not reached its record
    rank_has_not_come  ///< a rank has not reached a collective
};

/// Why something does not go on.
struct PendingCause {
    CauseKind kind = CauseKind::operation_runs;  ///< which sort of cause
    std::string text;  ///< in words: "the kernel Relax at solver.cpp:88 has not ended"
    /// Of the thread that runs it, innermost first. Only in reports that a signal asked for.
    std::vector<std::string> stack;
    std::string thread;  ///< the name of that thread
};

/// What is pending, and why.
struct PendingWork {
    std::vector<PendingStream> streams;  ///< those with pending work
    std::vector<PendingThread> threads;  ///< those that wait
    std::vector<PendingCause> causes;    ///< empty if none is known
    std::vector<std::string> unseen;  ///< streams and recordings that could not be read, in words
    /// Streams that have failed, in words. They drop what they are given, so that somebody may wait
    /// for what never runs.
    std::vector<std::string> failed;

    /// Returns whether nothing is pending and nobody waits.
    bool is_empty() const noexcept { return streams.empty() && threads.empty(); }
};

/// Returns all of it in words, a line for each thing. `recent`: with each stream's last operations.
std::string to_string(const PendingWork& work, bool recent = false);
/// Writes to_string() to a stream.
std::ostream& operator<<(std::ostream& out, const PendingWork& work);

/// Returns the pending work, its waits, and the causes. Takes no lock that a thread of the program
/// can hold for long, and waits for nothing: it may be called while the program is stuck, also in
/// host functions. Of a GPU's streams it tells between which operations
/// they are. Threads that wait, and the last operations of streams, are known while the process is
/// watched. Throws OutOfMemory. Thread-safe.
PendingWork what_is_pending(Where where = {});

/// Options of watch().
struct WatchOptions {
    /// A report is made when nothing has completed for so long. 0: only on request.
    std::chrono::milliseconds limit = std::chrono::seconds(10);
    /// Where reports go; `%p` in the name is the process's number. Empty: standard error. Without
    /// `%p` a forked child writes to NAME.PID.
    std::string file = {};
    /// Make a report at each SIGQUIT, unless the program has a handler for that.
    bool on_signal = true;
    /// Called with each report that is made, on the watching thread, in place of writing it. It may
    /// call what_is_pending(), and nothing else of heddle.
    std::function<void(const PendingWork&, const std::string& text)> on_report = {};
};

/// Watches the process from now on: reports the pending work, and why it is stuck, when nothing has
/// completed on a device for the limit, or a thread has waited for so long. A report is made once,
/// and again when it would say something else. Called again, it changes the options.
///
///     watch({.limit = std::chrono::seconds(30)});
///
/// A program need not be changed: HEDDLE_WATCH=10s in its environment (500ms, 2m; a number alone is
/// seconds; 0 is on request only) watches it from its first stream on, and
/// HEDDLE_WATCH=10s,file=hang-%p.txt writes to a file. While it watches, each stream's last 64
/// operations are remembered; reports have them, and std::terminate() writes them. In the child of
/// a fork it goes on with the child's first stream. Throws NativeError if there can be no thread,
/// and UsageError for a limit below 0. Thread-safe.
void watch(WatchOptions options = {}, Where where = {});
/// Ends it. Thread-safe.
void end_watch() noexcept;

}  // namespace heddle
