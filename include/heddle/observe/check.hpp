// The ordering checker: finds unsynchronised accesses to the same memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include <heddle/location.hpp>
#include <heddle/operation/observer.hpp>
#include <heddle/operation/source_place.hpp>
#include <heddle/stream/stream.hpp>

/// Finds unsynchronised accesses to the same memory among the operations that a program enqueues.
/// HEDDLE_CHECK=1 in the environment checks a program without changes to it.
namespace heddle HEDDLE_VISIBLE {
namespace check {

/// The kinds of races.
enum class RaceKind : std::uint8_t {
    write_after_write,
    write_after_read,
    read_after_write,
    use_before_allocation,  ///< a use is not ordered after the allocation
    free_before_use,        ///< the memory is freed while a use may be pending
    use_after_free,         ///< a use of memory that has been freed
    reuse,                  ///< memory is used again while an earlier use may be pending
};
/// Returns the name of a kind, "write_after_read" for example.
const char* to_string(RaceKind kind) noexcept;

/// The old name of SourcePlace.
using Place [[deprecated("use SourcePlace")]] = SourcePlace;

/// One of the two accesses of a race.
struct Side {
    OpKind kind = OpKind::launch;        ///< `host_access` for an access by the host itself
    std::string name;                    ///< name of the kernel, or "host to device", for example
    std::string stream;                  ///< "main of cuda:0"; empty for the host
    SourcePlace where;                   ///< where the operation was enqueued
    std::string node{};                  ///< for a graph launch: the node that accesses the memory
    SourcePlace node_where{};            ///< where that node was made or captured
    AccessMode mode = AccessMode::read;  ///< how the operation uses the memory
    /// Index of the kernel's argument. -1 if the kernel object itself holds the memory, or if the
    /// operation is not a kernel.
    int argument = -1;
    std::uint64_t position = 0;  ///< OpInfo::position
};

/// Two accesses to the same memory without an order between them.
struct Race {
    RaceKind kind = RaceKind::write_after_write;  ///< which kind of race
    /// False if there may be an order that heddle cannot see: through a flag that a host function
    /// sets, for example.
    bool certain = true;
    Side first;                  ///< enqueued earlier
    Side second;                 ///< enqueued later
    const void* data = nullptr;  ///< start of the memory that both use
    std::size_t bytes = 0;       ///< size of that memory
    SourcePlace made;            ///< where the array was made; the file is empty if unknown
    std::string text;            ///< the report as text, with the missing wait
};

/// The result of a check.
struct Summary {
    /// Number of certain races. Each pair of places counts once.
    std::uint64_t certain = 0;
    /// Number of possible races, counted in the same way.
    std::uint64_t possible = 0;
    /// Number of necessary waits that heddle elided. Any such wait is a bug in heddle.
    std::uint64_t faults = 0;
    std::uint64_t operations = 0;  ///< number of checked operations
    /// Number of kernels (places in the source) that hold undeclared pointers: the check does not
    /// see the memory behind them.
    std::uint64_t undeclared = 0;
    /// The first few of these kernels: "'scale' at scale.cpp:12".
    std::vector<std::string> undeclared_at{};
};

/// Options of start().
struct Options {
    bool strict = false;  ///< report all possible races too
    bool abort = false;   ///< call std::abort() in the call that completes a certain race
};

/// Starts to check the operations that the process enqueues. Operations enqueued earlier are not
/// checked. Throws UsageError if a check is already running. Thread-safe.
///
///     check::start();
///     step();
///     check::Summary found = check::stop();
///     assert(found.certain == 0);
void start(Options options = {}, Where where = {});
/// Ends the check and returns its result; an empty one if no check is running. Thread-safe.
Summary stop();
/// Returns the result so far; an empty one if no check is running. Thread-safe.
Summary summary();

/// Calls `function` for each race instead of printing the race to stderr; null restores the
/// printing. Runs in the call that enqueues the race's second access. `function` must not throw or
/// call heddle. Thread-safe.
void on_race(std::function<void(const Race&)> function);

/// Suppresses race reports for operations that the calling thread enqueues while this object
/// exists. The operations still order other work. Use it for intentional races:
///
///     const check::ScopedOff off;
///     launch(s, Count{}, dim(n), x);
///
/// Allocations and frees are still checked. Objects can be nested. Lifetime: destroy it on the
/// thread that made it; other threads are not affected. Throws nothing. Has no effect without a
/// check.
class ScopedOff {
public:
    [[nodiscard]] ScopedOff() noexcept;
    ~ScopedOff();
    ScopedOff(const ScopedOff&) = delete;
    ScopedOff& operator=(const ScopedOff&) = delete;
};

/// Declares that the host has waited for the stream, or the device, outside heddle: by
/// cudaDeviceSynchronize(), for example. Costs one memory load if no check is running. Thread-safe.
void synchronized(StreamRef stream, Where where = {});
void synchronized(Device device, Where where = {});  ///< see above

/// Declares that a host function signals the rest of the program outside heddle: by a promise, a
/// flag or a queue. Call released() in the function before it signals. Call acquired() with the
/// same key after the signal was received. All work before the host function then counts as
/// complete, as after a host wait. Outside host functions released() does nothing.
///
///     launch_host(s, [&] { check::released(&flag); flag.store(true); });
///     ...
///     while (!flag.load()) std::this_thread::yield();
///     check::acquired(&flag);
///
/// Keys are only compared. Each call costs one load if no check is running. Thread-safe.
void released(const void* key);
void acquired(const void* key, Where where = {});  ///< see above

}  // namespace check
}  // namespace heddle
