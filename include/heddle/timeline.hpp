// The timeline: what was enqueued where, when it ran, and why it waited. Recorded by the program,
// or by HEDDLE_TIMELINE. What is made of recorded files: heddle/timeline_files.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <heddle/location.hpp>
#include <heddle/memory/array.hpp>

namespace heddle::detail {
/// Implements timeline::name_array(). `block` may be null.
void name_memory(const Block* block, std::string_view name);
}  // namespace heddle::detail

/// Recordings of a program's operations, and what is made from them.
namespace heddle::timeline {

/// What tells when work of CUDA devices ran.
enum class GpuTimes : std::uint8_t {
    automatic,  ///< heddle chooses: timing events, which leave other profilers alone
    events,     ///< a timing event behind each operation; launched graphs are one bar each
    /// CUPTI, NVIDIA's library for profilers: starts and ends as the device saw them, also of the
    /// nodes of launched graphs. A graph from before the recording is instantiated once more for
    /// that; a batch that is remembered from before is one bar. Only one profiler at a time can use
    /// CUPTI. Where it cannot be used there are timing events, and the recording notes why.
    cupti,
};

/// Options of a Recording.
struct RecordingOptions {
    /// How many operations are kept, and up to some hundreds more for each thread; the oldest ones
    /// make room for later ones.
    std::size_t limit = 1'000'000;
    /// Record the memory that operations use.
    bool accesses = true;
    /// What tells the times of CUDA devices. Recordings at the same time share it: by CUPTI if one
    /// of them wants it.
    GpuTimes gpu_times = GpuTimes::automatic;
};

/// Records what the process enqueues, from its construction on: where it was written, when the call
/// began and ended, and when the work ran.
///
///     timeline::Recording recording;
///     step();
///     synchronize();
///     recording.write("run.html");
///
/// There may be several at a time. In a child of fork() it records nothing more. Thread-safe.
///
/// A program need not be changed: with HEDDLE_TIMELINE=run.html in its environment it is recorded
/// from its first stream, range or named thread on, and the file is written when it ends: at the
/// end of main(), by exit(), std::terminate() or abort(), or by a signal such as SIGSEGV. `%p` in
/// the name is the process's number. Without it, a process finds the file written by another one
/// that ended while it ran, and then writes run-1234.html, with its number. Options follow after
/// commas: `limit=NUMBER`, `no-accesses`, `events`, `cupti`.
class Recording {
public:
    /// Begins a recording. Throws UsageError for a limit of 0.
    [[nodiscard]] explicit Recording(RecordingOptions options = {}, Where where = {});
    Recording(Recording&&) noexcept;
    Recording& operator=(Recording&&) noexcept;
    ~Recording();

    /// Ends the recording. What was recorded can still be written.
    void stop() noexcept;
    /// Writes what was recorded so far, as timeline::convert() does. Throws UsageError for an
    /// extension that it does not know, and NativeError if the file cannot be written.
    void write(const std::string& file, Where where = {}) const;
    /// Returns what was recorded so far as text, as timeline::summary() does.
    std::string summary(Where where = {}) const;

private:
    struct Impl;
    const Impl& impl(const char* call, Where where) const;
    std::unique_ptr<Impl> impl_;
};

/// Marks a stretch of the calling thread, from its construction to its destruction, that recordings
/// show under this name. Costs a few nanoseconds if nothing is recorded.
class Range {
public:
    /// Begins the stretch. The name is a literal, or outlives the range: it is not copied.
    [[nodiscard]] explicit Range(const char* name) noexcept;
    /// The same with a name that is copied, if something is recorded. Without memory for the copy
    /// the stretch is not shown.
    [[nodiscard]] explicit Range(std::string_view name) noexcept;
    ~Range();
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

private:
    const char* name_ = nullptr;  ///< null: copy_
    std::int64_t begin_ns_;       ///< 0: nothing is recorded
    std::string copy_;
};

/// Names the calling thread in the recordings that are going on, and in later ones. Those show at
/// most 128 bytes of the name.
void name_thread(std::string_view name);

/// Names an array in the recordings that are going on, until it is freed. Does nothing for memory
/// that heddle does not own.
template <class T> void name_array(View<T> view, std::string_view name) {
    detail::name_memory(detail::Access::block(view), name);
}
template <class T> void name_array(const Array<T>& array, std::string_view name) {
    detail::name_memory(detail::Access::block(array), name);
}

}  // namespace heddle::timeline
