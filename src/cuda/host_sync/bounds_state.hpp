// The state behind cuda/host_sync/bounds.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/failure/failure.hpp"
#include "cuda/host_sync/bounds.hpp"
#include <heddle/detail/thread_state.hpp>

namespace heddle::detail::cu {

/// Returns whether a kernel has finished the report.
inline bool is_written(const BoundsReport& report) noexcept {
    return __atomic_load_n(&report.is_written, __ATOMIC_ACQUIRE) != 0;
}
/// Makes the report take another bad index. Call it while no kernel that uses it runs.
inline void clear(BoundsReport& report) noexcept {
    report.site = nullptr;
    report.is_written = 0;
    __atomic_store_n(&report.is_claimed, 0u, __ATOMIC_RELEASE);
}

/// A record of pinned memory: a report or a site.
union alignas(64) BoundsUnit {
    BoundsReport report;
    BoundsSite site;
};

/// The kernels with checks that were launched on a stream, and their report.
struct BoundsOfStream {
    struct Kernel : CheckedKernel {
        std::uint64_t since = 0;  ///< its oldest submission that may have used a bad index
        std::uint64_t last = 0;   ///< its newest submission
    };
    std::uint64_t id = 0;
    std::string name;
    BoundsReport* report = nullptr;
    bool is_read = false;      ///< the report has been read, and will be cleared
    std::uint64_t clean = 0;   ///< these first submissions have used no bad index
    std::uint64_t newest = 0;  ///< the newest submission with checks
    std::unordered_map<std::string, Kernel> kernels;

    void read(StreamRecord& stream) noexcept;
};

/// The report of a file's `__global__` functions.
struct FileReport {
    const void* symbol;
    std::array<void*, max_devices> address{};
    BoundsUnit* copy = nullptr;  ///< in pinned memory
    bool is_copied = false;
};

/// The stream that the host has waited for, null for a device, and its name.
struct WaitedFor {
    StreamRecord* stream;
    std::string name;
    const SourceLocation& where;
    bool may_load;  ///< whether modules may be loaded, to find their reports
};

/// A launch of a `__global__` function: on a stream, or as a node.
struct GlobalLaunch {
    std::uint64_t order = 0;  ///< 0: none
    StreamRecord* stream = nullptr;
    const BoundsOfStream* of = nullptr;
    const BoundsOfStream::Kernel* kernel = nullptr;
    GraphBounds* graph = nullptr;
    const GraphBounds::Kernel* node = nullptr;
};

struct BoundsState {
    /// Guards `files` and `readers`. Held during native calls, so callbacks must not take it.
    std::mutex files_mutex;
    std::vector<FileReport> files;
    std::array<cudaStream_t, max_devices> readers{};  ///< copy the reports of files

    /// Guards the rest. Never held during a native call, because callbacks take it: a native call
    /// may wait for a lock whose holder waits for the callbacks.
    std::mutex mutex;
    std::unordered_map<StreamRecord*, BoundsOfStream> streams;
    std::vector<GraphBounds*> graphs;
    std::uint64_t used = 0;      ///< bit i: cuda:i runs kernels with checks
    std::uint64_t launches = 0;  ///< see CheckedKernel::order
    std::vector<BoundsUnit*> free_units;
    std::size_t unit_count = 0;

    /// Makes the next calls of take_unit() succeed. Call it without the lock.
    void reserve_units(Gpu& g);
    /// Returns a zeroed unit. Throws std::bad_alloc if none is left.
    BoundsUnit& take_unit();
    void give_unit(const void* unit) noexcept;

    /// Reads all reports, except for those of files.
    void read() noexcept;
    /// Forgets kernels that have completed, if there are many.
    void forget_old(StreamRecord& stream, BoundsOfStream& of) noexcept;
    /// Copies the reports of files to the host, and fails the launches of those that have a bad
    /// index. Call it with files_mutex held, and without `mutex`.
    void read_files(Gpu& g, const WaitedFor& waited);
    /// Returns the newest launch of a `__global__` function that has the view. If `only` is not
    /// null, searches only launches on that stream.
    GlobalLaunch find_launch(const Gpu& g, const void* data, const StreamRecord* only);
    /// Fails the launch of the `__global__` function that has the view. If there is none, fails
    /// `waited`.
    void fail_unknown(const Gpu& g, const BadIndex& bad, const WaitedFor& waited);
    /// Leaves completed launches out of later searches.
    void forget_launches(const Gpu& g, bool of_all) noexcept;
};

/// Returns the state, ready for new kernels.
BoundsState& bounds_state(Gpu& g);
/// Returns the state, or null if there is none.
BoundsState* bounds_state_if_made() noexcept;

/// Returns the failure of a kernel; null stands for an unknown one. The stream's name is passed,
/// because reading it takes a lock that the caller's caller may hold.
Failure failure_of(const CheckedKernel* kernel, BadIndex bad, Device device, std::uint64_t stream,
                   const std::string& name, const SourceLocation& where) noexcept;

}  // namespace heddle::detail::cu
