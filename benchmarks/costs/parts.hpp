// bench_costs: the interface between its parts.
#pragma once

#include <heddle/device/device.hpp>

#include "report.hpp"

namespace bench {

/// Returns the raw CUDA calls that do the same work as heddle's rows, by row name (cuda.cu).
Peers cuda_peers(heddle::Device device);
/// Returns the raw CUDA calls for the rows of two devices. `near` is the current device.
Peers cuda_peers_of_two(heddle::Device near, heddle::Device far);
/// Adds rows of __global__ functions.
void add_cuda_rows(Report& report, heddle::Device device);

/// Adds rows for loans of a stream's native handle, without work in the loans. Measures only core's
/// part of a loan, which is the same for CPU streams (loans.cpp).
void add_loan_rows(Report& report, heddle::Device device);

/// Adds rows for adopted memory with empty end functions (adopted.cpp). Has no effect for CUDA
/// devices.
void add_adopted_rows(Report& report, heddle::Device device);
/// Adds rows for adopted and for registered memory on a CUDA device, which must be current
/// (adopted.cu).
void add_adopted_cuda_rows(Report& report, heddle::Device device);

/// Returns the peers for CPU devices, which use a queue with its own thread, malloc() and memcpy()
/// (cpu.cpp).
Peers cpu_peers();

/// The size of the small copies, fills and allocations by heddle and its peers, in bytes.
inline constexpr std::size_t small_bytes = 4096;

namespace row {  // the names of rows that have peers
inline constexpr const char* launch_empty = "launch, portable kernel, no arguments";
inline constexpr const char* launch_saxpy = "launch, portable kernel, 3 arguments";
inline constexpr const char* launch_five = "launch, portable kernel, 5 arguments";
inline constexpr const char* launch_current = "launch, portable kernel, on the current stream";
inline constexpr const char* launch_synchronize = "launch and synchronize";
inline constexpr const char* host_function = "launch_host";
inline constexpr const char* record = "record_event";
inline constexpr const char* record_new = "record_event, into a new event";
inline constexpr const char* wait_event = "wait_event, needed";
inline constexpr const char* wait_stream = "wait_stream, needed";
inline constexpr const char* wait_after_launch = "launch on b, a.wait_stream(b)";
inline constexpr const char* scope = "ScopedStream, needed wait on entering";
inline constexpr const char* scope_both = "ScopedStream, needed waits on entering and leaving";
inline constexpr const char* fork_join = "fork_join of two launches";
inline constexpr const char* stream_query = "Stream::is_complete, idle";
inline constexpr const char* event_query = "Event::is_complete, reached";
inline constexpr const char* synchronize_idle = "synchronize, idle";
inline constexpr const char* event_make =
    "event made and destroyed (a lease from the device's pool)";
inline constexpr const char* stream_lease = "stream leased from a pool and returned";
inline constexpr const char* stream_make = "stream made and destroyed";
inline constexpr const char* array_small = "array of 4 KB allocated and freed";
inline constexpr const char* array_large = "array of 1 MB allocated and freed";
inline constexpr const char* adopt_unused = "memory adopted and released, unused";
inline constexpr const char* adopt_host_end = "memory adopted, used by a launch, ended on the host";
inline constexpr const char* adopt_stream_end =
    "memory adopted, used by a launch, ended in stream order";
inline constexpr const char* copy_to_device = "copy of 4 KB, pinned to device";
inline constexpr const char* copy_to_host = "copy of 4 KB, device to pinned";
inline constexpr const char* copy_on_device = "copy of 4 KB on the device";
inline constexpr const char* fill_float = "fill of 4 KB";
inline constexpr const char* fill_zero = "fill_zero of 4 KB";

inline constexpr const char* far_wait = "wait_stream, needed, across two devices";
inline constexpr const char* far_launch = "launch on another device's stream";
inline constexpr const char* far_scope = "ScopedStream of another device, needed wait on entering";
inline constexpr const char* far_scope_both =
    "ScopedStream of another device, needed waits on entering and leaving";
}  // namespace row

}  // namespace bench
