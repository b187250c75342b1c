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
#include <heddle/stream/detail/thread_state.hpp>

namespace heddle::detail::cu {

/// Returns whether a kernel has written the report completely.
inline bool is_written(const BoundsReport& report) noexcept {
    return __atomic_load_n(&report.is_written, __ATOMIC_ACQUIRE) != 0;
}
/// Clears the report for the next bad index. Call while no kernel that uses the report runs.
inline void clear(BoundsReport& report) noexcept {
    report.site = nullptr;
    report.is_written = 0;
    __atomic_store_n(&report.is_claimed, 0u, __ATOMIC_RELEASE);
}

/// A unit of pinned memory: a report or a site.
union alignas(64) BoundsUnit {
    BoundsReport report;
    BoundsSite site;
};

/// The kernels with checks that were launched on a stream, and their report.
struct BoundsOfStream {
    struct Kernel : CheckedKernel {
        std::uint64_t since = 0;  ///< the kernel's oldest submission that may have used a bad index
        std::uint64_t last = 0;   ///< the kernel's newest submission
    };
    std::uint64_t id = 0;
    std::string name;
    BoundsReport* report = nullptr;
    bool is_read = false;      ///< whether the report has been read and must be cleared
    std::uint64_t clean = 0;   ///< the first `clean` submissions used no bad index
    std::uint64_t newest = 0;  ///< the newest submission with checks
    std::unordered_map<std::string, Kernel> kernels;

    void read(StreamRecord& stream) noexcept;
};

/// The report of a file's `__global__` functions.
struct FileReport {
    const void* symbol;
    std::array<void*, max_devices> address{};
    BoundsUnit* copy = nullptr;  ///< copy of the report in pinned memory
    bool is_copied = false;
};

/// The stream that the host has waited for, with its name. The stream is null after a wait for a
/// device.
struct WaitedFor {
    StreamRecord* stream;
    std::string name;
    const SourceLocation& where;
    bool may_load;  ///< whether modules may be loaded to find their reports
};

/// A launch of a `__global__` function: on a stream, or as a node.
struct GlobalLaunch {
    std::uint64_t order = 0;  ///< 0 if there is no launch
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
    std::array<cudaStream_t, max_devices> readers{};  ///< by device: these copy files' reports

    /// Guards all other members. Never held during a native call, because callbacks take it, and a
    /// native call may wait for a thread that waits for those callbacks.
    std::mutex mutex;
    std::unordered_map<StreamRecord*, BoundsOfStream> streams;
    std::vector<GraphBounds*> graphs;
    std::uint64_t used = 0;      ///< bit i is set if kernels with checks were launched on cuda:i
    std::uint64_t launches = 0;  ///< see CheckedKernel::order
    std::vector<BoundsUnit*> free_units;
    std::size_t unit_count = 0;

    /// Makes the next calls of take_unit() succeed. Call without `mutex` held.
    void reserve_units(Gpu& g);
    /// Returns a zeroed unit. Throws std::bad_alloc if none is left.
    BoundsUnit& take_unit();
    void give_unit(const void* unit) noexcept;

    /// Reads all reports, except those of `__global__` functions (see read_files()).
    void read() noexcept;
    /// Removes completed kernels from `of` if there are many kernels.
    void forget_old(StreamRecord& stream, BoundsOfStream& of) noexcept;
    /// Copies all reports of files to the host. For each report that has a bad index, fails the
    /// launch that used it. Call with files_mutex held, and without `mutex`.
    void read_files(Gpu& g, const WaitedFor& waited);
    /// Returns the newest launch of a `__global__` function that has a view beginning at `data`. If
    /// `only` is not null, searches only launches on that stream.
    GlobalLaunch find_launch(const Gpu& g, const void* data, const StreamRecord* only);
    /// Fails the launch of the `__global__` function that has the bad index's view. If there is
    /// none, fails the stream `waited`; after a wait for a device, throws.
    void fail_unknown(const Gpu& g, const BadIndex& bad, const WaitedFor& waited);
    /// Excludes completed launches from later searches.
    void forget_launches(const Gpu& g, bool of_all) noexcept;
};

/// Returns the state, ready for new kernels.
BoundsState& bounds_state(Gpu& g);
/// Returns the state, or null if there is none.
BoundsState* bounds_state_if_made() noexcept;

/// Returns the failure of a kernel, which is null if unknown. Takes the stream's name, because
/// reading the name takes a lock that the caller's caller may hold.
Failure failure_of(const CheckedKernel* kernel, BadIndex bad, Device device, std::uint64_t stream,
                   const std::string& name, const SourceLocation& where) noexcept;

}  // namespace heddle::detail::cu
