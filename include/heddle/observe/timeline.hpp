// The timeline: records when operations were enqueued and ran, and why they waited. Started by the
// program, or by HEDDLE_TIMELINE. To convert recorded files see heddle/timeline_files.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <heddle/location.hpp>
#include <heddle/memory/array.hpp>

namespace heddle HEDDLE_VISIBLE {
namespace detail {
/// Implements timeline::name_array(). `block` may be null.
void name_memory(const Block* block, std::string_view name);
}  // namespace detail
}  // namespace heddle

/// Recordings of a program's operations, and pages, pictures and tables made from them.
namespace heddle HEDDLE_VISIBLE {
namespace timeline {

/// The source of the times of work on CUDA devices.
enum class GpuTimes : std::uint8_t {
    automatic,  ///< at present `events`, which do not disturb other profilers
    events,     ///< a timing event after each operation; a launched graph is one bar
    /// CUPTI, NVIDIA's library for profilers. The device measures all start and end times,
    /// including those of the nodes of launched graphs. A graph instantiated before the recording
    /// is instantiated again. A batch's graph that was cached before is shown as one bar. Only one
    /// profiler at a time can use CUPTI. If CUPTI is unavailable, heddle uses `events`, and the
    /// recording notes why.
    cupti,
};

/// Options of a Recording.
struct RecordingOptions {
    /// The maximum number of operations kept; each thread may add a few hundred. New operations
    /// replace the oldest ones.
    std::size_t limit = 1'000'000;
    /// Records the memory that operations use.
    bool accesses = true;
    /// Source of the times of CUDA devices. Concurrent recordings share it: CUPTI if one of them
    /// requests it.
    GpuTimes gpu_times = GpuTimes::automatic;
};

/// Records the operations that the process enqueues, from its construction on. For each operation
/// it records the place in the source, when the call began and ended, and when the work ran.
///
///     timeline::Recording recording;
///     step();
///     synchronize();
///     recording.write("run.html");
///
/// Lifetime: the destructor ends the recording and writes no file. Several recordings can exist at
/// a time. In a child of fork() it records nothing more. Errors: write() and summary() throw
/// UsageError for a recording that was moved from. Thread-safe.
///
/// HEDDLE_TIMELINE=run.html in the environment records a program without changes to it, from its
/// first stream, range or named thread on. The file is written when the program ends: at the end of
/// main(), by exit(), std::terminate() or abort(), or by a signal such as SIGSEGV. `%p` in the name
/// stands for the process id. Without `%p`, if another process has written the file meanwhile, this
/// process writes run-1234.html, where 1234 is its id. Options follow after commas: `limit=NUMBER`,
/// `no-accesses`, `events`, `cupti`.
class Recording {
public:
    /// Starts a recording. Throws UsageError for a limit of 0.
    [[nodiscard]] explicit Recording(RecordingOptions options = {}, Where where = {});
    Recording(Recording&&) noexcept;
    Recording& operator=(Recording&&) noexcept;
    ~Recording();

    /// Ends the recording. write() and summary() can still be called.
    void stop() noexcept;
    /// Writes the recording so far, as timeline::convert() does. Throws UsageError for an unknown
    /// extension, and NativeError if the file cannot be written.
    void write(const std::string& file, Where where = {}) const;
    /// Returns the recording so far as text, as timeline::summary() does.
    std::string summary(Where where = {}) const;

private:
    struct Impl;
    const Impl& impl(const char* call, Where where) const;
    std::unique_ptr<Impl> impl_;
};

/// Marks a range of the calling thread's time, from construction to destruction. Recordings show it
/// under its name. Costs a few nanoseconds if nothing is recorded.
///
///     const timeline::Range range("step");
///
/// Lifetime: destroy it on the thread that made it; ranges can be nested. Throws nothing.
class Range {
public:
    /// Begins the range. The name is not copied: pass a literal, or a text that outlives the range.
    [[nodiscard]] explicit Range(const char* name) noexcept;
    /// Begins the range with a copy of the name, made only if a recording is running. If there is
    /// no memory for the copy, the range is not shown.
    [[nodiscard]] explicit Range(std::string_view name) noexcept;
    ~Range();
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

private:
    const char* name_ = nullptr;  ///< null if the name is in copy_
    std::int64_t begin_ns_;       ///< 0 if nothing is recorded
    std::string copy_;
};

/// Names the calling thread in running and later recordings. Later ones show at most 128 bytes of
/// the name.
void name_thread(std::string_view name);

/// Names an array in running recordings, until it is freed. Does nothing for memory that heddle
/// does not own.
template <class T> void name_array(View<T> view, std::string_view name) {
    detail::name_memory(detail::Access::block(view), name);
}
template <class T> void name_array(const Array<T>& array, std::string_view name) {
    detail::name_memory(detail::Access::block(array), name);
}

}  // namespace timeline
}  // namespace heddle
