// Memory shared between processes of one host. Events are shared too: export_event(), import_event() (heddle/event.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <heddle/array.hpp>

namespace heddle {

/// Bytes that let another process of this host open a shareable array. Send them as they are: by a pipe, a socket, a file, MPI.
struct ArrayHandle {
    std::array<std::byte, 64> memory{};
    std::array<char, 32>
        bus_id{};  ///< of the GPU, since processes may number GPUs differently; empty for CPU devices
    std::int32_t device_index = 0;
    std::int32_t process = 0;         ///< that made it
    std::uint64_t bytes = 0;          ///< of the whole allocation
    std::uint64_t offset = 0;         ///< of the part that is shared, in bytes
    std::uint64_t size = 0;           ///< elements of it
    std::uint32_t element_bytes = 0;  ///< of each
    std::uint64_t check = 0;          ///< of all the others
};
static_assert(std::is_trivially_copyable_v<ArrayHandle>);

namespace detail {
/// What `check` has to be; differs for arrays and events.
std::uint64_t check_of(const ArrayHandle& handle) noexcept;
Block& allocate_shared(Device device, std::size_t count, std::size_t element, const SourceLocation& where);
ArrayHandle export_block(const Block* block, const void* data, std::size_t count, std::size_t element,
                         const SourceLocation& where);
Block& import_block(const ArrayHandle& handle, std::size_t element, std::size_t alignment,
                    const SourceLocation& where);
}  // namespace detail

/// An array that can be shared with other processes; else it is one like all others. Its memory is not of the device's pool, which cannot be shared
/// in this way: on CUDA it is cudaMalloc's, is usable at once on every stream, takes longer to get, is a multiple of 2 MiB, and other devices reach it by peer access,
/// not pool access. Its elements are not initialised. Destroying it never blocks: its memory is kept for later shareable arrays, and given back by trim_pool(), or when there is no other memory left.
template <class T>
[[nodiscard]] Array<T> shareable(Device device, std::size_t size,
                                 SourceLocation where = SourceLocation::current()) {
    return {detail::allocate_shared(device, size, sizeof(T), where), size};
}
template <class T>
[[nodiscard]] Array<T> shareable(std::size_t size, SourceLocation where = SourceLocation::current()) {
    return shareable<T>(current_device(), size, where);
}

/// The handle of a shareable array, or of a part of one. Throws UsageError for all other memory: arrays of a pool, pinned, pageable, imported. The
/// array has to live until every process that imported it has let go of it: on CUDA what those do afterwards is undefined.
template <class T>
[[nodiscard]] ArrayHandle export_array(View<T> view, SourceLocation where = SourceLocation::current()) {
    return detail::export_block(view.owner(), view.data(), view.size(), sizeof(T), where);
}
template <class T>
[[nodiscard]] ArrayHandle export_array(const Array<T>& array,
                                       SourceLocation where = SourceLocation::current()) {
    return export_array(array.view(), where);
}

/// The memory of another process, on the same device, as an array for that device's kernels and for all copies; destroying it lets go of the memory, after all that heddle gave to any stream to do with
/// it. Nothing orders the work of the two processes: share an event as well, or synchronise, and tell the other by means of the operating system.
///
/// Throws UsageError for a handle of this process, one that was damaged on its way, and for elements of another size, NoDevice where this process does not see the GPU, Unsupported where
/// the other process does not let its memory be opened or has ended, or where what the handle names is no memory that heddle made. On CPU devices the memory keeps its size
/// whatever the other process does.
template <class T>
[[nodiscard]] Array<T> import_array(const ArrayHandle& handle,
                                    SourceLocation where = SourceLocation::current()) {
    return {detail::import_block(handle, sizeof(T), alignof(T), where),
            static_cast<std::size_t>(handle.size)};
}

}  // namespace heddle
