// Memory and events shared between processes of one host.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <heddle/memory/array.hpp>
#include <heddle/stream/event.hpp>

namespace heddle HEDDLE_VISIBLE {

/// Lets another process of this host open a shareable array. Send its bytes unchanged: by a pipe, a
/// socket, a file or MPI.
///
///     Array<float> mine = shareable<float>(current_device(), 1000);
///     ArrayHandle handle = export_array(mine);            // send this
///     Array<float> theirs = import_array<float>(handle);  // in the other process
struct ArrayHandle {
    /// CUDA's handle, or the name of shared memory, which the other process opens.
    std::array<std::byte, 64> memory{};
    /// The GPU's bus id, because processes may number GPUs differently. Empty for CPU devices.
    std::array<char, 32> bus_id{};
    std::int32_t device_index = 0;    ///< index of the device in the exporting process
    std::int32_t process = 0;         ///< id of the exporting process
    std::uint64_t bytes = 0;          ///< size of the whole allocation
    std::uint64_t offset = 0;         ///< start of the exported part, in bytes
    std::uint64_t size = 0;           ///< elements of the exported part
    std::uint32_t element_bytes = 0;  ///< size of one element
    std::uint64_t check = 0;          ///< checksum of all other members
};
static_assert(std::is_trivially_copyable_v<ArrayHandle>);

namespace detail {
/// Returns the value that `check` must have. Array and event handles use different checksums.
std::uint64_t check_of(const ArrayHandle& handle) noexcept;
Block& allocate_shared(Device device, std::size_t count, std::size_t element,
                       const SourceLocation& where);
ArrayHandle export_block(const Block* block, const void* data, std::size_t count,
                         std::size_t element, const SourceLocation& where);
Block& import_block(const ArrayHandle& handle, std::size_t element, std::size_t alignment,
                    const SourceLocation& where);
}  // namespace detail

/// Allocates an uninitialised array that export_array() can share with other processes; otherwise
/// it is an ordinary array. The destructor never blocks. Throws OutOfMemory.
///
/// Its memory is not from the device's pool, which cannot be shared in this way. On CUDA it is
/// allocated by cudaMalloc:
/// - It is usable at once on every stream, takes longer to allocate, and is a multiple of 2 MiB.
/// - Other devices reach it by peer access, not by pool access.
/// - Once freed, it is cached for later shareable arrays of the same size. trim_pool(), or an
///   allocation that finds no memory left, releases it to the device.
template <class T>
[[nodiscard]] Array<T> shareable(Device device, std::size_t size, Where where = {}) {
    return detail::Access::array<T>(detail::allocate_shared(device, size, sizeof(T), where), size);
}
template <class T> [[nodiscard]] Array<T> shareable(std::size_t size, Where where = {}) {
    return shareable<T>(current_device(), size, where);
}

/// Returns the handle of a shareable array, or of a part of one. The array must live until every
/// process that imported it has released it. On CUDA, their use of the memory after the array is
/// destroyed is undefined.
///
/// Throws UsageError for all other memory (of a pool, pinned, pageable, imported), and Unsupported
/// if the system cannot share GPU memory.
template <class T> [[nodiscard]] ArrayHandle export_array(View<T> view, Where where = {}) {
    return detail::export_block(detail::Access::block(view), view.data(), view.size(), sizeof(T),
                                where);
}
template <class T> [[nodiscard]] ArrayHandle export_array(const Array<T>& array, Where where = {}) {
    return export_array(array.view(), where);
}

/// Opens memory that another process exported, on the same device, as an array. Kernels of that
/// device, and all copies, can use it.
///
/// - The work of the two processes is not ordered. Share an event as well, or synchronise
///   and notify the other process by means of the operating system.
/// - The destructor does not block. It releases the memory after all work on it that was enqueued
///   through heddle. On CUDA the mapping stays until trim_pool(), or an allocation that finds no
///   memory left, closes it.
/// - On CPU devices the other process cannot shrink the memory.
///
/// Throws UsageError if this process exported the handle, the handle was damaged, or the element
/// size differs. Throws NoDevice if this process does not see the GPU. Throws Unsupported if the
/// other process has ended or its memory cannot be opened, or if heddle did not make that memory.
template <class T>
[[nodiscard]] Array<T> import_array(const ArrayHandle& handle, Where where = {}) {
    return detail::Access::array<T>(detail::import_block(handle, sizeof(T), alignof(T), where),
                                    static_cast<std::size_t>(handle.size));
}

/// Lets another process of this host import an interprocess event. Send its bytes unchanged.
///
///     Event mine(current_device(), {.interprocess = true});
///     EventHandle handle = export_event(mine);  // send this
///     Event theirs = import_event(handle);      // in the other process
struct EventHandle {
    /// CUDA's handle, or the name of shared memory, which the other process opens.
    std::array<std::byte, 64> bytes{};
    /// Names the GPU, because processes may number GPUs differently. Empty for CPU devices.
    std::array<char, 32> bus_id{};
    /// Index of the device in the exporting process.
    std::int32_t device_index = 0;
    std::int32_t process = 0;  ///< id of the exporting process
    std::uint64_t check = 0;   ///< checksum of all other members
};
namespace detail {
/// Returns the value that `check` must have.
std::uint64_t check_of(const EventHandle& handle) noexcept;
}  // namespace detail

/// Returns a handle for an event made with {.interprocess = true}. Throws UsageError for any other
/// event.
EventHandle export_event(const Event& event, Where where = {});
/// Imports an event that another process of this host exported, on the same device. The processes
/// share one event: a wait targets the newest record made by any of them.
///
/// - On CPU devices, waits also report failed work before the record. They report
///   ErrorCode::work_failed if a recording process ended before reaching the record.
/// - On CUDA, keep the exported Event and the Event that made the newest record alive until no
///   process waits for that record. Otherwise a wait may never end.
///
/// Throws UsageError for a handle of this process or a damaged one. Throws NoDevice if this process
/// does not see the GPU, and Unsupported if the other process has ended.
Event import_event(const EventHandle& handle, Where where = {});

}  // namespace heddle
