// The ordering checker: finds accesses to the same memory that nothing orders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include <heddle/location.hpp>
#include <heddle/observe/observer.hpp>
#include <heddle/stream/stream.hpp>

/// Checks what a program enqueues. With HEDDLE_CHECK=1 in its environment a program need not be
/// changed.
namespace heddle::check {

/// What is wrong with the order of two accesses.
enum class RaceKind : std::uint8_t {
    write_after_write,
    write_after_read,
    read_after_write,
    use_before_allocation,  ///< a use that is not ordered after the allocation
    free_before_use,        ///< the memory was freed while the use may not be done
    use_after_free,         ///< a use of memory that had been freed
    reuse,                  ///< new memory whose former user may not be done
};
/// Returns the name of a kind, "write_after_read" for example.
const char* to_string(RaceKind kind) noexcept;

/// A place in the source.
struct Place {
    std::string file;     ///< as the compiler was given it
    unsigned line = 0;    ///< 0: not known
    unsigned column = 0;  ///< 0: not known; see SourceLocation
};

/// One of the two accesses of a race.
struct Side {
    OpKind kind = OpKind::launch;        ///< `host_access`: the host itself
    std::string name;                    ///< the kernel's, or "host to device" and the like
    std::string stream;                  ///< "main of cuda:0"; empty for the host
    Place where;                         ///< where it was enqueued
    std::string node{};                  ///< of a graph launch: the node that accesses the memory
    Place node_where{};                  ///< where that node was made or captured
    AccessMode mode = AccessMode::read;  ///< what it does with the memory
    int argument = -1;  ///< which of the kernel's arguments, from 0; -1: the kernel's own, or none
    std::uint64_t position = 0;  ///< OpInfo::position
};

/// Two accesses to common memory without an order between them.
struct Race {
    RaceKind kind = RaceKind::write_after_write;  ///< what is wrong
    /// False if there may be an order that heddle cannot see: through a flag that a host function
    /// sets, for example.
    bool certain = true;
    Side first;                  ///< enqueued earlier
    Side second;                 ///< enqueued later
    const void* data = nullptr;  ///< where the memory that both use begins
    std::size_t bytes = 0;       ///< how much that is
    Place made;                  ///< where the array was made; no file: not known
    std::string text;            ///< all of it in words, with what is missing
};

/// What a check found.
struct Summary {
    /// Certain races, each pair of places once.
    std::uint64_t certain = 0;
    /// Possible ones, likewise.
    std::uint64_t possible = 0;
    /// Waits that heddle left out though they were needed: faults of heddle.
    std::uint64_t faults = 0;
    std::uint64_t operations = 0;  ///< that were checked
    /// Kernels (places in the source) that hold pointers that nothing declares: the check does not
    /// see what they use.
    std::uint64_t undeclared = 0;
    /// The first few of them: "'scale' at scale.cpp:12".
    std::vector<std::string> undeclared_at{};
};

/// Options of start().
struct Options {
    bool strict = false;  ///< tell all possible races too
    bool abort = false;   ///< end the program, by std::abort(), in the call that completes a race
};

/// Begins to check what the process enqueues. Work that was enqueued before counts as done as soon
/// as the host has waited for something. Throws UsageError if a check is going on. Thread-safe.
void start(Options options = {}, Where where = {});
/// Ends the check and returns what it found; nothing if none is going on. Thread-safe.
Summary stop();
/// Returns what was found so far. Thread-safe.
Summary summary();

/// Calls `function` for each race instead of printing it to stderr; a null function undoes that. It
/// is called in the call that completes the race, and must not call into heddle. Thread-safe.
void on_race(std::function<void(const Race&)> function);

/// What the calling thread enqueues during its lifetime makes order as always, but accesses
/// nothing, as far as the check is concerned: for races that are meant.
class ScopedOff {
public:
    [[nodiscard]] ScopedOff() noexcept;
    ~ScopedOff();
    ScopedOff(const ScopedOff&) = delete;
    ScopedOff& operator=(const ScopedOff&) = delete;
};

/// Says that the host has waited for the stream, or for the device, by a way that heddle does not
/// see: cudaDeviceSynchronize(), for example. Costs one load if nothing is checked. Thread-safe.
void synchronized(StreamRef stream, Where where = {});
void synchronized(Device device, Where where = {});  ///< see above

/// Say that a host function tells the rest of the program that it has come this far, by a way that
/// heddle does not see: a promise, a flag, a queue. released() is called in the function before it
/// tells, acquired() with the same key by whoever has learnt of it: what preceded the function is
/// over then, as after a host wait. Outside host functions released() does nothing.
///
///     launch_host(s, [&] { check::released(&flag); flag.store(true); });
///     ...
///     while (!flag.load()) std::this_thread::yield();
///     check::acquired(&flag);
///
/// The key is compared, nothing else. Cost one load if nothing is checked. Thread-safe.
void released(const void* key);
void acquired(const void* key, Where where = {});  ///< see above

}  // namespace heddle::check
